"""Connections to databases, and reading of their files beside them.

As soon as a process closes any descriptor of a file, it loses all its POSIX locks on that file, also those that SQLite
took through another descriptor.  Another process could then write where this one reads, or take SQLite's index of the
log for a leftover and cut it off.  So a file is read through a descriptor that stays open until the last connection of
this process to its database is closed.  Source: "How To Corrupt An SQLite Database File", Section 2.2,
https://www.sqlite.org/howtocorrupt.html.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

WIPE_ON_FORK = 18
"""The advice to Linux to fill a page with zeros in a forked child; Python has no name for it."""

_File = tuple[int, int]
"""The numbers of a device and of a file on it."""

_lock = threading.RLock()  # a connection may be closed by the garbage collector, at any line below
_kept: dict[_File, list[int]] = {}  # by the file of a database, descriptors that are closed with its last connection
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class Connection(sqlite3.Connection):
    """A connection that is known until it is closed."""

    file: _File | None = None

    def close(self) -> None:
        """Close it, and the descriptors that were kept open for it."""
        with _lock:
            super().close()
            _connections.discard(self)
            _close_kept()


_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


def connect(path: Path, address: str | None = None, **settings: Any) -> Connection:
    """Open a database, by an address of SQLite if one is passed."""
    with _lock:  # no descriptor of the file is closed between this and the first lock
        connection = sqlite3.connect(
            address or path, uri=address is not None, factory=Connection, check_same_thread=False, **settings
        )
        connection.file = _file(path)
        _connections.add(connection)
    return connection


@contextmanager
def reading(path: Path, suffix: str = "") -> Iterator[BinaryIO]:
    """Open the file of a database, or with ``suffix`` one beside it, to read from."""
    handle = os.open(f"{path}{suffix}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        with open(handle, "rb", closefd=False) as file:
            yield file
    finally:
        with _lock:
            key = _file(path)
            if key is None:
                os.close(handle)
            else:
                _kept.setdefault(key, []).append(handle)
            _close_kept()


def _file(path: Path) -> _File | None:
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


def _close_kept() -> None:
    """Close what was kept for databases to which this process has no connection any more."""
    for key in _kept.keys() - {connection.file for connection in _connections}:
        for handle in _kept.pop(key):
            os.close(handle)


def fork_mark() -> mmap.mmap:
    """Return a page whose first byte is 1 in this process, and 0 in every process that is forked from it.

    To read it is faster than to ask for the number of the process.  Where Linux does not fill it with zeros, Python
    does, unless the fork was made by other software.
    """
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page[0] = 1
    with suppress(OSError):
        page.madvise(WIPE_ON_FORK)
    _marks.add(page)
    return page


_marks: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def _wipe() -> None:
    for page in list(_marks):
        page[0] = 0


os.register_at_fork(after_in_child=_wipe)
