"""Defining a task of one's own in a few lines of plain Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation
from everlearn.environments.model import Model
from everlearn.errors import TaskError, require
from everlearn.labels import check_labels
from everlearn.protocol import Environment, Label, RewardFunction, Update
from everlearn.registry import summary
from everlearn.tasks.task import Task


class Definition:
    """A task in the making: decorate the reward, and if need be the update function, then use it as a task."""

    def __init__(self, world: Any, arguments: dict[str, Any]) -> None:
        self._world = world
        self._arguments = arguments
        self._reward: RewardFunction | None = None
        self._aleatoric: AleatoricState = arguments.pop("aleatoric") or last_observation()
        self._task: Task | None = None
        self.__doc__ = inspect.getdoc(world)

    def reward(self, function: RewardFunction) -> RewardFunction:
        """Take a function of (aleatoric state, action, observation) as r."""
        self._reward, self._task = function, None
        return function

    def aleatoric(self, start: Label, states: Iterable[Label] | None = None) -> Callable[[Update], Update]:
        """Take a function of (aleatoric state, action, observation) as f, from S0 = ``start``."""

        def decorate(update: Update) -> Update:
            listed = None if states is None else tuple(states)
            self._aleatoric, self._task = AleatoricState(start, update, listed), None
            return update

        return decorate

    def finish(self) -> Task:
        """Return the task."""
        if self._task is None:
            self._task = self._build()
        return self._task

    def _build(self) -> Task:
        arguments = dict(self._arguments)
        low, high = arguments.pop("reward_range")
        raw, memory = arguments.pop("raw"), arguments.pop("memory")
        if self._reward is None:
            remedy = "has no reward; decorate a function of (s, action, observation) with its .reward"
            raise TaskError("task", arguments["name"], remedy)
        model: Model | None = None
        environment: Callable[[], Environment] | None = None
        if inspect.isclass(self._world):
            environment = cast("Callable[[], Environment]", self._world)
        else:
            model = Model(arguments["actions"], arguments["observations"], memory, self._world)
        reward = Reward(self._reward, low, high, raw)
        return Task(aleatoric=self._aleatoric, reward=reward, model=model, environment=environment, **arguments)


def task(
    *,
    actions: Iterable[Label],
    observations: Iterable[Label],
    reward_range: tuple[float, float] = (0.0, 1.0),
    memory: Label | None = None,
    aleatoric: AleatoricState | None = None,
    raw: bool = False,
    name: str | None = None,
    source: str = "",
    references: Mapping[str, float] | None = None,
) -> Callable[[Any], Definition]:
    """Define a task: decorate its dynamics, then its reward.

    What is decorated is either a function of (memory, action) that yields (observation, probability, next memory)
    for what can happen, beginning from ``memory``; or, where the dynamics are not known, a class with ``start(rng)``
    and ``step(action)``.

    Parameters
    ----------
    actions, observations:
        labels
    reward_range:
        the least and the greatest reward
    memory:
        the memory of the empty history, for a function
    aleatoric:
        what the agent keeps: the last observation, unless another is given here or with ``@name.aleatoric(start)``
    raw:
        whether the learner sees rewards as they are; otherwise they are scaled to [0, 1]
    name, source, references:
        as in :class:`everlearn.Task`

    Examples
    --------
    >>> @task(actions=["slow", "fast"], observations=["idle", "busy"], reward_range=(-0.5, 1), memory=0)
    ... def shop(memory, action):
    ...     p = 0.9 if action == "fast" else 0.4
    ...     yield "busy", p, 1
    ...     yield "idle", 1 - p, 0
    >>> @shop.reward
    ... def profit(s, action, observation):
    ...     return (observation == "busy") - 0.5 * (action == "fast")
    >>> shop.finish().states
    ('start', 'idle', 'busy')

    """
    arguments: dict[str, Any] = {
        "actions": check_labels(actions, "actions"),
        "observations": check_labels(observations, "observations"),
        "reward_range": tuple(reward_range),
        "memory": memory,
        "aleatoric": aleatoric,
        "raw": raw,
        "source": source,
        "references": dict(references or {}),
    }
    require(len(arguments["reward_range"]) == 2, "reward_range", reward_range, "give the lower and the upper end")
    Reward(lambda _s, _a, _o: 0.0, *arguments["reward_range"])  # a range that cannot be is refused here, not later

    def decorate(world: Any) -> Definition:
        called = name or world.__name__
        if inspect.isclass(world):
            steps = all(callable(getattr(world, method, None)) for method in ("start", "step"))
            require(steps, f"task {called}", world, "an environment needs start(rng) and step(action)")
            require(memory is None, "memory", memory, "an environment keeps its own; leave it out")
        else:
            require(memory is not None, "memory", memory, "name the memory of the empty history, such as memory=0")
        return Definition(world, {**arguments, "name": called, "summary": summary(world)})

    return decorate
