"""The compiled engine: runs of a design on the table of a task, side by side and on all cores.

Runs are put into groups, which advance through the same stretch of time, one group a thread at a time; the kernels hold
no lock of Python's.  Nothing that a run does depends on which group or thread it is in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.agent import arrays, stored_arrays
from everlearn.agents.clock import Block, Carry
from everlearn.agents.design import Design
from everlearn.agents.own import Guard, build_knowledge
from everlearn.engine import driver
from everlearn.engine.compiling import compiled
from everlearn.engine.checkpoint import Checkpoint, recorded
from everlearn.engine.driver import FAILED, Lanes
from everlearn.engine.guarded import Failed, guarded
from everlearn.engine.kernels import CHECKED, INLINE, STRICT, Token
from everlearn.engine.memory import MEMORY, bytes_known
from everlearn.engine.plan import Finished, Plan, Progress, recorded_policies
from everlearn.engine.timeline import Timeline, stretches
from everlearn.errors import InputError
from everlearn.machine import cores
from everlearn.protocol import Knowledge, Table
from everlearn.randomness import AGENT, ENVIRONMENT, stream, words
from everlearn.tables import AnyTable
from everlearn.tasks.interface import Interface

LANES = 32
"""How many runs of a design that works by state are advanced side by side, at most."""

UNROLLED_OUTCOMES = 4
"""Up to how many outcomes of a row are searched without branches."""

STRETCH = 1 << 14
"""Steps of a run in one task of the pool; their schedule stays in the cache while group after group reads it."""

STRETCH_OF_ALL = 1 << 24
"""Steps of all runs between two looks at the keyboard: a fraction of a second."""


@dataclass
class Group:
    """Runs that are advanced side by side: what each knows, stacked along the first axis, and where each is."""

    knowledge: Knowledge
    lanes: Lanes
    totals: Table
    policies: Table | None


def simulate_compiled(
    plan: Plan, table: AnyTable, *, threads: int | None = None, progress: Progress | None = None
) -> Iterator[Finished]:
    """Do the runs of a plan, and yield each when it is finished."""
    workers = threads or cores()
    with ThreadPoolExecutor(workers) as pool:
        for runs in batches(plan, table.interface, workers):
            batch = CompiledBatch(plan, table, runs, workers)
            for _ in batch.advance(pool, progress):
                pass
            yield from batch.finished()


def batches(plan: Plan, interface: Interface, workers: int) -> Iterator[range]:
    """Yield runs in batches whose knowledge fits into memory together."""
    each = bytes_known(plan.design, interface) * (2 if plan.design.own else 1)  # a copy is kept of the user's own
    number = max(workers, MEMORY // max(each, 1))
    for begin in range(0, plan.runs, number):
        yield range(begin, min(begin + number, plan.runs))


class CompiledBatch:
    """Runs that go through time together, from the beginning or from the checkpoint in which they were."""

    engine = "compiled"

    def __init__(
        self, plan: Plan, table: AnyTable, runs: Sequence[int], workers: int, checkpoint: Checkpoint | None = None
    ) -> None:
        self.plan, self.table = plan, table
        self.runs = tuple(runs)
        self.t, self.carry = 0, Carry()
        lanes = balanced(len(runs), workers) if side_by_side(plan.design, table.interface) else 1
        self.groups = [self._group(self.runs[begin : begin + lanes]) for begin in range(0, len(runs), lanes)]
        self.token = Token(plan.design.act, plan.design.learn, options=options(plan.design))
        self._advance = compiled(driver.advance, self.token)
        if checkpoint is not None:
            self._put(checkpoint)

    def advance(
        self, pool: ThreadPoolExecutor, progress: Progress | None = None, until: int | None = None
    ) -> Iterator[int]:
        """Advance all runs to the end, or to a time, yielding the time now and then; they may be left there.

        The schedule is evaluated a stretch ahead of the runs.
        """
        timeline = Timeline(self.plan.design.schedule, self.t, self.carry)
        at_most = max(256, min(STRETCH, STRETCH_OF_ALL // len(self.runs)))
        lengths = stretches((until or self.plan.steps) - self.t, at_most)
        length = next(lengths, None)
        ahead = None if length is None else pool.submit(timeline.next, length)
        while ahead is not None:
            block = ahead.result()
            carry, following = timeline.carry, next(lengths, None)
            ahead = None if following is None else pool.submit(timeline.next, following)
            self._stretch(pool, block)
            self.t, self.carry = self.t + len(block.horizon), carry
            if progress is not None:
                progress(len(block.horizon) * len(self.runs))
            yield self.t

    def checkpoint(self) -> Checkpoint:
        """Return the whole checkpoint of all runs."""
        past = recorded(self.plan, self.t)
        known = [
            parted(stored_arrays(group.knowledge), len(group.lanes.pair)) for group in self.groups
        ]  # copied when joined below
        lanes = [group.lanes for group in self.groups]
        places = {name: np.concatenate([getattr(one, name) for one in lanes]) for name in _PLACES}
        policies = [group.policies[:, past] for group in self.groups if group.policies is not None]
        return Checkpoint(
            self.engine,
            self.t,
            self.runs,
            self.plan.times[past],
            np.concatenate([group.totals[:, past] for group in self.groups]),
            np.concatenate(policies) if policies else None,
            {**{f"knowledge/{name}": np.concatenate([one[name] for one in known]) for name in known[0]}, **places},
            self.carry._asdict(),
            tuple(self.table.name(int(pair)) for one in lanes for pair in one.pair),
        )

    def finished(self) -> Iterator[Finished]:
        """Yield every run, with what was recorded of it."""
        run = iter(self.runs)
        for group in self.groups:
            for lane, totals in enumerate(group.totals):
                yield Finished(next(run), totals, None if group.policies is None else group.policies[lane])

    def _put(self, checkpoint: Checkpoint) -> None:
        self.t, self.carry = checkpoint.t, Carry(**checkpoint.shared)
        totals, policies = checkpoint.until(self.plan.times if checkpoint.times.size else checkpoint.times)
        begin = 0
        for group in self.groups:
            rows = slice(begin, begin + len(group.lanes.pair))
            begin = rows.stop
            group.totals[:, : totals.shape[1]] = totals[rows]
            if group.policies is not None and policies is not None:
                group.policies[:, : totals.shape[1]] = policies[rows]
            for name, array in stored_arrays(group.knowledge).items():
                array[...] = checkpoint.arrays[f"knowledge/{name}"][rows].reshape(array.shape)
            for name in _PLACES:
                getattr(group.lanes, name)[...] = checkpoint.arrays[name][rows]
            group.lanes.pair[...] = [self.table.pair(name) for name in checkpoint.each[rows]]

    def _stretch(self, pool: ThreadPoolExecutor, block: Block) -> None:
        waiting = [pool.submit(self._through, group, block) for group in self.groups]
        try:
            wait(waiting)
        finally:
            for future in waiting:
                future.cancel()
        for future in waiting:
            future.result()

    def _through(self, group: Group, block: Block) -> None:
        if self.plan.design.own:
            guarded(self, group, block)
        else:
            self.through(group, block)

    def through(self, group: Group, block: Block) -> None:
        """Advance a group through a block, and record at the times that lie in it."""
        times, length = self.plan.times, len(block.horizon)
        position = 0
        for column in range(*np.searchsorted(times, (block.first, block.first + length))):
            end = int(times[column]) - block.first + 1
            self.until(group, block, position, end)
            position = end
            group.totals[:, column] = group.lanes.total
            if group.policies is not None:
                group.policies[:, column] = self._policies(group)
        self.until(group, block, position, length)

    def _policies(self, group: Group) -> Table:
        """Return the policy of every run of a group."""
        design, runs = self.plan.design, len(group.lanes.pair)
        if design.own:
            guard = Guard(design, self.table.interface)
            return np.stack([guard.policy(self.known_by(group, run)) for run in range(runs)])
        assert design.policy is not None  # noqa: S101 - recorded only where there is one
        table = design.policy(group.knowledge)
        return table.reshape(runs, table.shape[0] // runs, *table.shape[1:])

    @staticmethod
    def known_by(group: Group, lane: int) -> Knowledge:
        """Return what one run of a group knows, as views of the stacked arrays."""
        parts = parted(arrays(group.knowledge), len(group.lanes.pair))
        known: Knowledge = group.knowledge._replace(**{name: part[lane] for name, part in parts.items()})
        return known

    def run_of(self, group: Group, lane: int) -> int:
        """Return the number of the run that is in a lane of a group."""
        before = itertools.takewhile(lambda other: other is not group, self.groups)
        return self.runs[sum(len(other.lanes.pair) for other in before) + lane]

    def until(self, group: Group, block: Block, position: int, end: int) -> None:
        """Advance a group to before a position, expanding pairs that it meets for the first time."""
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

    def _group(self, runs: Sequence[int]) -> Group:
        design, interface, number = self.plan.design, self.table.interface, len(runs)
        shared_rows = design.by_state and not design.own
        lanes = Lanes(
            pair=np.full(number, self.table.start, dtype=np.uint32),
            state=np.full(number, interface.start, dtype=np.uint32),
            base=np.arange(number, dtype=np.uint32) * np.uint32(interface.states if shared_rows else 0),
            total=np.zeros(number),
            environment=np.array([words(stream(self.plan.seed, run, ENVIRONMENT)) for run in runs]),
            agent=np.array([words(stream(self.plan.seed, run, AGENT)) for run in runs]),
            place=np.zeros(2, dtype=np.int64),
        )
        totals = np.zeros((number, self.plan.times.size))
        return Group(stacked(design, interface, number), lanes, totals, recorded_policies(self.plan, number))


_PLACES = ("state", "total", "environment", "agent")
"""What a checkpoint holds of the lanes; pairs are kept by name."""


def parted(stacked: Mapping[str, NDArray[Any]], runs: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of stacked runs, with an axis for the runs."""
    return {
        name: array.reshape(runs, *((array.shape[0] // runs, *array.shape[1:]) if array.ndim else ()))
        for name, array in stacked.items()
    }


def side_by_side(design: Design, interface: Interface) -> bool:
    """Tell whether runs of a design can be stacked.

    Those of a built-in design share arrays, where it works by state.  Those of a user's own are kept apart, and can be
    stacked where every array has an axis.
    """
    if not design.own:
        return design.by_state
    return all(array.ndim > 0 for array in arrays(build_knowledge(design, interface)).values())


def options(design: Design) -> Mapping[str, Any]:
    """Return how the functions of a design are compiled: with checks, where they are the user's own."""
    return INLINE if not design.own else CHECKED if design.infinite else STRICT


def balanced(runs: int, workers: int) -> int:
    """Return how many lanes a group has, so that every thread has as much to do.

    Examples
    --------
    >>> balanced(200, 2), balanced(3, 2), balanced(1, 2)
    (25, 2, 1)

    """
    rounds = -(-runs // (workers * LANES))
    return -(-runs // (workers * rounds))


def stacked(design: Design, interface: Interface, number: int) -> Knowledge:
    """Return what so many runs know at the beginning, stacked along the first axis.

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tasks.registry import make_task
    >>> design, interface = make_design("growing-horizon", schedule="smooth"), Interface(make_task("service-station"))
    >>> stacked(design, interface, 8).cells.shape
    (16,)

    """
    knowledge = build_knowledge(design, interface)

    def stack(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if design.by_state and not design.own and (value.ndim == 0 or value.shape[0] != interface.states):
            remedy = f"a design by state needs arrays whose first axis is the aleatoric state, {interface.states} long"
            raise InputError(f"array {name!r} of the design {design.name!r}", value.shape, remedy)
        copies = np.concatenate([value] * number) if number > 1 else value
        return np.array(copies, order="C")

    return type(knowledge)(**{name: stack(name, value) for name, value in knowledge._asdict().items()})
