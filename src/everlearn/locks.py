"""Lock a directory for one process, or for one process per shard.

The locks are those of the system (``flock``), so they end with the process, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from everlearn.errors import Held
from everlearn.files import make_folder, remove_leftovers

_LOCK = ".lock"


@contextmanager
def working(directory: Path, shard: str | None = None) -> Iterator[None]:
    """Lock a directory: exclusively, or for one shard while other processes lock other shards.

    With an exclusive lock, temporary files that killed processes left behind are removed.
    """
    with _opened(directory / _LOCK) as whole:
        _take(whole, fcntl.LOCK_EX if shard is None else fcntl.LOCK_SH, directory)
        if shard is None:
            with _signed(whole):
                remove_leftovers(directory)
                yield
            return
        with _opened(directory / f"{_LOCK}-{shard}") as part:
            _take(part, fcntl.LOCK_EX, directory)
            with _signed(part):
                yield


@contextmanager
def gathering(directory: Path) -> Iterator[None]:
    """Wait for the lock of the files that all shards share; the last shard to get it sees the work of all others."""
    with _opened(directory / f"{_LOCK}-gather") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _opened(path: Path) -> IO[str]:
    make_folder(path.parent)
    return path.open("a+", encoding="utf-8")


def _take(file: IO[str], kind: int, directory: Path) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(file)
        if holder == f" ({_signature()})":
            raise Held(f"{directory}: this process has it open already; close it first") from None
        remedy = "wait for it, or give another directory"
        raise Held(f"{directory}: another process works there{holder}; {remedy}") from None


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
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()
