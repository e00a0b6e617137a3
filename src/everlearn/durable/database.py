"""The SQLite file of a directory: its tables, how it is opened, its errors, and how a new file replaces it.

A new file, for a new directory or from a repair, replaces the old one safely: a crash at any moment leaves one or the
other.  The new file is complete once it is called ``everlearn.db.new``; whoever opens the directory next finishes the
replacement.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from everlearn._version import __version__
from everlearn.durable import descriptors
from everlearn.durable.entry import Entry
from everlearn.errors import Absent, Corrupt, LiveError, StoreFull, Unsynced
from everlearn.files import FULL, sync_directory

FILE = "everlearn.db"
NEW = "everlearn.db.new"
BEFORE = "everlearn.db.before-"
BESIDE = ("-wal", "-shm")
"""The suffixes of the files that SQLite keeps beside the database."""

PATIENCE = 10.0
"""For how many seconds to wait for a lock of SQLite, or of readers of a long log: a reader that is closing, a backup
that starts."""

LOG_FRAMES = 1000
"""After how many frames (pages) the write-ahead log is copied to the database, as SQLite does by default."""

SCHEMA = 4
"""The version of the tables.  Version 2 had no fingerprint of most agents and no rows of changes, version 3 had no
heads; both are still read."""

READABLE = (2, 3, SCHEMA)

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE agents (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, setup TEXT NOT NULL, face TEXT, created REAL NOT NULL,
    sha256 TEXT NOT NULL
);
CREATE TABLE journal (
    agent INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL, step INTEGER NOT NULL, mode INTEGER NOT NULL,
    at REAL NOT NULL, state INTEGER NOT NULL, allowed BLOB, proposed INTEGER, executed INTEGER, observation INTEGER,
    reward REAL, following INTEGER NOT NULL, payload BLOB, "check" INTEGER NOT NULL, PRIMARY KEY (agent, seq)
) WITHOUT ROWID;
CREATE TABLE snapshots (
    agent INTEGER NOT NULL, seq INTEGER NOT NULL, number INTEGER NOT NULL, step INTEGER NOT NULL, at REAL NOT NULL,
    more TEXT NOT NULL, state BLOB NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (agent, seq)
);
"""
HEADS = "CREATE TABLE heads (agent INTEGER PRIMARY KEY, seq INTEGER NOT NULL, seal INTEGER NOT NULL)"
"""See :mod:`everlearn.durable.heads`."""

UNKNOWN = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)
"""The errors after which nobody knows what is on disk: it was written, and could not be synchronised."""

NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
"""The errors of a full disk; the last is that of the index of a log."""

UNTOLD = "whether this was recorded is unknown: look at the journal before you repeat it"
UNTOLD_STEP = "whether this was recorded is unknown: repeat it with its step number, observe(..., step=N), to be safe"
NOT_YOURS = "copy the directory, or run this as its owner"
UNCHANGED = "nothing was changed: make room, and try the same again"

COLUMNS = ", ".join(f'"{name}"' for name in Entry._fields)
INSERT_ROW = f"INSERT INTO journal VALUES ({', '.join('?' * (1 + len(Entry._fields)))})"  # noqa: S608 - no input in it
INSERT_AGENT = "INSERT INTO agents VALUES (?,?,?,?,?,?)"
INSERT_SNAPSHOT = "INSERT OR REPLACE INTO snapshots VALUES (?,?,?,?,?,?,?,?)"


def is_begun(directory: Path) -> bool:
    """Return whether a directory has a store, complete or not."""
    try:
        return any((directory / name).exists() for name in (FILE, NEW, f"{FILE}-wal"))
    except OSError:  # a name that no file can have
        return False


def connect(path: Path) -> sqlite3.Connection:
    """Open a database in which a commit is on disk when it returns; only its owner may read the file."""
    with suppress(FileExistsError):  # SQLite gives the files beside it the same mode
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = descriptors.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # heads are written before each checkpoint
        # A log is cut when it begins again, if a reader let it grow to twice its usual length.  It is not cut to its
        # usual length, because to overwrite a file is faster than to let it grow.
        connection.execute(f"PRAGMA journal_size_limit = {2 * LOG_FRAMES * 4096}")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a database read-only; another process may be writing to it."""
    if not path.is_file():
        raise Absent("there is no such file", path)
    address = f"{path.resolve().as_uri()}?mode=ro"
    return descriptors.connect(path, address, timeout=PATIENCE, isolation_level=None)


@contextmanager
def viewed(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database read-only under another name, so that SQLite does not replace the index of its log.

    The index shows whether the end of the log was cut off.  Hold the lock of the directory meanwhile.
    """
    view = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                _link(source, view.with_name(view.name + suffix))
        with closing(connect_to_read(view)) as connection:
            yield connection
    finally:
        remove(view)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        copy(source, target)


def copy(source: Path, target: Path) -> None:
    """Copy the file of a database to another place."""
    with descriptors.reading(source) as file, target.open("wb") as written:
        shutil.copyfileobj(file, written)


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty file."""
    versions = f"INSERT INTO meta VALUES ('schema', '{SCHEMA}'), ('everlearn', '{__version__}');"  # noqa: S608
    connection.executescript(f"BEGIN; {TABLES} {HEADS}; {versions} COMMIT;")
    connection.execute("INSERT INTO meta VALUES ('shape', ?)", (shape(connection),))


def read_version(connection: sqlite3.Connection) -> int | None:
    """Return the version of the tables; None if there are none, zero if the version cannot be read."""
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return None
    version = read_meta(connection, "schema")
    return int(version) if version is not None and version.isdecimal() else 0


def read_meta(connection: sqlite3.Connection, key: str) -> str | None:
    """Return a value of the table ``meta``, if it is there."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def shape(connection: sqlite3.Connection) -> str:
    """Return the digest of how the tables are declared and where they lie.

    A damaged declaration could change what is read, and a table in a wrong place looks empty.  The heads may lie
    anywhere, since each of them is sealed and none may be missing.
    """
    place = "iif(name = 'heads', 0, rootpage)"
    query = f"SELECT type, name, tbl_name, {place}, CAST(sql AS BLOB) FROM sqlite_master ORDER BY rowid"  # noqa: S608
    return hashlib.sha256(repr(connection.execute(query).fetchall()).encode()).hexdigest()


@contextmanager
def errors(path: Path, untold: str = UNTOLD) -> Iterator[None]:
    """Raise the errors of SQLite and of the system as errors of this project, in one line.

    ``untold`` ends the message if the disk could not be synchronised.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error, path, untold) from error
    except UnicodeDecodeError:  # SQLite names a table whose name is damaged
        raise Corrupt(f"it has text that cannot be decoded; {how_to_repair(path)}", path) from None
    except OverflowError:
        raise LiveError("a number is too large to be stored", path) from None
    except OSError as error:
        if error.errno in FULL:
            raise StoreFull(f"the disk is full; {UNCHANGED}", path) from error
        remedy = f"; {NOT_YOURS}" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else ""
        named = error.filename if isinstance(error.filename, str) else path  # it may be the number of an open file
        raise LiveError(f"{error.strerror or error}{remedy}", named) from error


def _translated(error: sqlite3.Error, path: Path, untold: str) -> LiveError:
    code, what = getattr(error, "sqlite_errorcode", 0), " ".join(str(error).split())
    if code in UNKNOWN:
        return Unsynced(f"the disk could not be synchronised ({what}); {untold}", path)
    if code in NO_ROOM:
        return StoreFull(f"the disk is full or cannot be written ({what}); {UNCHANGED}", path)
    damaged = code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or what.startswith("Could not decode")
    if damaged or isinstance(error, sqlite3.DataError):
        return Corrupt(f"{what[:200]}; {how_to_repair(path)}", path)
    remedy = f"; {NOT_YOURS}" if code & 0xFF == sqlite3.SQLITE_READONLY else ""
    return LiveError(f"{what[:200]}{remedy}", path)


def how_to_repair(path: Path) -> str:
    """Return the advice that ends a message about damage."""
    return f"see what can be saved with: everlearn check {path.parent}"


@contextmanager
def new_file(directory: Path, check: Callable[[Path], None] | None = None) -> Iterator[sqlite3.Connection]:
    """Yield a new database to write to; it becomes ``everlearn.db.new`` at the end, unless ``check`` raises."""
    part = directory / f"{NEW}.part"
    remove(part)
    try:
        with closing(connect(part)) as connection:
            create_tables(connection)
            yield connection
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # raises on a full disk, as close() does not
        if check is not None:
            check(part)
        _refuse_log(part)
        sync(part)
        part.replace(directory / NEW)
        sync_directory(directory)  # whoever is told that it is complete may remove what it replaces
    finally:
        remove(part)  # and what SQLite put beside it when it was checked


def _refuse_log(path: Path) -> None:
    """Raise if part of a database is still in its log, which does not move with it."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size > 0:
        raise LiveError("it could not be copied to the database; nothing was changed: try the same again", log)


def put_in_place(directory: Path) -> Path | None:
    """Replace the old file by a complete new one, if there is one; return the new name of the old file.

    After a crash, the same call finishes it: the write-ahead log is moved before the database that it belongs to, and
    that database before the new one takes its name.
    """
    new, present = directory / NEW, directory / FILE
    if not new.exists():
        return None
    number = 1
    while (directory / f"{BEFORE}{number}").exists():
        number += 1
    before = directory / f"{BEFORE}{number}"
    if present.exists():
        for suffix in BESIDE:
            _move(directory / f"{FILE}{suffix}", directory / f"{before.name}{suffix}")
        _move(present, before)
    _move(new, present)
    return before


def _move(source: Path, target: Path) -> None:
    if source.exists():
        source.replace(target)
        sync_directory(source.parent)


def remove(path: Path) -> None:
    """Remove a database and the files that SQLite keeps beside it."""
    for suffix in ("", *BESIDE):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def remove_leftovers(directory: Path) -> None:
    """Remove the unfinished files that killed processes left; hold the lock of the directory meanwhile."""
    for suffix in (".part", ".work"):
        remove(directory / f"{NEW}{suffix}")


def sync(path: Path) -> None:
    """Wait until the contents of a file are on disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    sync_directory(path.parent)
