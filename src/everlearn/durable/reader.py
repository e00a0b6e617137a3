"""Reading a store: agents, journals, snapshots, and the recovery of an agent from these.

Anybody may read while a process holds the directory.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.durable.core import Core
from everlearn.durable.database import FILE, connect_to_read, errors
from everlearn.durable.entry import CHANGE, Entry
from everlearn.durable.reopening import stored_setup
from everlearn.durable.schema import COLUMNS, READABLE, SCHEMA, digest, version
from everlearn.durable.setup import Setup
from everlearn.errors import Corrupt, LiveError, SnapshotError

LOG = logging.getLogger("everlearn.durable")


class Enrolled(NamedTuple):
    """An agent as it is written down."""

    number: int
    name: str
    setup: str
    face: str | None
    created: float
    sha256: str

    @property
    def whole(self) -> bool:
        """Whether it is as it was written."""
        return self.sha256 == digest(*self[:-1])

    @property
    def changed(self) -> int | None:
        """The number of the row in which a change of its fingerprint was last accepted."""
        return None if self.face is None else json.loads(self.face).get("changed")


class Snapshot(NamedTuple):
    """A snapshot as it is written down; ``state`` is what :meth:`everlearn.Agent.save` writes."""

    agent: int
    seq: int
    number: int
    """Which one it is, counted from 0."""
    step: int
    at: float
    more: str
    state: bytes
    sha256: str

    @property
    def whole(self) -> bool:
        """Whether it is as it was written."""
        return self.sha256 == digest(*self[:-1])


class Reader:
    """A directory of durable agents, to read from.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station") as agent, Reader(directory) as reader:
    ...     reader.names()
    ['agent']

    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.path = self.directory / FILE
        self.connection: sqlite3.Connection = self._connect()
        try:
            with errors(self.path):
                self._begin()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        with errors(self.path):
            return connect_to_read(self.path)

    def _begin(self) -> None:
        found = version(self.connection)
        if found is None:
            raise LiveError(f"{self.path}: there are no agents in it")
        self._refuse(found)

    def _refuse(self, found: int) -> None:
        """Refuse a version that this cannot read."""
        if found == 0:
            raise Corrupt(
                f"{self.path}: table meta: it does not tell its version; see: everlearn check {self.directory}"
            )
        if found not in READABLE:
            remedy = (
                "use a newer everlearn" if found > SCHEMA else "open it once to write, and it is brought up to date"
            )
            raise LiveError(f"{self.path}: schema version {found}, this everlearn reads {SCHEMA}; {remedy}")

    def close(self) -> None:
        """Let go of it."""
        self.connection.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def names(self) -> list[str]:
        """Return the names of the agents."""
        with errors(self.path):
            return [name for (name,) in self.connection.execute("SELECT name FROM agents ORDER BY name")]

    def enrolled(self, name: str) -> Enrolled:
        """Return what is written down of an agent."""
        with errors(self.path):
            row = self.connection.execute("SELECT * FROM agents WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise LiveError(f"{self.directory}: there is no agent {name!r}")
        found = Enrolled(*row)
        if not found.whole:
            raise Corrupt(f"{self.path}: table agents: the row of {name!r} is damaged")
        return found

    def look(self, name: str) -> Core:
        """Return an agent as it is after the last row of its journal, to look at: it will not learn any more."""
        found = self.enrolled(name)
        return self.replayed(stored_setup(found.setup, found.face), found)

    def replayed(self, setup: Setup, enrolled: Enrolled, exact: bool = True) -> Core:
        """Return an agent as it is after the last row of its journal; see :attr:`everlearn.durable.core.Core.exact`."""
        core = self.recovered(setup, enrolled, exact)
        with errors(self.path):
            for entry in self.rows(core.number, core.seq + 1):
                self._apply(core, entry)
        return core

    def _apply(self, core: Core, entry: Entry) -> None:
        try:
            core.apply(entry)
        except Corrupt as error:
            remedy = f"see what can be saved with: everlearn check {self.directory}"
            raise Corrupt(f"{self.path}: table journal: agent {core.number}: {error}; {remedy}") from None

    def recovered(self, setup: Setup, enrolled: Enrolled, exact: bool = True) -> Core:
        """Return an agent as it was at its newest snapshot that is whole, or at the last change, if that was later."""
        number, changed = enrolled.number, enrolled.changed or 0
        with errors(self.path):
            for snapshot in self.stored(number):
                if snapshot.seq < changed:
                    break
                core = self._restored(setup, number, snapshot, exact)
                if core is not None:
                    return core
            core = _made(setup, number, exact)
            if changed:
                self._resume(core, changed)
        return core  # without a change the journal must reach back to its first row, which replay sees

    def _resume(self, core: Core, changed: int) -> None:
        entry = next(self.rows(core.number, changed, 1), None)
        if entry is None or (entry.seq, entry.kind) != (changed, CHANGE):
            remedy = f"see what can be saved with: everlearn check {self.directory}"
            raise Corrupt(f"{self.path}: table journal: agent {core.number}: row {changed} is missing; {remedy}")
        core.resume(entry)

    def _restored(self, setup: Setup, number: int, snapshot: Snapshot, exact: bool) -> Core | None:
        if not snapshot.whole:
            LOG.warning(
                "%s: table snapshots: agent %d: the snapshot at step %s is damaged; an older one is used, and more of "
                "the journal", self.path, number, snapshot.step
            )  # fmt: skip
            return None
        core = _made(setup, number, exact)
        try:
            core.restore(snapshot.seq, json.loads(snapshot.more), snapshot.state)
        except SnapshotError as error:
            raise LiveError(f"{self.path}: snapshot at step {snapshot.step}: {error}") from None
        return core

    def stored(self, agent: int) -> Iterator[Snapshot]:
        """Yield the snapshots of an agent, the newest first."""
        numbers = self.connection.execute("SELECT seq FROM snapshots WHERE agent = ? ORDER BY seq DESC", (agent,))
        for (seq,) in numbers.fetchall():
            row = self.connection.execute("SELECT * FROM snapshots WHERE agent = ? AND seq = ?", (agent, seq))
            found = row.fetchone()
            if found is not None:
                yield Snapshot(*found)

    def snapshots(self, agent: int) -> list[dict[str, Any]]:
        """Return what snapshots there are of an agent, the oldest first."""
        query = "SELECT step, seq, at, length(state) FROM snapshots WHERE agent = ? ORDER BY seq"
        with errors(self.path):
            found = self.connection.execute(query, (agent,)).fetchall()
        return [dict(zip(("step", "seq", "at", "bytes"), row, strict=True)) for row in found]

    def snapshot_at(self, agent: int, step: int) -> Snapshot:
        """Return the snapshot of a step, the latest of these."""
        query = "SELECT * FROM snapshots WHERE agent = ? AND step = ? ORDER BY seq DESC"
        with errors(self.path):
            row = self.connection.execute(query, (agent, step)).fetchone()
        if row is None:
            known = ", ".join(str(snapshot["step"]) for snapshot in self.snapshots(agent)[-12:])
            raise LiveError(f"step: there is no snapshot at step {step}; there are at {known}")
        found = Snapshot(*row)
        if not found.whole:
            raise Corrupt(f"{self.path}: table snapshots: agent {agent}: the snapshot at step {step} is damaged")
        return found

    def rows(self, agent: int, first: int = 1, limit: int = -1) -> Iterator[Entry]:
        """Yield rows of an agent's journal in order, from number ``first`` on."""
        query = f"SELECT {COLUMNS} FROM journal WHERE agent = ? AND seq >= ? ORDER BY seq LIMIT ?"  # noqa: S608
        for row in self.connection.execute(query, (agent, first, limit)):
            yield Entry(*row)

    def recorded(self, agent: int, step: int) -> Entry | None:
        """Return the row of an observation by its step, as far as the journal reaches."""
        query = (
            f"SELECT {COLUMNS} FROM journal WHERE agent = ? AND seq >= ? AND step = ? AND kind < 2 "  # noqa: S608
            "ORDER BY seq LIMIT 1"  # rows are numbered no lower than steps, and hardly higher
        )
        with errors(self.path):
            row = self.connection.execute(query, (agent, step, step)).fetchone()
        return None if row is None else Entry(*row)


def _made(setup: Setup, number: int, exact: bool) -> Core:
    core = Core(setup, number)
    core.exact = exact
    return core
