"""The store: one directory with one SQLite file, in which many agents share a journal.

A commit is on disk when it returns: write-ahead log, full synchronisation.  Rows of many agents can be committed
together.  One process at a time holds the directory.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from typing import Any

from everlearn.durable import database, heads, notes
from everlearn.durable.changes import Change, former_setup, refusal, reopen
from everlearn.durable.core import Core
from everlearn.durable.descriptors import fork_mark
from everlearn.durable.entry import Entry, Kind
from everlearn.durable.layout import refuse_experiment, refuse_shards
from everlearn.durable.promotion import Rule
from everlearn.durable.reader import Reader
from everlearn.durable.records import AgentRecord, SnapshotRecord
from everlearn.durable.setup import Setup
from everlearn.durable.wal import cut, frames_in_use, refuse_damage
from everlearn.errors import AgentError, Changed, Corrupt, LiveError, SnapshotError, UserCodeError
from everlearn.files import expanded, make_folder
from everlearn.locks import working

NEWEST = 3
"""From how many of the newest snapshots an agent can be recovered: the journal is kept from the oldest of these on."""

EVERY = 64
"""After how many rows the length of the write-ahead log is measured, which takes a dozen calls of the system."""

LOG = logging.getLogger("everlearn.durable")

OF_AGENTS = ("journal", "snapshots", "heads")
"""The tables that have the number of an agent in their first column."""

Execute = Callable[..., sqlite3.Cursor]


class Store(Reader):
    """A directory of durable agents, held by this process until it is closed."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._held, self._process = ExitStack(), os.getpid()
        self._last: dict[int, int] = {}  # the last rows of agents, as yet unknown to the heads
        self._leftovers = False  # whether a commit that failed may have left frames in the write-ahead log
        self._mark = fork_mark()  # SQLite's locks stay with the process that took them
        directory = expanded(directory)
        refuse_shards(directory)
        refuse_experiment(directory)
        try:
            make_folder(directory, 0o700)
            self._held.enter_context(working(directory, patience=database.PATIENCE))
        except (OSError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else str(error)
            raise LiveError(f"{os.fspath(directory)!r} cannot be used ({what}); give another directory") from None
        try:
            super().__init__(directory)
            with suppress(sqlite3.Error):  # damaged heads are reported with their agents
                self._last.update(heads.behind(self.connection))
        except BaseException:
            self._held.close()
            raise
        self._unmeasured = EVERY  # how many more rows are committed before the log is measured
        self._tried = 0  # the frames of the write-ahead log when it was last copied, unless it has begun again since
        self._end = weakref.finalize(self, _end, self.connection, self._last, self._process)
        self._shorten()

    def _connect(self) -> sqlite3.Connection:
        database.put_in_place(self.directory)
        database.remove_leftovers(self.directory)
        if not self.path.exists():
            if self.path.with_name(f"{database.FILE}-wal").exists():
                raise Corrupt("it is gone, and its write-ahead log is there; put it back, or a backup", self.path)
            with database.new_file(self.directory):
                pass  # complete or not at all, so that a file without tables is known to be damaged
            database.put_in_place(self.directory)
        refuse_damage(self.path)
        return database.connect(self.path)

    def _check_version(self) -> int:
        version = super()._check_version()
        if version < database.SCHEMA:
            with self.transaction() as run:
                heads.migrate(self.connection)
                run("UPDATE meta SET value = ? WHERE key = 'schema'", (str(database.SCHEMA),))
        return database.SCHEMA

    @cached_property
    def cursor(self) -> sqlite3.Cursor:
        """The cursor through which rows are written."""
        return self.connection.cursor()

    def close(self) -> None:
        """Close the file, and release the directory."""
        self._end()
        self._held.close()

    def create(self, name: str, setup: Setup) -> Core:
        """Create an agent; it is on disk when this returns."""
        Core(setup)  # raises before anything is written if it cannot be made
        with self.transaction() as run:
            if (moved := notes.of(self, notes.MOVED, name)) is not None:
                raise LiveError(f"the agent {name!r} was moved to {moved['to']}", self.directory, agent=name)
            if run("SELECT 1 FROM agents WHERE name = ?", (name,)).fetchone():
                raise LiveError(f"there is an agent {name!r} already", self.directory, agent=name)
            number = self.new_number(run)
            heads.write(self.connection, {number: 0})
            run(database.INSERT_AGENT, AgentRecord(number, name, setup.encoded(), setup.face(), time.time()).sealed())
            core = Core(setup, number)
            _insert_snapshot(run, core)
        self._note({})
        return core

    def new_number(self, run: Execute) -> int:
        """Return the number of a new agent; raise if agents were lost, since the new one could take their place."""
        number = int(run("SELECT coalesce(max(id), 0) + 1 FROM agents").fetchone()[0])
        left = any(run(f"SELECT 1 FROM {table} WHERE agent >= ?", (number,)).fetchone() for table in OF_AGENTS)  # noqa: S608
        if left or not self._agrees:
            remedy = database.how_to_repair(self.path)
            raise Corrupt(f"an agent is missing, so that none can be created; {remedy}", self.path, table="agents")
        return number

    @cached_property
    def _agrees(self) -> bool:
        return self.roster().agrees

    def open(
        self, name: str, given: dict[str, Any] | None = None, *, accept: bool = False, remedy: str | None = None
    ) -> Core:
        """Return an agent as of the last row of its journal, ready to resume.

        ``given`` are arguments of :func:`everlearn.durable.setup.make_setup`: objects, which are not stored, and values
        to compare.  A change raises an error that ends with ``remedy``; if it is accepted, it is a row of the journal.
        """
        record = self.enrolled(name)
        if (leaving := notes.read(self, notes.LEAVING).get(name)) is not None:
            problem = f"the agent {name!r} is being moved to {leaving['to']}; complete that first"
            raise LiveError(problem, self.directory, agent=name)
        reopened = reopen(record.setup, record.face, given or {})
        if reopened.changes:
            if not accept or any(change.final for change in reopened.changes):
                raise refusal(self.directory, reopened.changes, remedy)
            return self._accept(record, reopened.setup, reopened.changes)
        core = self.replayed(reopened.setup, record)
        if not reopened.recorded:
            self.record_face(record, core)
        return core

    def record_face(self, record: AgentRecord, core: Core) -> None:
        """Store the fingerprint of an agent of an earlier version, so that changes of it are noticed from now on."""
        with self.transaction() as run:
            _update(run, record._replace(face=core.setup.face()))

    def _accept(self, record: AgentRecord, setup: Setup, changes: list[Change]) -> Core:
        """Let an agent resume with another setup; all of it is written in one transaction."""
        words = [change.words for change in changes]
        former = former_setup(record.setup, record.face, setup)
        exact = not (former.has_own_design and any(change.learning for change in changes))
        try:
            since = None if exact else self.recovered(former, record, exact).step
            past, core = self.replayed(former, record, exact), Core(setup, record.number)
        except (AgentError, UserCodeError) as error:
            what = f"{self.directory}: not accepted, since the journal cannot be replayed with the change: {error}"
            data = {name: getattr(error, name, None) or "" for name in ("frames", "function", "at")}
            raise UserCodeError(what, **data) from (error.__cause__ or error)
        try:
            core.restore(past.snapshot(), exact=False)
        except SnapshotError as error:
            keys = [change.key for change in changes]
            remedy = f"what the agent knows does not fit: {error}"
            raise Changed(str(self.directory), words, remedy, keys) from None
        if former.promotion != setup.promotion or any(change.task for change in changes):
            core.rearm()
        entry = core.change(words, since if since != past.step else None)
        core.apply(entry)
        with self.transaction() as run:
            _update(run, record._replace(setup=setup.encoded(), face=setup.face(changed=entry.seq)))
            run(database.INSERT_ROW, (core.number, *entry))
            _insert_snapshot(run, core)
            _thin_out(run, core)
        core.note_snapshot()
        self._note({core.number: entry.seq})
        return core

    def arm(self, name: str, core: Core, entry: Entry, rule: Rule | None) -> None:
        """Store the promotion rule of an agent, and the row of it that ``Core.arm`` returned; it is then applied."""
        setup = core.setup.with_promotion(rule)
        with self.transaction() as run:
            _update(run, self.enrolled(name)._replace(setup=setup.encoded()))
            run(database.INSERT_ROW, (core.number, *entry))
        self._note({core.number: entry.seq})
        core.setup = setup

    def delete(self, name: str, note: Callable[[Execute], None] = lambda _run: None) -> None:
        """Delete an agent and everything that is recorded of it; ``note`` writes more in the same transaction."""
        number = self.enrolled(name).number
        with self.transaction() as run:
            for table in OF_AGENTS:
                run(f"DELETE FROM {table} WHERE agent = ?", (number,))  # noqa: S608 - no input in it
            run("DELETE FROM agents WHERE id = ?", (number,))
            run("DELETE FROM meta WHERE key = ?", (f"{heads.WITHOUT}{number}",))
            note(run)
        self._last.pop(number, None)
        self._note({})

    def append(self, entries: Iterable[tuple[int, Entry]], snapshots: Iterable[Core] = ()) -> None:
        """Commit rows of any agents, and snapshots, in one transaction; they are on disk when this returns."""
        rows, cores = list(entries), list(snapshots)
        if len(rows) == 1 and not cores:
            self.append_one(*rows[0])
            return
        with self.transaction(_untold(rows)) as run:
            self.connection.executemany(database.INSERT_ROW, [(agent, *entry) for agent, entry in rows])
            for core in cores:
                _insert_snapshot(run, core)
                _thin_out(run, core)
        for core in cores:
            core.note_snapshot()
        self._last.update({agent: entry.seq for agent, entry in rows})
        self._unmeasured -= len(rows)
        if cores or self._unmeasured <= 0 or any(_is_long(entry) for _, entry in rows):
            self._shorten()

    def append_one(self, agent: int, entry: Entry) -> None:
        """Commit one row; SQLite does that without a transaction of ours, which is faster."""
        if not self._mark[0] or self._leftovers:
            self._require_ready(_untold([(agent, entry)]))
        try:
            self.cursor.execute(database.INSERT_ROW, (agent, *entry))
        except (sqlite3.Error, OverflowError) as error:
            self._leftovers |= isinstance(error, sqlite3.OperationalError)
            with database.errors(self.path, _untold([(agent, entry)])):
                raise
        self._last[agent] = entry.seq
        self._unmeasured -= 1
        if self._unmeasured <= 0 or _is_long(entry):
            self._shorten()

    def _note(self, last: dict[int, int]) -> None:
        """Note what was committed; copy the write-ahead log to the database if it is long."""
        self._last.update(last)
        self._shorten()

    def _shorten(self) -> None:
        """Copy the write-ahead log to the database if it is long; the next commit then begins it again.

        If a reader prevents that, it is tried again when the log is longer by as much.  Nothing that goes wrong here
        is raised: what was committed is on disk, and whoever committed it must not take it for lost.
        """
        self._unmeasured = EVERY
        try:
            frames = frames_in_use(self.path)
        except OSError as error:
            LOG.warning("%s: the length of its log cannot be measured: %s", self.path, error)
            return
        if frames < self._tried:  # it has begun again
            self._tried = 0
        if frames > self._tried + database.LOG_FRAMES:
            self._tried = frames
            self._checkpoint()

    def _checkpoint(self) -> None:
        """Copy the write-ahead log to the database, as far as readers permit; everything is on disk without that."""
        try:
            _write_heads(self.connection, self._last)
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            self._leftovers = True
            LOG.warning("%s: no checkpoint: %s", self.path, error)

    def _cut_leftovers(self, untold: str) -> None:
        """Cut off the log what failed commits left behind its last frame.

        After a power cut, the leftovers of two would look like commits that cannot be read.  So nothing is committed
        until they are cut off, except heads.
        """
        with database.errors(self.path, untold):
            _write_heads(self.connection, self._last)
            _, frames, _ = self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if frames >= 0:  # otherwise another checkpoint is under way
                (page,) = self.connection.execute("PRAGMA page_size").fetchone()
                cut(self.path, frames, page)
                self._leftovers = False

    def roll_back(self, core: Core, step: int, seq: int | None = None) -> Entry:
        """Return the entry that rolls an agent back to a snapshot, yet to be appended and applied.

        ``seq`` says which snapshot of the step is meant, as in :meth:`snapshot_at`.
        """
        state = self.snapshot_at(core.number, step, seq).state
        try:
            return core.roll_back(state)
        except SnapshotError as error:
            since = f"; give step {core.changed['step']} or a later one" if core.changed else ""
            raise LiveError(f"step: {step}; {error}{since}", step=step) from None

    def _require_ready(self, untold: str) -> None:
        """Raise in a forked child: SQLite's locks stay with the process that opened the file; cut off leftovers."""
        if not self._mark[0]:
            raise LiveError("the process that this one was forked from has it open; close it first", self.directory)
        if self._leftovers:
            self._cut_leftovers(untold)

    @contextmanager
    def transaction(self, untold: str = database.UNTOLD) -> Iterator[Execute]:
        """Yield a function that executes statements; commit them at the end, or none of them."""
        self._require_ready(untold)
        with database.errors(self.path, untold):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection.execute
                self.connection.execute("COMMIT")
            except BaseException as error:
                self._leftovers |= isinstance(error, sqlite3.OperationalError)
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


def _is_long(entry: Entry) -> bool:
    """Return whether a row can fill many pages of the log, as that of a rollback does."""
    return entry.payload is not None and not entry.is_observation


def _untold(rows: list[tuple[int, Entry]]) -> str:
    """Return what to do if it is unknown whether rows were recorded: those of a step can be repeated by its number."""
    repeatable = rows and all(entry.kind in (Kind.OBSERVED, Kind.REWARD) for _, entry in rows)
    return database.UNTOLD_STEP if repeatable else database.UNTOLD


def _write_heads(connection: sqlite3.Connection, last: dict[int, int]) -> None:
    """Write the last rows of agents in a transaction of their own, and forget them."""
    if last:
        connection.execute("BEGIN IMMEDIATE")
        try:
            heads.write(connection, last)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        last.clear()


def _end(connection: sqlite3.Connection, last: dict[int, int], process: int) -> None:
    """Close the file of a store that is closed, forgotten, or left open at the end of its process."""
    if os.getpid() == process:  # a forked child leaves it to its parent
        with suppress(sqlite3.Error):  # SQLite makes a checkpoint all the same
            _write_heads(connection, last)
        connection.close()


def _update(run: Execute, record: AgentRecord) -> None:
    number, _, setup, face, _, sha256 = record.sealed()
    run("UPDATE agents SET setup = ?, face = ?, sha256 = ? WHERE id = ?", (setup, face, sha256, number))


def _insert_snapshot(run: Execute, core: Core) -> None:
    number = run("SELECT coalesce(max(number), -1) + 1 FROM snapshots WHERE agent = ?", (core.number,)).fetchone()[0]
    run(database.INSERT_SNAPSHOT, SnapshotRecord.taken(core.number, number, core.snapshot()))


def _thin_out(run: Execute, core: Core) -> None:
    """Delete crowded snapshots, and the rows of the journal that need not be retained."""
    snapshots = run("SELECT number, seq FROM snapshots WHERE agent = ? ORDER BY number", (core.number,)).fetchall()
    newest = snapshots[-1][0]
    for number, seq in snapshots:
        if not is_kept(number, newest):
            run("DELETE FROM snapshots WHERE agent = ? AND seq = ?", (core.number, seq))
    if core.setup.retain is not None:
        needed = [seq for number, seq in snapshots if is_kept(number, newest)][-NEWEST:]
        bound = (core.number, needed[0], core.step - core.setup.retain)
        run("DELETE FROM journal WHERE agent = ? AND seq <= ? AND step <= ?", bound)


def is_kept(number: int, newest: int) -> bool:
    """Return whether a snapshot is kept: the first, the newest four, and ever fewer of the older ones.

    Snapshot n, counted from 0, is kept while fewer than 4 times its greatest power of two have come after it.
    """
    return number == 0 or newest - number < 4 * (number & -number)
