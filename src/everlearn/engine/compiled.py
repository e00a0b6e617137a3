"""The compiled engine: advance the runs of a design on the table of a task, side by side and on all cores.

The runs are split into groups.  All groups advance through the same stretch of time, each on one thread at a time; the
compiled code does not hold Python's global lock.  No result depends on which group or thread a run is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np

from everlearn.agents.clock import Block, Carry
from everlearn.agents.design import Design
from everlearn.agents.knowledge import stored_arrays
from everlearn.engine import driver
from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.compiling import compiled
from everlearn.engine.curves import Curves, concatenate
from everlearn.engine.driver import FAILED
from everlearn.engine.group import Group, can_stack, start_group
from everlearn.engine.guarded import Failed, advance_guarded
from everlearn.engine.kernels import CHECKED, INLINE, STRICT, Token
from everlearn.engine.memory import MEMORY, bytes_known
from everlearn.engine.plan import Finished, Plan, Progress
from everlearn.engine.timeline import Timeline, stretches
from everlearn.errors import InputError
from everlearn.machine import cores
from everlearn.tables import AnyTable
from everlearn.tasks.indexed import IndexedTask

LANES = 32
"""The largest number of runs in a group."""

UNROLLED_OUTCOMES = 4
"""Rows with up to this many outcomes are searched without branches."""

STRETCH = 1 << 14
"""The largest number of steps in a stretch, so that its schedule stays in the processor's cache for all groups."""

STRETCH_ALONE = 1 << 16
"""The same if there is one group: the schedule is read once, and the longer a stretch, the fewer times threads meet.

Not for a user's design: where it fails, its stretch is repeated step by step to say at which step."""

STRETCH_OF_ALL = 1 << 24
"""The largest number of steps of all runs in a stretch: a fraction of a second, so that Ctrl-C is noticed."""

_STORED_LANES = ("state", "total", "environment", "agent")
"""The fields of the lanes that a checkpoint stores as arrays; pairs are stored by name."""


def simulate_compiled(
    plan: Plan,
    table: AnyTable,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    finished: Finished | None = None,
) -> Curves:
    """Run a plan and return the curves of all runs; call ``finished`` with what the first run knows at its end."""
    workers = threads or cores()
    parts: list[Curves] = []
    with ThreadPoolExecutor(workers) as pool:
        for runs in batches(plan, table.indexed, workers):
            batch = CompiledBatch(plan, table, runs, workers)
            for _ in batch.advance(pool, progress):
                pass
            if finished is not None and not parts:
                finished(batch.groups[0].known_by(0))
            parts.append(batch.curves)
    return concatenate(parts)


def batches(plan: Plan, indexed: IndexedTask, workers: int) -> Iterator[range]:
    """Yield runs in batches whose knowledge fits into memory together."""
    per_run = bytes_known(plan.design, indexed) * (2 if plan.design.own else 1)  # a user's design is also copied
    number = max(workers, MEMORY // max(per_run, 1))
    for begin in range(0, plan.runs, number):
        yield range(begin, min(begin + number, plan.runs))


class CompiledBatch:
    """Runs that advance together in the compiled engine, from the beginning or from a checkpoint."""

    engine = "compiled"

    def __init__(
        self, plan: Plan, table: AnyTable, runs: Sequence[int], workers: int, checkpoint: Checkpoint | None = None
    ) -> None:
        if table.task.reward.raw != plan.task.reward.raw:
            raise InputError("table", table.task.name, "has other rewards than the plan; make it of plan.task")
        labels = (plan.task.states, plan.task.actions, plan.task.observations)
        if labels != (table.task.states, table.task.actions, table.task.observations):
            raise InputError("table", table.task.name, "has other labels than the plan; make it of plan.task")
        self.plan, self.table = plan, table
        self.runs = tuple(runs)
        self.t, self.carry = 0, Carry()
        size = group_size(len(runs), workers) if can_stack(plan.design, table.indexed) else 1
        self.groups = [start_group(plan, table, runs[begin : begin + size]) for begin in range(0, len(runs), size)]
        self.token = Token(plan.design.act, plan.design.learn, options=options(plan.design))
        self._advance = compiled(driver.advance, self.token)
        if checkpoint is not None:
            self.restore(checkpoint)

    @property
    def curves(self) -> Curves:
        """What was recorded of all runs."""
        return concatenate([group.curves for group in self.groups])

    def advance(
        self, pool: ThreadPoolExecutor, progress: Progress | None = None, until: int | None = None
    ) -> Iterator[int]:
        """Advance all runs to the end, or to a time; yield the time now and then, so that the caller may stop.

        The schedule of the next stretch is evaluated while the runs advance through the present one.
        """
        timeline = Timeline(self.plan.design.schedule, self.t, self.carry)
        longest = STRETCH_ALONE if len(self.groups) == 1 and not self.plan.design.own else STRETCH
        at_most = max(256, min(longest, STRETCH_OF_ALL // len(self.runs)))
        lengths = stretches((until or self.plan.steps) - self.t, at_most)
        length = next(lengths, None)
        ahead = None if length is None else pool.submit(timeline.next, length)
        while ahead is not None:
            block = ahead.result()
            carry, following = timeline.carry, next(lengths, None)
            ahead = None if following is None else pool.submit(timeline.next, following)
            self._advance_groups(pool, block)
            self.t, self.carry = self.t + len(block.horizon), carry
            if progress is not None:
                progress(len(block.horizon) * len(self.runs))
            yield self.t

    def checkpoint(self) -> Checkpoint:
        """Return a checkpoint of all runs."""
        stored = [group.stored() for group in self.groups]
        arrays = {f"knowledge/{name}": np.concatenate([part[name] for part in stored]) for name in stored[0]}
        for name in _STORED_LANES:
            arrays[name] = np.concatenate([getattr(group.lanes, name) for group in self.groups])
        pairs = [int(pair) for group in self.groups for pair in group.lanes.pair]
        return Checkpoint(
            self.engine,
            self.t,
            self.runs,
            self.curves.until(self.t),
            arrays,
            self.carry._asdict(),
            tuple(self.table.name(pair) for pair in pairs),
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Resume from a checkpoint of the same runs; one that was sent to a worker has no curves."""
        self.t, self.carry = checkpoint.t, Carry(**checkpoint.shared)
        curves = checkpoint.until(self.plan.times) if checkpoint.curves.times.size else checkpoint.curves
        begin = 0
        for group in self.groups:
            rows = slice(begin, begin + len(group.runs))
            begin = rows.stop
            group.curves.start_with(curves.rows(rows))
            for name, array in stored_arrays(group.knowledge).items():
                array[...] = checkpoint.arrays[f"knowledge/{name}"][rows].reshape(array.shape)
            for name in _STORED_LANES:
                getattr(group.lanes, name)[...] = checkpoint.arrays[name][rows]
            group.lanes.pair[...] = [self.table.pair(name) for name in checkpoint.each[rows]]

    def _advance_groups(self, pool: ThreadPoolExecutor, block: Block) -> None:
        advance = partial(advance_guarded, self) if self.plan.design.own else self.advance_group
        waiting = [pool.submit(advance, group, block) for group in self.groups]
        try:
            wait(waiting)
        finally:
            for future in waiting:
                future.cancel()
        for future in waiting:
            future.result()

    def advance_group(self, group: Group, block: Block) -> None:
        """Advance a group through a block, and record at the recording times on the way."""
        times, length = self.plan.times, len(block.horizon)
        position = 0
        for column in range(*np.searchsorted(times, (block.first, block.first + length))):
            end = int(times[column]) - block.first + 1
            self.advance_lanes(group, block, position, end)
            position = end
            recorded = group.curves.policies is not None
            policies = group.policies(self.plan.design, self.table.indexed) if recorded else None
            group.curves.record(slice(None), column, group.lanes.total, policies)
        self.advance_lanes(group, block, position, length)

    def advance_lanes(self, group: Group, block: Block, position: int, end: int) -> None:
        """Advance a group from one position in a block to another; expand pairs when they are first visited."""
        lanes, lane = group.lanes, 0
        streams = lanes.environment.ctypes.data, lanes.agent.ctypes.data
        while position < end:
            rows, width = self.table.view()
            outcomes = (0,) * width if width <= UNROLLED_OUTCOMES else ()
            shape = rows, width, outcomes, self.table.actions
            position, lane = self._advance(
                self.token, group.knowledge, block, position, end, lane, *shape, lanes, *streams
            )
            if lane == FAILED:
                raise Failed
            if position < end:
                self.table.expand(int(lanes.pair[lane]))


def options(design: Design) -> Mapping[str, Any]:
    """Return how to compile the functions of a design: with checks, if they are the user's."""
    return INLINE if not design.own else CHECKED if design.infinite else STRICT


def group_size(runs: int, workers: int) -> int:
    """Return how many runs to put into a group, so that all threads have the same amount of work."""
    rounds = -(-runs // (workers * LANES))
    return -(-runs // (workers * rounds))
