"""A run that the page watches: it advances by any number of steps, and shows what happened in the latest one.

The engine takes most steps.  The latest step of every advance is taken on its own, with a look at what the agent knew
before and after.  The result does not depend on how a run was advanced: it is run 0 of ``el.run``, to the last bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from everlearn.agents.clock import Block
from everlearn.agents.design import Design
from everlearn.agents.guard import Guard
from everlearn.agents.knowledge import arrays, copied
from everlearn.agents.perception import Places
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.plan import Plan
from everlearn.engine.reference import ReferenceBatch
from everlearn.engine.timeline import Timeline
from everlearn.grids import Grid
from everlearn.protocol import Experience, Knowledge, Label, ScheduleValues, Table
from everlearn.randomness import set_words, uniform, words
from everlearn.tables import AnyTable, PairTable, draw_outcome
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

LAST_STEP = 10**12
"""Where a run on the page ends: after a day or so at full speed, and beyond any figure."""

MOST_PREFERENCES = 64
"""Record what an agent prefers if there are at most so many pairs of a state and an action."""


MOST_SEEN = 100
"""How many of the steps that were seen to remember."""


class WatchedStep(NamedTuple):
    """A step: what happened, and what the agent knew before and after."""

    before: Knowledge
    after: Knowledge
    rows: tuple[int, ...]
    """The aleatoric states of the rows in ``before`` and ``after``."""
    experience: Experience
    now: ScheduleValues
    reward: float
    """In the task's own units."""


class SeenStep(NamedTuple):
    """What is remembered of a step for summaries, by indices."""

    state: int
    action: int
    observation: int
    reward: float


class WatchedRun(ABC):
    """A run of an agent on a task: a :class:`CompiledRun` or a :class:`ReferenceRun`."""

    few_steps = 1
    """Take up to this many steps one by one, without the engine."""

    decisions: Sequence[int] = ()
    """The aleatoric states in which it makes a difference what the agent does, for small tasks."""

    def __init__(
        self,
        design: Design,
        indexed: IndexedTask,
        knowledge: Knowledge,
        batch: CompiledBatch | ReferenceBatch,
        advance: Callable[..., Iterator[int]],
    ) -> None:
        self.design, self.task, self.knowledge, self.batch = design, batch.plan.task, knowledge, batch
        self._advance = advance  # as batch.advance, with all arguments but ``until``
        self.functions = Guard(design, indexed) if design.own else design
        self.latest: WatchedStep | None = None
        self.seen: deque[SeenStep] = deque(maxlen=MOST_SEEN)
        self._before: Knowledge | None = None  # what was known before the step that is being taken, to go back to
        self._failure: Exception | None = None
        self.t, self.total_reward, self.aleatoric_state = 0, 0.0, indexed.start
        self.memory: Label | None = None
        self._locate()
        self._first = self._upcoming()  # raises at once if the schedule begins outside its domain

    @abstractmethod
    def _locate(self) -> None:
        """Note the time, the sum of rewards, the aleatoric state, and what the environment remembers."""

    @abstractmethod
    def _upcoming(self) -> ScheduleValues:
        """Return the values of the schedule at the next step."""

    @abstractmethod
    def _step(self) -> WatchedStep:
        """Take one step."""

    @property
    def now(self) -> ScheduleValues:
        """The values of the schedule at the latest step; before any, at the first."""
        return self._first if self.latest is None else self.latest.now

    @property
    def by_state(self) -> bool:
        """Whether a step needs a few rows of every array only, which is not proved of a user's design."""
        return self.design.by_state and not self.design.own

    def _rows(self, aleatoric_state: int, following: int, *, by_state: bool = False) -> tuple[int, ...]:
        """Return the aleatoric states of which a watched step says something: all, unless there are too many."""
        few = by_state or isinstance(self.task.states, Grid)
        return (aleatoric_state, following) if few else tuple(range(len(self.task.states)))

    def advance(self, steps: int) -> None:
        """Take a number of steps, or as many as are left.

        A run that failed shows the last whole step, and raises the same error again whenever it is advanced.
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        self._before = None
        steps = min(steps, LAST_STEP - self.t)
        try:
            if steps > self.few_steps:
                for _ in self._advance(until=self.t + steps - 1):
                    pass
                steps = 1
            for _ in range(steps):
                self.latest = self._step()
                self.seen.append(SeenStep(*self.latest.experience[:3], self.latest.reward))
        except Exception as error:
            self._failure = error
            self._undo()
            raise
        finally:
            self._locate()

    def _undo(self) -> None:
        """Restore what was known before the step that failed."""
        if self._before is not None:
            for name, array in arrays(self._before).items():
                arrays(self.knowledge)[name][...] = array

    def recorded(self) -> tuple[list[int], list[float]]:
        """Return the recorded times until now and the present time, and the average reward until each."""
        curves = self.batch.curves.until(self.t)
        times, totals = curves.times.tolist(), curves.total_reward[0].tolist()
        if self.t and times[-1:] != [self.t]:
            times, totals = [*times, self.t], [*totals, self.total_reward]
        return times, [total / t for t, total in zip(times, totals, strict=True)]

    def inspect(self, knowledge: Knowledge, now: ScheduleValues) -> dict[str, Table]:
        """Return what the design shows of some knowledge, by name."""
        if self.design.inspect is None or self.functions.inspect is None:
            return {}
        return {name: np.asarray(table, dtype=float) for name, table in self.functions.inspect(knowledge, now).items()}

    def known(self, states: Sequence[int]) -> dict[str, Table]:
        """Return what the agent knows of some aleatoric states: what its design shows, its values, or its policy."""
        chosen, number = list(states), len(self.task.states)
        design, functions = self.design, self.functions
        if design.inspect is not None and self.by_state:
            return self.inspect(copied(self.knowledge, chosen), self.now)
        tables = self.inspect(self.knowledge, self.now)
        if isinstance(self.task.states, Grid) and design.policy_at is not None:
            seen: Any = Places(design, self.task.states) if self.task.states.is_wide else design
            return {"policy": np.array([seen.policy_at(self.knowledge, s) for s in chosen]), **tables}
        if design.inspect is None and design.values is not None and functions.values is not None:
            tables = {"Q": np.array(functions.values(self.knowledge))}
        elif design.inspect is None and design.policy is not None and functions.policy is not None:
            tables = {"policy": np.array(functions.policy(self.knowledge))}
        return {name: table[chosen] if table.shape[:1] == (number,) else table for name, table in tables.items()}


class CompiledRun(WatchedRun):
    """A run in the compiled engine; its latest step is interpreted, on the arrays of the engine.

    ``table`` is that of the task as the design sees it.  No thread of ``pool`` may advance a run itself.
    """

    few_steps = 8  # for fewer, calling the compiled engine takes longer
    batch: CompiledBatch

    def __init__(self, task: Task, design: Design, seed: int, table: AnyTable, pool: ThreadPoolExecutor) -> None:
        batch = CompiledBatch(_plan(task, design, seed), table, [0], 1)
        [self._group] = batch.groups
        self._environment, self._agent = (np.random.Generator(np.random.SFC64(0)) for _ in range(2))
        super().__init__(design, table.indexed, self._group.knowledge, batch, partial(batch.advance, pool))
        self.decisions = () if batch.plan.design.policy is None else find_decisions(table)

    def _locate(self) -> None:
        lanes, table = self._group.lanes, self.batch.table
        self.t, self.total_reward, self.aleatoric_state = self.batch.t, float(lanes.total[0]), int(lanes.state[0])
        pair = int(lanes.pair[0])
        self.memory = table.labels[pair][0] if isinstance(table, PairTable) else pair

    def _timeline(self) -> Timeline:
        return Timeline(self.design.schedule, self.batch.t, self.batch.carry)

    def _upcoming(self) -> ScheduleValues:
        return _single(self._timeline().next(1))

    def _step(self) -> WatchedStep:
        everything = self._before = None if self.by_state else copied(self.knowledge)  # acting may change what it knows
        batch, lanes, knowledge, timeline = self.batch, self._group.lanes, self.knowledge, self._timeline()
        now = _single(timeline.next(1))
        set_words(self._environment, lanes.environment[0])
        set_words(self._agent, lanes.agent[0])
        s = int(lanes.state[0])
        action = int(self.functions.act(knowledge, s, now, self._agent))
        outcome = draw_outcome(batch.table, int(lanes.pair[0]), action, uniform(self._environment)).copy()
        following, reward = int(outcome["state"]), float(outcome["reward"])
        experience = Experience(s, action, int(outcome["observation"]), float(outcome["learned"]), following)
        rows = self._rows(s, following, by_state=self.by_state)
        before = copied(knowledge, rows) if everything is None else everything
        self.functions.learn(knowledge, experience, now, self._agent)
        lanes.total[0] += reward
        lanes.pair[0], lanes.state[0] = outcome["next"], following
        lanes.environment[0], lanes.agent[0] = words(self._environment), words(self._agent)
        batch.t, batch.carry = batch.t + 1, timeline.carry
        column = int(np.searchsorted(batch.plan.times, batch.t))
        if batch.plan.times[column] == batch.t:
            policies = self._group.policies(batch.plan.design, batch.table.indexed)
            batch.curves.record(0, column, lanes.total[0], None if policies is None else policies[0])
        return WatchedStep(before, copied(knowledge, rows if self.by_state else None), rows, experience, now, reward)


class ReferenceRun(WatchedRun):
    """A run in the reference engine, for a task without a model and for an agent that cannot be compiled."""

    batch: ReferenceBatch

    def __init__(self, task: Task, design: Design, seed: int) -> None:
        batch = ReferenceBatch(_plan(task, design, seed), [0])
        [self.agent], [self.loop] = batch.agents, batch.loops
        super().__init__(design, self.agent.indexed, self.agent.knowledge, batch, batch.advance)
        if not self.by_state:  # otherwise a step changes nothing until it can no longer fail
            self.loop.agent = self

    def _locate(self) -> None:
        loop = self.loop
        self.t, self.total_reward, self.aleatoric_state = loop.t, loop.total_reward, loop.aleatoric_state
        self.memory = getattr(loop.environment, "memory", None)

    def _upcoming(self) -> ScheduleValues:
        return self.agent.upcoming

    def act(self) -> Label:
        """Let the agent act, after a look at what it knows."""
        self._before = copied(self.knowledge)
        return self.agent.act()

    def observe(self, observation: Label, executed: Label | None = None) -> float:
        """Let the agent observe."""
        return self.agent.observe(observation, executed)

    def _step(self) -> WatchedStep:
        self._before = None
        before, now, s = copied(self.knowledge), self._upcoming(), self.loop.aleatoric_state
        for _ in self.batch.advance(until=self.loop.t + 1):
            pass
        following, reward = self.agent.indexed.step(s, *self.loop.latest)
        experience = Experience(s, *self.loop.latest, self.agent.learned(reward), following)
        return WatchedStep(before, copied(self.knowledge), self._rows(s, following), experience, now, reward)


def find_decisions(table: AnyTable) -> list[int]:
    """Return the aleatoric states in which the outcomes of some actions differ."""
    if not isinstance(table, PairTable):
        return list(range(len(table.indexed.task.states)))
    rows, width = table.view()
    rows = rows.reshape(-1, table.actions, width)[: len(table.labels)]
    differ = np.any([rows[name] != rows[name][:, :1] for name in ("bound", "reward", "next")], axis=(0, 2, 3))
    labels = {table.labels[pair][1] for pair in np.flatnonzero(differ)}
    return [place for place, label in enumerate(table.task.states) if label in labels]


def _plan(task: Task, design: Design, seed: int) -> Plan:
    """Return the plan of a run; policies are recorded if they are small, and not those of a user's functions."""
    small = len(task.states) * len(task.actions) <= MOST_PREFERENCES and not design.own
    return Plan(task, design if small else replace(design, policy=None), LAST_STEP, 1, seed)


def _single(block: Block) -> ScheduleValues:
    """Return the values of a schedule from a block of one step."""
    return ScheduleValues(block.first, *(float(column[0]) for column in block[1:]))
