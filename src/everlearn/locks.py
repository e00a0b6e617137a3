"""Lock a directory for one process, or for one process per shard.

The locks are those of the system (``flock``), so they end with the process, however it ends.  A forked child would keep
them too, so it closes the files that it inherits.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from everlearn.errors import Held
from everlearn.files import make_folder, remove_leftovers

_LOCK = ".lock"

_PATIENCE, _PAUSE = 0.2, 0.01
"""For how many seconds to wait for a lock that nobody has signed by default, and between two attempts."""

_opened_files: weakref.WeakSet[IO[str]] = weakref.WeakSet()


def _close_inherited() -> None:
    for file in list(_opened_files):
        file.close()


os.register_at_fork(after_in_child=_close_inherited)


@contextmanager
def working(directory: Path, shard: str | None = None, patience: float = _PATIENCE) -> Iterator[None]:
    """Lock a directory: exclusively, or for one shard while other processes lock other shards.

    ``patience`` is for how many seconds to wait for a lock that nobody has signed, as readers hold one for a moment.
    With an exclusive lock, temporary files that killed processes left behind are removed.
    """
    with _opened(directory / _LOCK) as whole:
        _take(whole, fcntl.LOCK_EX if shard is None else fcntl.LOCK_SH, directory, patience)
        if shard is None:
            with _signed(whole):
                remove_leftovers(directory)
                yield
            return
        with _opened(directory / f"{_LOCK}-{shard}") as part:
            _take(part, fcntl.LOCK_EX, directory, patience)
            with _signed(part):
                yield


@contextmanager
def gathering(directory: Path) -> Iterator[None]:
    """Wait for the lock of the files that all shards share; the last shard to get it sees the work of all others."""
    with _opened(directory / f"{_LOCK}-gather") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def unless_held(directory: Path) -> Iterator[bool]:
    """Yield whether nobody holds the lock of a directory; nobody can take it meanwhile, and nothing is written."""
    try:
        file = (directory / _LOCK).open(encoding="utf-8")
    except OSError as error:  # without a lock file nobody has ever worked there; one that is not ours may be held
        yield not isinstance(error, PermissionError)
        return
    with file:
        _opened_files.add(file)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def is_held(directory: Path) -> bool:
    """Return whether a process works in a directory, on all of it or on a shard; nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> directory = Path(tempfile.mkdtemp())
    >>> with working(directory, "1-of-2"):
    ...     is_held(directory)
    True
    >>> is_held(directory)
    False

    """
    return any(map(_is_locked, sorted(directory.glob(f"{_LOCK}*"))))


def _is_locked(path: Path) -> bool:
    try:
        file = path.open(encoding="utf-8")
    except OSError:  # it is gone, or it is not ours
        return False
    with file:
        _opened_files.add(file)
        return not _is_taken(file, fcntl.LOCK_SH)  # shared, as other readers may look too


def _opened(path: Path) -> IO[str]:
    make_folder(path.parent)
    file = path.open("a+", encoding="utf-8", errors="replace")
    _opened_files.add(file)
    return file


def _take(file: IO[str], kind: int, directory: Path, patience: float) -> None:
    end = time.monotonic() + patience
    while not _is_taken(file, kind):
        holder = _holder(file)
        if not holder and time.monotonic() < end:
            time.sleep(_PAUSE)
            continue
        if holder == f" ({_signature()})":
            raise Held("this process has it open already; close it first", directory)
        raise Held(f"another process works there{holder}; wait for it, or give another directory", directory)


def _is_taken(file: IO[str], kind: int) -> bool:
    """Try to take a lock, and return whether this process has it now."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: IO[str]) -> str:
    """Return the process that signed the lock file, unless it ran on this machine and has ended."""
    file.seek(0)
    text = file.read().strip()
    signature = re.fullmatch(r"process (\d+) on (.+)", text)
    if signature is None:
        return ""
    if signature[2] == socket.gethostname():
        try:
            os.kill(int(signature[1]), 0)
        except ProcessLookupError:
            return ""
        except PermissionError:
            pass
    return f" ({text})"


def _signature() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


@contextmanager
def _signed(file: IO[str]) -> Iterator[None]:
    _write(file, _signature())
    try:
        yield
    finally:
        _write(file, "")


def _write(file: IO[str], text: str) -> None:
    if file.closed:  # in a forked child
        return
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()
