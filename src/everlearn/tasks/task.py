"""The task: an environment, an aleatoric state and a reward (Section 1.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.blame import blame
from everlearn.environments.model import Model, ModelEnvironment
from everlearn.environments.network import Network
from everlearn.environments.pure import as_number, check_environment, check_shared
from everlearn.errors import InputError, ObservationError, TaskError, require
from everlearn.labels import check_labels, counted
from everlearn.protocol import Environment, History, Label
from everlearn.tasks.portrait import Portrait

MOST_PAID = 1e300
"""The largest price or cost: sums of larger ones would not be finite."""

ALEATORIC = "give an el.AleatoricState, such as el.window(3) or el.last_observation()"


class Arrays(NamedTuple):
    """The arrays of a Markov decision process; its state, by number, is both memory and observation."""

    matrices: list[Any]
    """For each action a sparse matrix (CSR) of probabilities, without explicit zeros."""
    rewards: list[NDArray[np.float64]]
    """For each action the reward of every entry of its matrix, in the same order."""
    classes: NDArray[np.int64]
    """For each memory the index of its aleatoric state."""


@dataclass(frozen=True, repr=False)
class Task:
    """A task: an aleatoric state, a reward and a name, usually with an environment.

    Most tasks are created with :func:`everlearn.task` or :func:`everlearn.mdp`.

    Parameters
    ----------
    actions:
        labels of the actions
    observations:
        labels of the observations
    aleatoric:
        the aleatoric state: its initial value and its update function, as in ``el.window(3)``
    reward:
        the reward function and its range, as in ``el.Reward(function, low, high)``
    model:
        the environment, if its transition probabilities are known
    environment:
        a function that returns an environment, if the probabilities are not known. A task with neither a model nor an
        environment can be used only with an agent that you drive yourself
    name:
        its name
    summary:
        a one-line summary
    source:
        where it comes from
    arrays:
        the arrays of a task that :func:`everlearn.mdp` made; they are used as they are, without enumeration
    parameters:
        the parameters with which it was made
    references:
        known average rewards by name, drawn as lines in the plot of a learning curve
    features:
        the name of the features of its aleatoric states, for agents that generalise, see
        :mod:`everlearn.aleatoric.features`
    network:
        the network, if the task is one of unbounded queues; it then has infinitely many memories
    portrait:
        how it is shown to people: what is at stake, what its states are called, and how it is drawn

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> task = service_station()
    >>> task.actions, task.states
    (('fast', 'slow'), (0, 1))

    """

    actions: tuple[Label, ...]
    observations: tuple[Label, ...]
    aleatoric: AleatoricState
    reward: Reward
    model: Model | None = None
    environment: Callable[[], Environment] | None = None
    name: str = "task"
    summary: str = ""
    source: str = ""
    arrays: Arrays | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    references: Mapping[str, float] = field(default_factory=dict)
    network: Network | None = None
    features: str | None = None
    portrait: Portrait = field(default_factory=Portrait)
    identity: str | None = field(default=None, init=False, repr=False, compare=False)
    """Identifies a task that everlearn made from a name: equal only for equal tasks, None for a changed copy."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", check_labels(self.actions, "actions"))
        object.__setattr__(self, "observations", check_labels(self.observations, "observations"))
        self._check_kinds()
        self._check_model()
        object.__setattr__(self, "references", dict(_averages(self.references)))
        object.__setattr__(self, "aleatoric", self.aleatoric.enumerate(self.actions, self.observations))

    def _check_kinds(self) -> None:
        require(isinstance(self.aleatoric, AleatoricState), "aleatoric", self.aleatoric, ALEATORIC)
        require(isinstance(self.reward, Reward), "reward", self.reward, "give an el.Reward(function, low, high)")
        for name in ("name", "summary", "source"):
            require(isinstance(getattr(self, name), str), name, getattr(self, name), "give a text")
        shown = isinstance(self.portrait, Portrait)
        require(shown, "portrait", self.portrait, "give an everlearn.tasks.portrait.Portrait")
        named = isinstance(self.features, str | None)
        require(named, "features", self.features, "give a name, such as pairs, or module:attribute")
        makes = self.environment is None or callable(self.environment)
        require(makes, "environment", self.environment, "give a class, or a function that makes an environment")

    def _check_model(self) -> None:
        fine = isinstance(self.model, Model | None)
        require(fine, "model", self.model, "give an el.Model(actions, observations, memory, rho)")
        for name in ("actions", "observations") if self.model is not None else ():
            labels = getattr(self.model, name)
            same = labels == getattr(self, name)
            require(same, f"{name} of the model", labels, f"give it those of the task, {getattr(self, name)!r}")

    @property
    def hidden(self) -> bool:
        """Whether the environment has a memory that actions and observations do not determine."""
        return self.model is not None and self.model.hidden

    @property
    def states(self) -> tuple[Label, ...]:
        """The set of aleatoric states."""
        return self.aleatoric.states  # type: ignore[return-value]  # enumerated when the task was made

    def __repr__(self) -> str:
        numbers = [(self.actions, "action"), (self.observations, "observation"), (self.states, "aleatoric state")]
        counts = ", ".join(counted(len(labels), noun) for labels, noun in numbers)
        world = (
            "a hidden model"
            if self.hidden
            else "a model"
            if self.model
            else "an environment"
            if self.environment
            else "neither model nor environment"
        )
        return f"{type(self).__name__}({self.name!r}: {counts}, {world})"

    @cached_property
    def fine(self) -> Task:
        """The same task as seen by an agent that generalises over states; for most tasks, it is the task itself."""
        if self.aleatoric.detailed is None or "aleatoric" in self.parameters:
            return self
        return replace(self, aleatoric=self.aleatoric.detailed)

    @cached_property
    def scaled(self) -> Task:
        """The same task, not raw: the agent learns from rewards scaled to [0, 1]."""
        return replace(self, reward=replace(self.reward, raw=False)) if self.reward.raw else self

    def start(self, rng: np.random.Generator) -> Environment:
        """Make a new environment, start it, and return it."""
        if self.model is not None:
            environment: Environment = ModelEnvironment(self.model)
        elif self.environment is not None:
            with blame(f"task {self.name!r}: making the environment"):
                environment = self.environment()
            fine = isinstance(environment, Environment)
            require(fine, f"environment of task {self.name!r}", environment, "needs start(rng) and step(action)")
            check_environment(type(environment))
            check_shared(type(environment))
        else:
            raise InputError("task", self.name, "has no environment to run; drive an agent with act and observe")
        with blame(f"task {self.name!r}: start"):
            environment.start(rng)
        return environment

    def step(self, environment: Environment, action: Label) -> Label:
        """Execute an action in an environment that :meth:`start` returned, and return the observation."""
        if self.model is not None:
            return environment.step(action)
        with blame(f"task {self.name!r}: step", f"action {action!r}"):
            observation: Label | None = environment.step(action)
        if observation is None:
            raise ObservationError(f"task {self.name!r}: step", None, "it returned nothing; return an observation")
        return observation

    def after(self, history: History) -> Task:
        """Return the same task, starting from the memory and the aleatoric state to which a history leads.

        Examples
        --------
        >>> from everlearn.tasks.service_station import service_station
        >>> service_station().after([("slow", "arrival")]).aleatoric.start
        1

        """
        if self.model is None and self.environment is not None:
            raise TaskError("history", history, "only a task with a model can begin after a history")
        try:
            steps = [(action, observation) for action, observation in history]
        except (TypeError, ValueError):
            raise TaskError("history", history, "give pairs, as in [(action, observation), ...]") from None
        return replace(
            self,
            aleatoric=self.aleatoric.after(steps),
            model=None if self.model is None else self.model.after(steps),
            references={},
        )


def _averages(references: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    """Yield average rewards by name, as finite numbers."""
    remedy = "give a mapping from names to average rewards"
    require(isinstance(references, Mapping), "references", references, remedy)
    for name, value in references.items():
        number = as_number(value)
        fine = isinstance(name, str) and number is not None and math.isfinite(number)
        require(fine, "references", {name: value}, "give finite average rewards by name, as in {'optimum': 0.5}")
        yield name, float(value)


def check_amount(name: str, amount: float, positive: bool = False) -> None:
    """Raise unless an amount of money is at least 0, or positive, and small enough that sums of rewards are finite."""
    bound = "a positive number of" if positive else "a number of at least 0,"
    fine = (amount > 0 if positive else amount >= 0) and amount <= MOST_PAID
    require(fine, name, amount, f"give {bound} at most {MOST_PAID:g}")
