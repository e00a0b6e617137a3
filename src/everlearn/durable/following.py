"""Follow durable agents while another process runs them: read-only, and only what is new is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everlearn.durable import database
from everlearn.durable.core import Core
from everlearn.durable.layout import stores_of
from everlearn.durable.reader import Reader
from everlearn.durable.views import Greedy, glance, greedy_policy
from everlearn.errors import EverlearnError, LiveError

TAIL = 20
"""How many rows of the journal are shown."""

POINTS = 50
"""The approximate number of points of the average reward before there are batches."""


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
        its greedy policy
    journal:
        the last rows of its journal, the newest first

    """

    document: dict[str, Any]
    batches: list[tuple[int, float]]
    size: int
    greedy: Greedy
    journal: list[dict[str, Any]]


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
        self.directory = Path(directory)
        if not any(map(database.is_begun, stores_of(self.directory))):
            remedy = "make one with el.live(directory, task=...)"
            raise LiveError(f"{self.directory}: there is no durable agent here; {remedy}")
        self._cores: dict[str, tuple[str, Core]] = {}

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
                    batches, size = _batches(reader, core)
                    last, task = reader.last_row(core.number), core.agent.task
                    rows = [row.described(task) for row in reader.rows(core.number, max(last - TAIL, -1))]
                    return Seen(glance(core), batches, size, greedy_policy(core)["actions"], rows[::-1])
        raise LiveError(f"{self.directory}: there is no agent {name!r}")

    def _core(self, reader: Reader, name: str) -> Core:
        """Return an agent after its last row: the one from before with the new rows applied, if that is possible."""
        record = reader.enrolled(name)
        before, core = self._cores.get(name, ("", None))
        if core is None or before != record.sha256 or reader.last_row(record.number) < core.seq:
            core = reader.look(name)
        else:
            try:
                for entry in reader.rows(core.number, core.seq, core.check):
                    core.apply(entry)
            except EverlearnError:  # as when its design cannot learn from a row
                del self._cores[name]
                core = reader.look(name)
        self._cores[name] = record.sha256, core
        return core


def _batches(reader: Reader, core: Core) -> tuple[list[tuple[int, float]], int]:
    """Return the batches that the drift alarm remembers and their size; before there are two, smaller ones."""
    gauge = core.gauge
    if len(gauge.batches) > 1:
        return gauge.batches, gauge.batch
    rows = reader.rows(core.number, max(core.seq - 2 * gauge.batch, -1))
    rewards = [row.reward for row in rows if row.reward is not None]
    size = max(1, len(rewards) // POINTS)
    first = gauge.count - len(rewards)
    ends = range(size, len(rewards) + 1, size)
    return [(first + end, sum(rewards[end - size : end]) / size) for end in ends], size
