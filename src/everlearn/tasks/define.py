"""Define a task in a few lines of plain Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, cast

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.reward import reward_range as read_range
from everlearn.aleatoric.state import AleatoricState, last_observation, window
from everlearn.calls import explained
from everlearn.environments.model import Model
from everlearn.errors import TaskError, require
from everlearn.factories import name_of
from everlearn.labels import check_labels, counted
from everlearn.protocol import Environment, Label, RewardFunction, Update
from everlearn.registry import summary
from everlearn.tasks.task import ALEATORIC, Task
from everlearn.windows import LONGEST_WINDOW, Window


class Definition:
    """A task that is defined by decorating functions; it can be used like any task.

    It can be called like the decorated function, so that dynamics can be tested, and has all attributes of a
    :class:`everlearn.Task`.  Its ``reward`` and ``aleatoric`` are also decorators.

    Examples
    --------
    >>> @task(actions=["toss"], observations=["heads", "tails"], memory=0)
    ... def coin(memory, action):
    ...     yield "heads", 0.5, 0
    ...     yield "tails", 0.5, 0
    >>> @coin.reward
    ... def luck(s, action, observation):
    ...     return observation == "heads"
    >>> list(coin(0, "toss")), coin.states, coin.reward("start", "toss", "heads")
    ([('heads', 0.5, 0), ('tails', 0.5, 0)], ('start', 'heads', 'tails'), 1.0)
    >>> coin
    Task('coin': 1 action, 2 observations)

    """

    def __init__(self, world: Any, arguments: dict[str, Any]) -> None:
        self.__wrapped__ = world
        self.__name__ = self.name = arguments["name"]
        self.__doc__ = inspect.getdoc(world)
        self.actions, self.observations = arguments["actions"], arguments["observations"]
        self._arguments = arguments
        self._reward: RewardFunction | None = None
        self._aleatoric: AleatoricState = arguments.pop("aleatoric") or last_observation()
        self._task: Task | None = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the decorated function, or make an instance of the decorated class."""
        return self.__wrapped__(*arguments, **named)

    def __repr__(self) -> str:
        seen = counted(len(self.observations), "observation")
        return f"Task({self.name!r}: {counted(len(self.actions), 'action')}, {seen})"

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the task."""
        if name not in PUBLIC:
            raise AttributeError(f"task {self.__dict__.get('name')!r} has no attribute {name!r}", name=name, obj=self)
        return getattr(self.finish(), name)

    def __dir__(self) -> list[str]:
        """Return the attributes of this object and of the task."""
        return sorted({*super().__dir__(), *PUBLIC})

    @property
    def reward(self) -> Part:
        """The reward function r(s, action, observation).  To define it, use this as a decorator: ``@name.reward``."""
        return Part(self, "reward", self._take_reward)

    @property
    def aleatoric(self) -> Part:
        """The aleatoric state.  To define it, use this as a decorator of f: ``@name.aleatoric(start)``."""
        return Part(self, "aleatoric", self._take_aleatoric)

    def _take_reward(self, *given: Any) -> Any:
        if len(given) == 3:
            return self.finish().reward(*given)
        remedy = "decorate a function of (s, action, observation)"
        require(len(given) == 1 and callable(given[0]), f"reward of task {self.name!r}", given, remedy)
        self._reward, self._task = given[0], None
        return given[0]

    def _take_aleatoric(self, start: Label, states: Iterable[Label] | None = None) -> Callable[[Update], Update]:
        remedy = f"write @{self.name}.aleatoric(start) with the first aleatoric state"
        require(not callable(start), f"aleatoric of task {self.name!r}", start, remedy)
        listed = None if states is None else check_labels(states, "states")

        def decorate(update: Update) -> Update:
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
        raw, memory, hidden = (arguments.pop(name) for name in ("raw", "memory", "hidden"))
        if self._reward is None:
            remedy = "has no reward; decorate a function of (s, action, observation) with its .reward"
            raise TaskError("task", self.name, remedy)
        model: Model | None = None
        environment: Callable[[], Environment] | None = None
        if inspect.isclass(self.__wrapped__):
            environment = cast("Callable[[], Environment]", self.__wrapped__)
        else:
            model = Model(self.actions, self.observations, memory, self.__wrapped__, hidden)
        reward = Reward(self._reward, low, high, raw)
        return Task(aleatoric=self._aleatoric, reward=reward, model=model, environment=environment, **arguments)


class Part:
    """The reward or the aleatoric state of a definition: a decorator that sets it, and a proxy for its value."""

    def __init__(self, definition: Definition, name: str, take: Callable[..., Any]) -> None:
        self._definition, self._name, self._take = definition, name, take

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Decorate a function, or return the reward of (s, action, observation)."""
        return self._take(*given, **named)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the reward or the aleatoric state of the task."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(getattr(self._definition.finish(), self._name), name)

    def __repr__(self) -> str:
        return repr(getattr(self._definition.finish(), self._name))


PUBLIC = {name for name in (*(entry.name for entry in fields(Task)), *dir(Task)) if not name.startswith("_")}
"""The attributes of a task."""


def _labels(given: Iterable[Label] | None, argument: str) -> tuple[Label, ...]:
    """Return labels that a user lists; raise if they are left out."""
    require(given is not None, argument, None, "is missing; list the labels, such as [0, 1] or ['slow', 'fast']")
    return check_labels(given, argument)  # type: ignore[arg-type]  # not None


@explained("el.task(actions=..., observations=...)")
def task(
    *_bare: Any,
    actions: Iterable[Label] | None = None,
    observations: Iterable[Label] | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    memory: Label | Mapping[Label, float] | None = None,
    hidden: bool = False,
    aleatoric: AleatoricState | str | None = None,
    raw: bool = False,
    name: str | None = None,
    source: str = "",
    references: Mapping[str, float] | None = None,
) -> Callable[[Any], Definition]:
    """Define a task: decorate its dynamics, then its reward.

    If the probabilities are known, decorate a function of (memory, action) that yields (observation, probability, next
    memory) for every possible outcome, and pass the initial memory as ``memory``.  Otherwise, decorate a class with
    ``start(rng)`` and ``step(action)``.

    Parameters
    ----------
    actions:
        labels of the actions
    observations:
        labels of the observations
    reward_range:
        the least and the greatest reward
    memory:
        for a decorated function: the initial memory, or, with ``hidden=True``, a mapping from memories to probabilities
        from which it is drawn
    hidden:
        True if the actions and observations so far do not determine the memory: the same observation may then lead to
        several memories
    aleatoric:
        the aleatoric state, or a window such as ``"window:3"``; by default the last observation. Set it here or with
        ``@name.aleatoric(start)``
    raw:
        whether the agent learns from rewards without scaling; by default they are scaled to [0, 1].  Designs and
        schedules with ``unit=True``, such as the default agent and schedule, scale them nevertheless
    name:
        as in :class:`everlearn.Task`
    source:
        as in :class:`everlearn.Task`
    references:
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
    >>> shop.states
    ('start', 'idle', 'busy')

    """
    require(not _bare, "task", name_of(_bare and _bare[0]), "write @el.task(actions=..., observations=...) above it")
    require(isinstance(name, str | None), "name", name, "give a text")
    for flag, value in (("raw", raw), ("hidden", hidden)):
        require(isinstance(value, bool), flag, value, "give True or False")
    if isinstance(aleatoric, str) and (kept := Window.read(aleatoric)) and 1 <= kept.length <= LONGEST_WINDOW:
        aleatoric = window(kept.length, actions=kept.actions)
    require(aleatoric is None or isinstance(aleatoric, AleatoricState), "aleatoric", aleatoric, ALEATORIC)
    remedy = "give a mapping from names to average rewards"
    require(isinstance(references, Mapping | None), "references", references, remedy)
    arguments: dict[str, Any] = {
        "actions": _labels(actions, "actions"),
        "observations": _labels(observations, "observations"),
        "reward_range": read_range(reward_range),
        "memory": memory,
        "hidden": hidden,
        "aleatoric": aleatoric,
        "raw": raw,
        "source": source,
        "references": dict(references or {}),
    }

    def decorate(world: Any) -> Definition:
        called = name or getattr(world, "__name__", type(world).__name__)
        if inspect.isclass(world):
            steps = all(callable(getattr(world, method, None)) for method in ("start", "step"))
            require(steps, f"task {called}", world, "an environment needs start(rng) and step(action)")
            require(memory is None, "memory", memory, "an environment keeps its own; leave it out")
            require(not hidden, "hidden", hidden, "an environment shows only what step returns; leave it out")
        else:
            remedy = "decorate a function of (memory, action), or a class with start(rng) and step(action)"
            require(callable(world), f"task {called}", world, remedy)
            require(memory is not None, "memory", memory, "name the memory of the empty history, such as memory=0")
            Model(arguments["actions"], arguments["observations"], memory, world, hidden)  # type: ignore[arg-type]
        return Definition(world, {**arguments, "name": called, "summary": summary(world)})

    return decorate
