"""Follow durable agents while another process runs them: read-only, and only what is new is read."""

from __future__ import annotations

import os
import time
from array import array
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from everlearn.durable import database
from everlearn.durable.core import Core
from everlearn.durable.entry import Entry, Kind
from everlearn.durable.layout import stores_of
from everlearn.durable.reader import Reader
from everlearn.durable.views import Greedy, glance, greedy_policy
from everlearn.errors import Absent, EverlearnError, InputError
from everlearn.files import expanded
from everlearn.locks import is_held
from everlearn.tasks.names import TASKS
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

TAIL = 20
"""How many rows of the journal are shown."""

POINTS = 50
"""The approximate number of points of the average reward before there are as many batches."""

ROWS, FEW = 50_000, 10
"""Averages are not made from more rows than this, once the drift alarm remembers so many batches."""


@dataclass(frozen=True)
class Seen:
    """A durable agent as of one moment.

    Parameters
    ----------
    document:
        where it stands, as :func:`everlearn.durable.views.glance` says it
    batches:
        average rewards of consecutive batches of rewards, each with the number of rewards until its end
    size:
        the number of rewards in a batch
    greedy:
        its greedy policy, or why it has none
    journal:
        the last rows of its journal, the newest first
    task:
        its task
    age:
        for how many seconds its journal has had no new row; None if it has no rows
    held:
        whether a process has it open

    """

    document: dict[str, Any]
    batches: list[tuple[int, float]]
    size: int
    greedy: Greedy | str
    journal: list[dict[str, Any]]
    task: Task
    age: float | None
    held: bool


class Follower:
    """Reads a directory of durable agents again and again.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station", seed=1) as agent:
    ...     _ = agent.act(), agent.observe("arrival")
    ...     follower = Follower(directory)
    ...     first = follower.look("agent").document["step"]
    ...     _ = agent.act(), agent.observe("departure")
    ...     first, follower.look("agent").document["step"], follower.standings()
    (1, 2, {'agent': (2, 'learn')})

    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = expanded(directory)
        if not any(map(database.is_begun, stores_of(self.directory))):
            remedy = "make one with el.live(directory, task=...)"
            raise Absent(f"there is no durable agent here; {remedy}", self.directory)
        self._cores: dict[str, tuple[str, Core]] = {}
        self._portraits: dict[str, Portrait] = {}
        self._sums: dict[str, _Sums] = {}
        self._arrivals: dict[str, _Arrival] = {}

    def standings(self) -> dict[str, tuple[int, str | None]]:
        """Return the step and the mode of every agent."""
        standings: dict[str, tuple[int, str | None]] = {}
        for store in stores_of(self.directory):
            with Reader(store) as reader:
                standings |= reader.standings()
        return dict(sorted(standings.items()))

    def look(self, name: str) -> Seen:
        """Return an agent as it is after the last row of its journal."""
        for store in stores_of(self.directory):
            with Reader(store) as reader, reader.at_one_moment():
                if name in reader.names():
                    core = self._core(reader, name)
                    batches, size = self._batches(reader, name, core)
                    last = reader.last_row(core.number)
                    task = replace(core.agent.task, portrait=self._portrait(name, core))
                    rows = [*reader.rows(core.number, max(last - TAIL, -1))][::-1]
                    age = self._age(name, rows[0]) if rows else None
                    journal = [row.described(task) for row in rows]
                    return Seen(glance(core), batches, size, _greedy(core), journal, task, age, is_held(store))
        raise Absent(f"there is no agent {name!r}", self.directory, agent=name)

    def _portrait(self, name: str, core: Core) -> Portrait:
        """Return how the task of an agent is shown, if it is one of ours; no code of others is imported to read."""
        if name not in self._portraits:
            given = core.setup.document["task"]  # a name, or none if it was declared or passed as an object
            ours = isinstance(given, str) and given in TASKS
            self._portraits[name] = core.setup.task_spec.make().portrait if ours else core.agent.task.portrait
        return self._portraits[name]

    def _core(self, reader: Reader, name: str) -> Core:
        """Return an agent after its last row: the one from before with the new rows applied, if that is possible."""
        record = reader.enrolled(name)
        before, core = self._cores.get(name, ("", None))
        if core is None or before != record.sha256 or reader.last_row(record.number) < core.seq:
            core = reader.look(name)
            self._sums.pop(name, None)
        else:
            try:
                for entry in reader.rows(core.number, core.seq, core.check):
                    core.apply(entry)
            except EverlearnError:  # as when its design cannot learn from a row
                del self._cores[name]
                core = reader.look(name)
                self._sums.pop(name, None)
        self._cores[name] = record.sha256, core
        return core

    def _age(self, name: str, row: Entry) -> float:
        """Return for how many seconds a row has been the last one.

        If it was seen to come, the clock of this process says so; otherwise the time in it, which another machine may
        have written, says it too.
        """
        arrival = self._arrivals.get(name)
        if arrival is None or arrival.seq != row.seq:
            arrival = self._arrivals[name] = _Arrival(row.seq, time.monotonic(), arrival is not None)
        since = time.monotonic() - arrival.at
        return since if arrival.seen else max(time.time() - row.at, since)

    def _batches(self, reader: Reader, name: str, core: Core) -> tuple[list[tuple[int, float]], int]:
        """Return the batches that the drift alarm remembers and their size; while they are few, smaller ones."""
        gauge = core.gauge
        if len(gauge.batches) >= (POINTS if gauge.count <= ROWS else FEW):
            self._sums.pop(name, None)
            return gauge.batches, gauge.batch
        sums = self._sums.setdefault(name, _Sums(max(core.seq - ROWS, -1)))
        for row in reader.rows(core.number, sums.seq):
            sums.add(row)
        return sums.batches(gauge.count)


class _Arrival(NamedTuple):
    """When the last row of a journal was first there, and whether it was seen to come."""

    seq: int
    at: float
    seen: bool


class _Sums:
    """The sums of rewards and of durations up to each reward after a row of a journal, as the drift alarm has them."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self._rewards, self._times = array("d", [0.0]), array("d", [0.0])
        self._late: dict[int, float] = {}  # how long the steps took whose rewards have not come

    def add(self, row: Entry) -> None:
        """Add the next row."""
        self.seq = row.seq
        if row.kind == Kind.OBSERVED:
            duration = row.numbers.get("duration", 1.0)
            if row.reward is None:
                self._late[row.step] = duration
        elif row.kind == Kind.REWARD:
            duration = self._late.pop(row.rewarded, 1.0)
        else:
            return
        if row.reward is not None:
            self._rewards.append(self._rewards[-1] + row.reward)
            self._times.append(self._times[-1] + duration)

    def batches(self, count: int) -> tuple[list[tuple[int, float]], int]:
        """Return averages of about ``POINTS`` batches, given the number of all rewards; and the size of a batch."""
        known = min(len(self._rewards) - 1, count)
        size, first = max(1, known // POINTS), len(self._rewards) - 1 - known
        ends = range(first + size, len(self._rewards), size)
        return [(count - known + end - first, self._average(end - size, end)) for end in ends], size

    def _average(self, start: int, end: int) -> float:
        return (self._rewards[end] - self._rewards[start]) / (self._times[end] - self._times[start])


def _greedy(core: Core) -> Greedy | str:
    """Return the greedy policy of an agent, or why it has none."""
    try:
        return cast("Greedy", greedy_policy(core)["actions"])
    except InputError as error:
        return str(error)
