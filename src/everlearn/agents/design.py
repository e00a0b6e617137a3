"""The design of an agent: data and pure functions.

An agent's knowledge is a NamedTuple of arrays; ``act`` and ``learn`` are functions of it, written in the subset of
Python that Numba compiles: indices, arithmetic, loops, and calls of functions written in the same subset.  The same
source is used by the reference engine, by the agent that is driven step by step, and by the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from everlearn.agents.schedule import Schedule
from everlearn.aleatoric.reward import Reward
from everlearn.calls import explained
from everlearn.errors import require
from everlearn.ownership import is_ours
from everlearn.protocol import Act, Experience, Knowledge, Learn, ScheduleValues, Table
from everlearn.registry import settings_text
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

UNNAMED = "agent"
"""The name of a design that was given none; one made by a function is called after the function."""


@explained("el.Design(build, act, learn)")
@dataclass(frozen=True)
class Design:
    """The definition of an agent, independent of a task.

    Parameters
    ----------
    build:
        ``build(task)`` returns the initial knowledge, a NamedTuple; ``task`` is an :class:`everlearn.IndexedTask`.
        Fields that are arrays may change.  Fields that are numbers or tuples of numbers are constant.  Read-only arrays
        of built-in designs are constant too; those of user-defined designs are copied, and the copies may change
    act:
        ``act(knowledge, aleatoric_state, now, stream)`` returns the index of an action; it may draw from the stream
        with :func:`everlearn.uniform` and :func:`everlearn.choose`
    learn:
        ``learn(knowledge, experience, now, stream)`` changes the arrays in place
    policy:
        ``policy(knowledge)`` returns the probability of each action in each aleatoric state
    policy_at:
        ``policy_at(knowledge, aleatoric_state)`` returns one row of the policy, for a design that takes long to compute
        all of them.  It has no effect on user-defined designs
    schedule:
        the :class:`everlearn.Schedule`, if the agent uses one; its values at each step are passed in ``now``
    inspect:
        ``inspect(knowledge, now)`` returns a dict of named arrays to display, such as Q and N
    by_state:
        whether the first axis of every array is the aleatoric state, and ``act`` and ``learn`` use only the rows of the
        aleatoric states that are passed to them.  Several runs can then share an array, which is faster.  It has no
        effect on user-defined designs, in which each run sees only its own arrays
    infinite:
        whether the knowledge may contain infinity; otherwise infinity in a user-defined design raises an error
    unit:
        whether it always learns from rewards scaled to [0, 1], even if the task is raw
    values:
        ``values(knowledge)`` returns the table of action values, one row per aleatoric state and one column per action,
        as a writable view
    masks:
        whether it skips actions whose value is minus infinity, when it chooses an action and in every maximum
    plans:
        whether a step may take long, because it plans over all aleatoric states
    features:
        whether its values generalise over aleatoric states, so that there may be more states than fit into a table
    remember:
        for a design that stores something of the past besides the aleatoric state: ``remember(knowledge, experience)``
        updates the array ``memory`` as ``learn`` does, without learning.  A durable agent (``everlearn.live``)
        calls it at steps that it does not learn from
    memory:
        the name of the array in the knowledge that stores the past, or a tuple of names, for a design with
        ``remember``
    defers:
        whether it learns from a step only when the next step comes, so that it cannot learn from rewards that come late
    carry:
        ``carry(knowledge, aleatoric_state, next_aleatoric_state)`` copies a number from the row of the present
        aleatoric state to that of the next.  It is for a design that stores there a number that concerns the whole run,
        such as an average.  ``carry`` is called when an agent moves to another state without learning
    explain:
        ``explain(knowledge, task)`` returns what it has learned as text for a person
    inner:
        the design from which this one was made, for example by :func:`everlearn.restarting`; if the inner design is
        user-defined, so is this one
    duration:
        the number of steps of the run, if the agent takes it as a parameter; otherwise None
    name:
        its name in tables and messages; by default that of the function that makes the design, or ``agent`` if no
        function makes it
    parameters:
        the parameters with which it was made

    Examples
    --------
    An agent that tries every action in turn:

    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> class Turn(NamedTuple):
    ...     actions: np.ndarray
    >>> def act(knowledge, aleatoric_state, now, stream):
    ...     return now.t % knowledge.actions[0]
    >>> def learn(knowledge, experience, now, stream):
    ...     pass
    >>> design = Design(lambda indexed: Turn(np.array([indexed.actions])), act, learn)

    """

    build: Callable[[IndexedTask], Knowledge]
    act: Act
    learn: Learn
    policy: Callable[[Knowledge], Table] | None = None
    schedule: Schedule | None = None
    inspect: Callable[[Knowledge, ScheduleValues], dict[str, Table]] | None = None
    by_state: bool = False
    infinite: bool = False
    unit: bool = False
    values: Callable[[Knowledge], Table] | None = None
    masks: bool = False
    plans: bool = False
    features: bool = False
    remember: Callable[[Knowledge, Experience], None] | None = None
    memory: str | tuple[str, ...] | None = None
    defers: bool = False
    carry: Callable[[Knowledge, int, int], None] | None = None
    explain: Callable[[Knowledge, Task], str] | None = None
    policy_at: Callable[[Knowledge, int], Table] | None = None
    inner: Design | None = None
    duration: int | None = None
    name: str = UNNAMED
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("by_state", "infinite", "unit", "masks", "plans", "features", "defers"):
            value = getattr(self, name)
            require(isinstance(value, bool), f"{name} of the design", value, "give True or False")
        require(isinstance(self.name, str), "name of the design", self.name, "give a text")

    @cached_property
    def own(self) -> bool:
        """Whether it is user-defined: at least one function is not from this package.  It then runs with checks."""
        others = (self.policy, self.inspect, self.values, self.remember, self.carry, self.explain)
        functions = (self.build, self.act, self.learn, *others)
        users = any(not is_ours(function) for function in functions if function is not None)
        return users or (self.inner is not None and self.inner.own)

    @property
    def memories(self) -> tuple[str, ...]:
        """The names of the arrays that store the past."""
        return (self.memory,) if isinstance(self.memory, str) else self.memory or ()

    def __repr__(self) -> str:
        settings = settings_text(self.parameters)
        schedule = f", schedule {self.schedule.name!r}" if self.schedule else ""
        return f"Design({self.name!r}{': ' if settings else ''}{settings}{schedule})"

    def scaling(self, reward: Reward) -> str:
        """Return in words how rewards are scaled for this design."""
        if (reward.low, reward.high) == (0, 1):
            return "rewards as they are, from 0 to 1"
        return replace(reward, raw=reward.raw and not self.unit).scaling

    def seen(self, task: Task) -> Task:
        """Return the task with the aleatoric states that the design expects: the finest ones if it has features."""
        return task.fine if self.features else task

    def view(self, task: Task) -> Task:
        """Return the task as :meth:`seen` does, with rewards scaled to [0, 1] if ``unit`` is set."""
        return self.seen(task).scaled if self.unit else self.seen(task)
