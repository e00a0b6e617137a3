"""The store: one directory, one SQLite file in it, many agents, one journal.

A commit is on disk when it returns: write-ahead log, full synchronisation.  Rows of many agents can be committed
together.  One process at a time holds the directory.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from everlearn._version import __version__
from everlearn.errors import Corrupt, LiveError, SnapshotError, StoreFull
from everlearn.files import make_folder
from everlearn.live.core import Core
from everlearn.live.entry import Entry
from everlearn.live.setup import Setup, reopened
from everlearn.locks import working

FILE = "everlearn.db"
SCHEMA = 1

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE agents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, setup TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE journal (
    agent INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL, step INTEGER NOT NULL, mode INTEGER NOT NULL,
    at REAL NOT NULL, state INTEGER NOT NULL, allowed BLOB, proposed INTEGER, executed INTEGER, observation INTEGER,
    reward REAL, following INTEGER NOT NULL, payload BLOB, PRIMARY KEY (agent, seq)
) WITHOUT ROWID;
CREATE TABLE snapshots (
    agent INTEGER NOT NULL, seq INTEGER NOT NULL, step INTEGER NOT NULL, at REAL NOT NULL, more TEXT NOT NULL,
    state BLOB NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (agent, seq)
);
"""

_INSERT = f"INSERT INTO journal VALUES ({','.join('?' * (1 + len(Entry._fields)))})"
_COLUMNS = ", ".join(Entry._fields)


class Store:
    """A directory of durable agents, held by this process until it is closed.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.live.setup import make_setup
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
        self.directory = Path(directory)
        self._held = ExitStack()
        make_folder(self.directory)
        self._held.enter_context(working(self.directory))
        try:
            self.connection = connect(self.directory / FILE)
            self._held.callback(self.connection.close)
            with self._errors():
                self._begin()
        except BaseException:
            self._held.close()
            raise

    def _begin(self) -> None:
        found = self.connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0]
        if not found:
            versions = f"INSERT INTO meta VALUES ('schema', '{SCHEMA}'), ('everlearn', '{__version__}');"
            self.connection.executescript(f"BEGIN; {TABLES} {versions} COMMIT;")

    def close(self) -> None:
        """Let go of the directory."""
        self._held.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def names(self) -> list[str]:
        """Return the names of the agents."""
        return [name for (name,) in self.connection.execute("SELECT name FROM agents ORDER BY name")]

    def create(self, name: str, setup: Setup) -> Core:
        """Make a new agent; it is on disk when this returns."""
        core = Core(setup)
        with self.transaction() as run:
            if run("SELECT 1 FROM agents WHERE name = ?", (name,)).fetchone():
                raise LiveError(f"{self.directory}: there is an agent {name!r} already")
            made = run("INSERT INTO agents (name, setup, created) VALUES (?,?,?)", (name, setup.encoded(), time.time()))
            core.number = made.lastrowid or 0
            self._put_snapshot(run, core)
        return core

    def open(self, name: str, given: dict[str, Any] | None = None) -> Core:
        """Return an agent as it was after the last row of its journal."""
        with self._errors():
            row = self.connection.execute("SELECT id, setup FROM agents WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise LiveError(f"{self.directory}: there is no agent {name!r}")
        core = Core(reopened(row[1], given or {}))
        core.number = row[0]
        self._recover(core)
        return core

    def _recover(self, core: Core) -> None:
        seq, more, state, digest = self.connection.execute(
            "SELECT seq, more, state, sha256 FROM snapshots WHERE agent = ? ORDER BY seq DESC LIMIT 1", (core.number,)
        ).fetchone()
        if hashlib.sha256(more.encode() + state).hexdigest() != digest:
            raise Corrupt(f"{self.directory / FILE}: snapshot at row {seq} of agent {core.number} is damaged")
        try:
            core.restore(seq, json.loads(more), state)
        except SnapshotError as error:
            raise LiveError(str(error)) from None
        for entry in self.rows(core.number, seq + 1):
            core.apply(entry)

    def rows(self, agent: int, first: int = 1) -> Iterator[Entry]:
        """Yield the rows of an agent's journal in order."""
        query = f"SELECT {_COLUMNS} FROM journal WHERE agent = ? AND seq >= ? ORDER BY seq"  # noqa: S608
        for row in self.connection.execute(query, (agent, first)):
            yield Entry(*row)

    def recorded(self, agent: int, step: int) -> Entry | None:
        """Return the row of an observation by its step, as far as the journal reaches."""
        query = f"SELECT {_COLUMNS} FROM journal WHERE agent = ? AND step = ? AND kind < 2"  # noqa: S608
        row = self.connection.execute(query, (agent, step)).fetchone()
        return None if row is None else Entry(*row)

    def append(self, entries: Iterable[tuple[int, Entry]], snapshots: Iterable[Core] = ()) -> None:
        """Commit rows of any agents, and snapshots, in one transaction: when this returns they are on disk."""
        listed, taken = list(entries), list(snapshots)
        if len(listed) == 1 and not taken:
            with self._errors():
                self.connection.execute(_INSERT, (listed[0][0], *listed[0][1]))
            return
        with self.transaction() as run:
            self.connection.executemany(_INSERT, ((agent, *entry) for agent, entry in listed))
            for core in taken:
                self._put_snapshot(run, core)

    def _put_snapshot(self, run: Any, core: Core) -> None:
        more, state = core.dump()
        text = json.dumps(more)
        digest = hashlib.sha256(text.encode() + state).hexdigest()
        row = (core.number, core.seq, core.step, time.time(), text, state, digest)
        run("INSERT OR REPLACE INTO snapshots VALUES (?,?,?,?,?,?,?)", row)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Commit at the end, or nothing at all; yields what executes statements."""
        with self._errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection.execute
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Say in the terms of this project what SQLite raises."""
        try:
            yield
        except sqlite3.Error as error:
            raise translated(error, self.directory / FILE) from error


def connect(path: Path) -> sqlite3.Connection:
    """Open a database in which a commit is on disk when it returns."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def translated(error: sqlite3.Error, path: Path) -> LiveError:
    """Return the error of this project for one of SQLite."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"{path}: the disk is full; nothing was changed: make room, and try the same again")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Corrupt(f"{path}: {error}; see what can be saved with: everlearn check {path.parent}")
    return LiveError(f"{path}: {error}")
