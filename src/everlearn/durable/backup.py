"""The backup of a store that may be in use: one file, checked before it takes its name, once or again and again.

Agents that cannot be run here are copied too: rows and seals are checked, and no agent is recovered.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from everlearn.durable import layout
from everlearn.durable.checking import check_file
from everlearn.durable.database import FILE, errors, remove, sync
from everlearn.durable.reader import Reader
from everlearn.errors import InputError, LiveError, require
from everlearn.files import as_path, expanded, make_folder

EVERY = 60.0
"""Seconds between two copies of a directory that is followed."""


def backup(directory: str | os.PathLike[str], file: str | os.PathLike[str]) -> dict[str, Any]:
    """Copy a store to a file, as of one moment; another process may be writing to it.

    To restore it, put the file as ``everlearn.db`` into an empty directory.  If the directory has shards, ``file`` is a
    directory, to which each shard is copied, and which can be served as it is.

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
    source, target = expanded(directory), as_path(file)
    shards = layout.shards_of(source)
    if not shards:
        return _backup(source, target)
    if target.is_file() or target.resolve() == source.resolve():
        raise InputError("file", str(target), "the directory has shards: name another directory for their copies")
    make_folder(target, 0o700)
    copies = [_backup(store, target / store.name / FILE) for store in layout.stores_of(source)]
    layout.record(target, shards)
    agents = [agent for copy in copies for agent in copy["agents"]]
    return {"file": str(target), "bytes": sum(copy["bytes"] for copy in copies), "agents": agents}


def follow(
    directory: str | os.PathLike[str], file: str | os.PathLike[str], every: float = EVERY
) -> Iterator[dict[str, Any] | LiveError]:
    """Copy a directory again and again while it is in use, whenever it has changed; yield what became of each copy.

    An error leaves the copy before it in its place.  So what a copy lacks is what was recorded after the copy was
    begun, at its time ``at``.
    """
    require(every > 0, "every", every, "give a positive number of seconds")
    copied, target = None, as_path(file)
    for left in (*target.parent.glob(f".{target.name}.*"), *target.glob(f"shard-*/.{FILE}.*")):
        left.unlink(missing_ok=True)  # by a copy that was killed
    while True:
        began, present = time.time(), _signature(expanded(directory))
        if copied is None or present != copied:
            try:
                copy = backup(directory, file)
            except LiveError as error:
                yield error
            else:
                copied = present
                yield {**copy, "at": began, "seconds": time.time() - began}
        time.sleep(max(0.0, began + every - time.time()))


def _signature(directory: Path) -> list[tuple[str, int, int]]:
    """Return something that changes whenever a store of a directory does."""
    files = [file for store in (directory, *directory.glob("shard-*")) for file in store.glob(f"{FILE}*")]
    entries = []
    for file in sorted(files):
        with suppress(FileNotFoundError):  # the log is gone once the service has stopped
            state = file.stat()
            entries.append((str(file), state.st_size, state.st_mtime_ns))
    return [entry for entry in entries if not entry[0].endswith("-shm")]


def _backup(directory: Path, target: Path) -> dict[str, Any]:
    source = directory / FILE
    if target.is_dir() or target.resolve().parent == source.resolve().parent:
        raise InputError("file", str(target), "name a file outside the directory that is backed up")
    make_folder(target.parent, 0o700)
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    with errors(target):
        try:
            _copy(source, part)
            report = check_file(part)
            if not report.sound:
                finding = report.findings[0]
                problem = f"the copy is not sound: {finding}; see: everlearn check {directory}"
                raise LiveError(problem, source, agent=finding.agent)
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
