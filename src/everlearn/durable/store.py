"""The store: one directory, one SQLite file in it, many agents, one journal.

A commit is on disk when it returns: write-ahead log, full synchronisation.  Rows of many agents can be committed
together.  One process at a time holds the directory.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from everlearn.durable.changes import Change
from everlearn.durable.core import Core
from everlearn.durable.database import FILE, NEW, connect, errors, put_in_place, remove, sync
from everlearn.durable.entry import Entry
from everlearn.durable.migration import migrate
from everlearn.durable.reader import Enrolled, Reader, Snapshot
from everlearn.durable.reopening import earlier, reopened
from everlearn.durable.schema import INSERT_AGENT, INSERT_ROW, INSERT_SNAPSHOT, SCHEMA, begin, digest, version
from everlearn.durable.setup import Setup
from everlearn.durable.wal import refuse_damage
from everlearn.errors import Changed, Corrupt, LiveError, SnapshotError, require
from everlearn.files import make_folder
from everlearn.locks import working

NEWEST = 3
"""How many of the newest snapshots can be recovered from: the journal is kept from the oldest of these on."""

Execute = Callable[..., sqlite3.Cursor]


class Store(Reader):
    """A directory of durable agents, held by this process until it is closed.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.setup import make_setup
    >>> store = Store(tempfile.mkdtemp())
    >>> core = store.create("station", make_setup(task="service-station", seed=1))
    >>> core.act()
    'fast'
    >>> entry = core.prepare("arrival")
    >>> store.append([(core.number, entry)])
    >>> core.apply(entry)
    >>> store.names()
    ['station']
    >>> store.close()

    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._held = ExitStack()
        try:
            make_folder(Path(directory))
            self._held.enter_context(working(Path(directory)))
        except (OSError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else str(error)
            raise LiveError(f"{os.fspath(directory)!r} cannot be used ({what}); give another directory") from None
        try:
            super().__init__(directory)
        except BaseException:
            self._held.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        put_in_place(self.directory)
        with errors(self.path):
            if not self.path.exists():
                self._make()
            refuse_damage(self.path)
            return connect(self.path)

    def _make(self) -> None:
        """Make the file, whole or not at all, so that one without tables is known to be damaged."""
        if self.path.with_name(f"{FILE}-wal").exists():
            raise Corrupt(f"{self.path}: it is gone, and its write-ahead log is there; put it back, or a backup")
        made = self.directory / f"{NEW}.part"
        remove(made)
        fresh = connect(made)
        begin(fresh)
        fresh.close()
        sync(made)
        made.replace(self.directory / NEW)
        put_in_place(self.directory)

    def _begin(self) -> None:
        found = version(self.connection)
        if found is None:
            raise Corrupt(f"{self.path}: there are no tables in it; put a backup in its place")
        if found == 1:
            self.connection.close()
            migrate(self.directory, found)
            self.connection = connect(self.directory / FILE)
        else:
            self._refuse(found)
            if found < SCHEMA:
                self.connection.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(SCHEMA),))

    @cached_property
    def cursor(self) -> sqlite3.Cursor:
        """What rows are written through."""
        return self.connection.cursor()

    def close(self) -> None:
        """Let go of the directory."""
        if getattr(self, "connection", None) is not None:
            super().close()
        self._held.close()

    def create(self, name: str, setup: Setup) -> Core:
        """Make a new agent; it is on disk when this returns."""
        Core(setup)  # what cannot be made is refused before anything is written
        with self.transaction() as run:
            if run("SELECT 1 FROM agents WHERE name = ?", (name,)).fetchone():
                raise LiveError(f"{self.directory}: there is an agent {name!r} already")
            number = run("SELECT coalesce(max(id), 0) + 1 FROM agents").fetchone()[0]
            row = Enrolled(number, name, setup.encoded(), setup.face(), time.time(), "")
            run(INSERT_AGENT, (*row[:-1], digest(*row[:-1])))
            core = Core(setup, number)
            _insert_snapshot(run, core)
        return core

    def open(
        self, name: str, given: dict[str, Any] | None = None, *, accept: bool = False, remedy: str | None = None
    ) -> Core:
        """Return an agent as it was after the last row of its journal, ready to go on.

        Parameters
        ----------
        name:
            which agent
        given:
            arguments of :func:`everlearn.durable.setup.make_setup`: objects, which are not stored, and what must agree
        accept:
            whether what the agent depends on may have changed; the change is then written to its journal
        remedy:
            how a change is accepted, to be told to whoever did not

        """
        enrolled = self.enrolled(name)
        found = reopened(enrolled.setup, enrolled.face, given or {})
        if found.changes:
            self._refuse_changes(found.changes, accept, remedy or f"to accept this: everlearn accept {self.directory}")
            return self._accepted(enrolled, found.setup, found.changes)
        core = self.replayed(found.setup, enrolled)
        if not found.recorded:
            with self.transaction() as run:
                _update(run, enrolled._replace(face=found.setup.face()))
        return core

    def _refuse_changes(self, changes: list[Change], accept: bool, remedy: str) -> None:
        final = [change.words for change in changes if change.final]
        if final:
            raise Changed(str(self.directory), final, "what the agent knows does not fit; use a new directory")
        if not accept:
            raise Changed(str(self.directory), [change.words for change in changes], remedy)

    def _accepted(self, enrolled: Enrolled, setup: Setup, changes: list[Change]) -> Core:
        """Let an agent resume with another setup; all of it is written in one transaction."""
        former = earlier(enrolled.setup, enrolled.face, setup)
        exact = not (former.has_own_design and any(change.learning for change in changes))
        since = None if exact else self.recovered(former, enrolled, exact).step
        past, core = self.replayed(former, enrolled, exact), Core(setup, enrolled.number)
        try:
            core.take_over(past)
        except SnapshotError as error:
            words = [change.words for change in changes]
            raise Changed(str(self.directory), words, f"what the agent knows does not fit: {error}") from None
        entry = core.change([change.words for change in changes], since if since != past.step else None)
        core.apply(entry)
        with self.transaction() as run:
            _update(run, enrolled._replace(setup=setup.encoded(), face=setup.face(changed=entry.seq)))
            run(INSERT_ROW, (core.number, *entry))
            _insert_snapshot(run, core)
            _thin_out(run, core)
        core.snapped()
        return core

    def delete(self, name: str) -> None:
        """Remove an agent and everything that is recorded of it."""
        number = self.enrolled(name).number
        with self.transaction() as run:
            run("DELETE FROM journal WHERE agent = ?", (number,))
            run("DELETE FROM snapshots WHERE agent = ?", (number,))
            run("DELETE FROM agents WHERE id = ?", (number,))

    def append(self, entries: Iterable[tuple[int, Entry]], snapshots: Iterable[Core] = ()) -> None:
        """Commit rows of any agents, and snapshots, in one transaction: when this returns they are on disk."""
        listed, taken = list(entries), list(snapshots)
        if len(listed) == 1 and not taken:
            self.append_one(*listed[0])
            return
        with self.transaction() as run:
            self.connection.executemany(INSERT_ROW, ((agent, *entry) for agent, entry in listed))
            for core in taken:
                _insert_snapshot(run, core)
                _thin_out(run, core)
        for core in taken:
            core.snapped()

    def append_one(self, agent: int, entry: Entry) -> None:
        """Commit one row, which SQLite does by itself; what happens at every step has no ceremony."""
        try:
            self.cursor.execute(INSERT_ROW, (agent, *entry))
        except (sqlite3.Error, OverflowError):
            with errors(self.path):
                raise

    def roll_back(self, core: Core, step: int) -> Entry:
        """Return the entry of going back to the snapshot of a step; it is yet to be appended and applied."""
        state = self.snapshot_at(core.number, step).state
        try:
            return core.roll_back(state)
        except SnapshotError as error:
            since = f"; give step {core.changed['step']} or a later one" if core.changed else ""
            raise LiveError(f"step: {step}; {error}{since}") from None

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """Commit at the end, or nothing at all; yields what executes statements."""
        with errors(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection.execute
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


def _update(run: Execute, row: Enrolled) -> None:
    seal = digest(*row[:-1])
    run("UPDATE agents SET setup = ?, face = ?, sha256 = ? WHERE id = ?", (row.setup, row.face, seal, row.number))


def _insert_snapshot(run: Execute, core: Core) -> None:
    more, state = core.dump()
    number = run("SELECT coalesce(max(number), -1) + 1 FROM snapshots WHERE agent = ?", (core.number,)).fetchone()[0]
    row = Snapshot(core.number, core.seq, number, core.step, time.time(), json.dumps(more), state, "")
    run(INSERT_SNAPSHOT, (*row[:-1], digest(*row[:-1])))


def _thin_out(run: Execute, core: Core) -> None:
    """Remove snapshots that are crowded, and rows of the journal that are not to be retained."""
    listed = run("SELECT number, seq FROM snapshots WHERE agent = ? ORDER BY number", (core.number,)).fetchall()
    newest = listed[-1][0]
    for number, seq in listed:
        if not is_kept(number, newest):
            run("DELETE FROM snapshots WHERE agent = ? AND seq = ?", (core.number, seq))
    if core.setup.retain is not None:
        needed = [seq for number, seq in listed if is_kept(number, newest)][-NEWEST:]
        bound = (core.number, needed[0], core.step - core.setup.retain)
        run("DELETE FROM journal WHERE agent = ? AND seq <= ? AND step <= ?", bound)


def is_kept(number: int, newest: int) -> bool:
    """Tell whether a snapshot is kept: the first, the newest four, and of older ones ever fewer.

    Snapshot n, counted from 0, is kept while fewer than 4 times its greatest power of two have come after it.

    Examples
    --------
    >>> [number for number in range(101) if is_kept(number, 100)]
    [0, 32, 48, 64, 72, 80, 88, 92, 94, 96, 97, 98, 99, 100]

    """
    require(number <= newest, "number", number, "there is none so new")
    return number == 0 or newest - number < 4 * (number & -number)
