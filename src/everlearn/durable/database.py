"""Opening the file in DIR, to write or only to read; errors of SQLite in the terms of this project; changing files.

A file that was made anew, by a repair or a migration, is put in the place of the old one so that a crash at any moment
leaves one or the other: it is complete once it is called ``everlearn.db.new``, and whoever opens the directory next
finishes what was begun.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everlearn.errors import Corrupt, LiveError, StoreFull
from everlearn.files import sync_directory

FILE = "everlearn.db"
NEW = "everlearn.db.new"
BEFORE = "everlearn.db.before-"
BESIDE = ("-wal", "-shm")
"""The files that SQLite keeps beside the database."""

PATIENCE = 10.0
"""For how many seconds a lock of SQLite is waited for: a reader that just closes, a backup that begins."""


def is_begun(directory: Path) -> bool:
    """Tell whether there is a store in a directory, whole or not."""
    try:
        return any((directory / name).exists() for name in (FILE, NEW, f"{FILE}-wal"))
    except OSError:  # a name that no file can have
        return False


def connect(path: Path) -> sqlite3.Connection:
    """Open a database in which a commit is on disk when it returns."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a database that another process may be writing to; nothing can be changed through this."""
    if not path.is_file():
        raise LiveError(f"{path}: there is no such file")
    address = f"{path.resolve().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)


@contextmanager
def errors(path: Path) -> Iterator[None]:
    """Say in the terms of this project what SQLite raises."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path) from error
    except UnicodeDecodeError:  # names of tables that are damaged, in a message of SQLite
        raise Corrupt(
            f"{path}: what is in it is no text; see what can be saved with: everlearn check {path.parent}"
        ) from None
    except OverflowError:
        raise LiveError(f"{path}: a number is larger than it can hold") from None


def translated(error: sqlite3.Error, path: Path) -> LiveError:
    """Return the error of this project for one of SQLite."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code & 0xFF == sqlite3.SQLITE_FULL or code in (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC):
        remedy = "nothing was changed: make room, and try the same again"
        return StoreFull(f"{path}: the disk is full or cannot be written ({error}); {remedy}")
    if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, sqlite3.DataError):
        return Corrupt(f"{path}: {error}; see what can be saved with: everlearn check {path.parent}")
    return LiveError(f"{path}: {error}")


def put_in_place(directory: Path) -> Path | None:
    """Let a complete new file take the place of the old one; return what the old one is called now.

    Where there is none there is nothing to do.  Killed at any moment, the same again finishes it: the write-ahead log
    is moved before the database that it belongs to, and that before the new one takes its name.
    """
    new, present = directory / NEW, directory / FILE
    if not new.exists():
        return None
    before = _unused(directory)
    if present.exists():
        for suffix in BESIDE:
            _move(directory / f"{FILE}{suffix}", directory / f"{before.name}{suffix}")
        _move(present, before)
    _move(new, present)
    return before


def _unused(directory: Path) -> Path:
    number = 1
    while (directory / f"{BEFORE}{number}").exists():
        number += 1
    return directory / f"{BEFORE}{number}"


def _move(source: Path, target: Path) -> None:
    if source.exists():
        source.replace(target)
        sync_directory(source.parent)


def remove(path: Path) -> None:
    """Remove a database and what SQLite keeps beside it: what an interrupted attempt left."""
    for suffix in ("", *BESIDE):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def sync(path: Path) -> None:
    """See that what is in a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    sync_directory(path.parent)
