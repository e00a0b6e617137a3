"""The backup of a store that may be in use: one file, checked before it takes its name.

The agents in it need not be such as can be run here: their rows and seals are checked, and nothing is recovered.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from everlearn.durable.checking import check_file
from everlearn.durable.database import FILE, errors, remove, sync
from everlearn.durable.reader import Reader
from everlearn.errors import InputError, LiveError
from everlearn.files import as_path, make_folder


def backup(directory: str | os.PathLike[str], file: str | os.PathLike[str]) -> dict[str, Any]:
    """Copy a store to a file, as of one moment; another process may be writing to it.

    To restore it, put the file as ``everlearn.db`` into an empty directory.

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
    source, target = Path(directory) / FILE, as_path(file)
    if target.is_dir() or target.resolve().parent == source.resolve().parent:
        raise InputError("file", str(target), "name a file outside the directory that is backed up")
    make_folder(target.parent)
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    with errors(target):
        try:
            _copy(source, part)
            report = check_file(part)
            if not report.sound:
                found = f"the copy is not sound: {report.findings[0]}; see: everlearn check {directory}"
                raise LiveError(f"{source}: {found}")
            sync(part)
            part.replace(target)
            sync(target)
        finally:
            remove(part)
        agents = [{key: agent[key] for key in ("name", "step", "rows", "snapshots")} for agent in report.agents]
        return {"file": str(target), "bytes": target.stat().st_size, "agents": agents}


def _copy(source: Path, target: Path) -> None:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with Reader(source.parent) as reader, errors(target), closing(sqlite3.connect(target)) as writing:
        reader.connection.backup(writing)
        writing.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
