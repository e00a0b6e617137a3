"""A copy of a store that is in use: one file, whole, checked before it takes its name."""

from __future__ import annotations

import os
import secrets
import sqlite3
from pathlib import Path
from typing import Any

from everlearn.durable.checking import check_file
from everlearn.durable.database import FILE, connect_to_read, errors, remove, sync
from everlearn.errors import InputError, LiveError
from everlearn.files import make_folder


def backup(directory: str | os.PathLike[str], file: str | os.PathLike[str]) -> dict[str, Any]:
    """Copy a store as it is at one moment to a file, while a process may go on writing to it.

    To go back to it, put the file as ``everlearn.db`` into an empty directory.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory, copy = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    >>> with live(directory, task="service-station") as agent:
    ...     _ = agent.act(), agent.observe("arrival"), backup(directory, copy / "everlearn.db")
    >>> with live(copy) as agent:
    ...     agent.step
    1

    """
    source, target = Path(directory) / FILE, Path(file)
    if target.is_dir() or target.resolve().parent == source.resolve().parent:
        raise InputError("file", str(target), "name a file outside the directory that is backed up")
    make_folder(target.parent)
    made = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        _copy(source, made)
        report = check_file(made)
        if not report.sound:
            raise LiveError(f"{source}: the copy is not sound: {report.findings[0]}; see: everlearn check {directory}")
        sync(made)
        made.replace(target)
        sync(target)
    finally:
        remove(made)
    return {"file": str(target), "bytes": target.stat().st_size, "agents": report.agents}


def _copy(source: Path, made: Path) -> None:
    reading = connect_to_read(source)
    try:
        with errors(made):
            writing = sqlite3.connect(made, isolation_level=None)
            try:
                reading.backup(writing)
                writing.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
            finally:
                writing.close()
    finally:
        reading.close()
