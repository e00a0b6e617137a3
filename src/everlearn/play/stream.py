"""One stream of experience to watch: advanced by any number of steps at the speed of the engine, and open to view.

Most steps are taken by the compiled engine, in blocks.  The last of every advance is interpreted, on the same arrays
and the same random streams, so that it can be told what happened in it.  Both give the same to the last bit, so that
nothing depends on how a stream was advanced.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from everlearn.agents.design import Design
from everlearn.agents.guard import Guard
from everlearn.agents.knowledge import copied
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.plan import Plan
from everlearn.engine.timeline import Timeline
from everlearn.protocol import Experience, Knowledge, Label, ScheduleValues, Table
from everlearn.randomness import set_words, uniform, words
from everlearn.tables import ArrayTable, PairTable, draw_outcome
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.task import Task

LONGEST = 10**12
"""Where a stream on the page ends: a day or so at full speed, and beyond any figure."""

INTERPRETED = 8
"""Up to how many steps are not worth calling the compiled engine for."""


class Taken(NamedTuple):
    """The step last taken: what the agent knew before and after, of the rows that matter, and what happened."""

    before: Knowledge
    after: Knowledge
    rows: tuple[int, ...]
    """Which aleatoric states these rows are of."""
    experience: Experience
    now: ScheduleValues
    reward: float
    """In the task's own units."""


class Stream:
    """An agent at work on a task, from the beginning.

    Parameters
    ----------
    task, design, seed:
        what is run; the stream is run 0 of a simulation with that seed
    table:
        the table of the task, which streams share
    pool:
        what the compiled engine works in; no thread of it may advance a stream itself

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tables import make_table
    >>> from everlearn.tasks.registry import make_task
    >>> task = make_task("service-station")
    >>> with ThreadPoolExecutor(2) as pool:
    ...     stream = Stream(task, make_design("always", {"policy": "fast"}), 1, make_table(task), pool)
    ...     stream.advance(100)
    >>> stream.t, stream.total_reward
    (100, 50.5)

    """

    def __init__(
        self, task: Task, design: Design, seed: int, table: PairTable | ArrayTable, pool: ThreadPoolExecutor
    ) -> None:
        self.task, self.design, self.table, self.pool = task, design, table, pool
        self.indexed = table.indexed
        plan = Plan(task, replace(design, policy=None), LONGEST, 1, seed)  # policies need not be recorded
        self.batch = CompiledBatch(plan, table, [0], 1)
        [self._group] = self.batch.groups
        self._functions = Guard(design, self.indexed) if design.own else design
        self._environment, self._agent = (np.random.Generator(np.random.SFC64(0)) for _ in range(2))
        self.taken: Taken | None = None
        self._now(0)  # refuses a schedule that is outside its domain from the beginning

    @property
    def t(self) -> int:
        """How many steps were taken."""
        return self.batch.t

    @property
    def total_reward(self) -> float:
        """The sum of rewards, in the task's own units."""
        return float(self._group.lanes.total[0])

    @property
    def aleatoric_state(self) -> int:
        """The index of S_t."""
        return int(self._group.lanes.state[0])

    @property
    def memory(self) -> Label:
        """What the environment remembers."""
        pair = int(self._group.lanes.pair[0])
        return self.table.labels[pair][0] if isinstance(self.table, PairTable) else pair

    @property
    def now(self) -> ScheduleValues:
        """What the schedule said of the step last taken; of the first, before any."""
        return self._now(0) if self.taken is None else self.taken.now

    def advance(self, steps: int) -> None:
        """Take so many steps, or as many as are left."""
        end = min(self.t + steps, LONGEST)
        if end - self.t > INTERPRETED:
            for _ in self.batch.advance(self.pool, until=end - 1):
                pass
        while self.t < end:
            self._step()

    def known(self, states: Sequence[int]) -> dict[str, Table]:
        """Return what the agent knows of some aleatoric states, by name: Q and N, for most; else its policy."""
        return known(self.design, self.indexed, self._group.knowledge, self.now, states)

    def recorded(self) -> tuple[list[int], list[float]]:
        """Return the times until now, and the average reward until each."""
        past = int(np.searchsorted(self.batch.plan.times, self.t, side="right"))
        times = self.batch.plan.times[:past]
        averages = (self._group.curves.total_reward[0, :past] / times).tolist()
        if self.t > 0 and (past == 0 or times[-1] != self.t):
            return [*times.tolist(), self.t], [*averages, self.total_reward / self.t]
        return times.tolist(), averages

    def _now(self, ahead: int) -> ScheduleValues:
        block = Timeline(self.design.schedule, self.t + ahead, self.batch.carry).next(1)
        return ScheduleValues(block.first, *(float(column[0]) for column in block[1:]))

    def _step(self) -> None:
        """Take one step as the reference loop does, on the arrays of the engine."""
        group, batch, design = self._group, self.batch, self.design
        lanes, knowledge = group.lanes, group.knowledge
        timeline = Timeline(design.schedule, batch.t, batch.carry)
        block = timeline.next(1)
        now = ScheduleValues(block.first, *(float(column[0]) for column in block[1:]))
        set_words(self._environment, lanes.environment[0])
        set_words(self._agent, lanes.agent[0])
        s, pair = self.aleatoric_state, int(lanes.pair[0])
        by_state = works_by_state(design)
        whole = None if by_state else copied(knowledge)  # acting may change what it knows
        action = int(self._functions.act(knowledge, s, now, self._agent))
        outcome = draw_outcome(self.table, pair, action, uniform(self._environment)).copy()
        following = int(outcome["state"])
        experience = Experience(s, action, int(outcome["observation"]), float(outcome["learned"]), following)
        rows = (s, following) if by_state else tuple(range(len(self.task.states)))
        before = copied(knowledge, rows) if whole is None else whole
        self._functions.learn(knowledge, experience, now, self._agent)
        lanes.total[0] += outcome["reward"]
        lanes.pair[0], lanes.state[0] = outcome["next"], outcome["state"]
        lanes.environment[0], lanes.agent[0] = words(self._environment), words(self._agent)
        batch.t, batch.carry = batch.t + 1, timeline.carry
        self._record()
        after = copied(knowledge, rows if by_state else None)
        self.taken = Taken(before, after, rows, experience, now, float(outcome["reward"]))

    def _record(self) -> None:
        times = self.batch.plan.times
        column = int(np.searchsorted(times, self.t))
        if times[column] == self.t:
            self._group.curves.total_reward[0, column] = self.total_reward


def known(
    design: Design, indexed: IndexedTask, knowledge: Knowledge, now: ScheduleValues, states: Sequence[int]
) -> dict[str, Table]:
    """Return what an agent knows of some aleatoric states, by name: Q and N, for most; else its policy."""
    chosen = list(states)
    if works_by_state(design) and design.inspect is not None:
        return inspected(design, indexed, copied(knowledge, chosen), now)
    found = inspected(design, indexed, knowledge, now)
    if design.inspect is None and design.policy is not None:
        policy = Guard(design, indexed).policy if design.own else design.policy
        found = {"policy": np.asarray(policy(knowledge))}
    return {name: table[chosen] if table.shape[:1] == (indexed.states,) else table for name, table in found.items()}


def inspected(design: Design, indexed: IndexedTask, knowledge: Knowledge, now: ScheduleValues) -> dict[str, Table]:
    """Return what a design shows of what it knows."""
    if design.own:
        return Guard(design, indexed).inspect(knowledge, now)
    shown = {} if design.inspect is None else design.inspect(knowledge, now)
    return {name: np.asarray(table, dtype=float) for name, table in shown.items()}


def works_by_state(design: Design) -> bool:
    """Tell whether a few rows of every array are all that a step needs, which is not proved of a user's own design."""
    return design.by_state and not design.own
