"""Who may work in a directory: one process, or one for each shard.

The locks are the system's (``flock``), so that they end with the process, however it ends.
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
    """Hold a directory while working in it: alone, or as a shard beside other shards.

    Whoever is alone there removes what processes that were killed left half written.
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
    """Wait for a turn to write what belongs to all shards; the last to have it sees what all of them did."""
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
        who = _holder(file)
        if who == f" ({_signature()})":
            raise Held(f"{directory}: this process has it open already; close it first") from None
        raise Held(f"{directory}: another process works there{who}; wait for it, or give another directory") from None


def _holder(file: IO[str]) -> str:
    """Return who signed, where that is not a process of this machine that has gone."""
    file.seek(0)
    text = file.read().strip()
    found = re.fullmatch(r"process (\d+) on (.+)", text)
    if found is None:
        return ""
    if found[2] == socket.gethostname():
        try:
            os.kill(int(found[1]), 0)
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
