"""The directory of a service with several shards: one directory per shard, each with a store of its own.

The number of shards is recorded beside them, so that a missing shard is noticed, and not created anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from everlearn.durable import database
from everlearn.errors import Corrupt, InputError, LiveError
from everlearn.files import expanded, make_folder, replacing, sync_directory
from everlearn.locks import working

RECORD = "shards.json"

EXPERIMENT = ("manifest.json", "cells")
"""What the directory of an experiment has."""


def shard_directory(directory: Path, number: int) -> Path:
    """Return the directory of a shard."""
    return directory / f"shard-{number}"


def shards_of(directory: Path) -> int:
    """Return the number of shards of a directory; 0 if it has none.

    Examples
    --------
    >>> import tempfile
    >>> directory = Path(tempfile.mkdtemp())
    >>> shards_of(directory)
    0
    >>> record(directory, 2)
    >>> shards_of(directory)
    2

    """
    try:
        text = (directory / RECORD).read_bytes()
    except (OSError, ValueError):  # there is none, or no file can have that name
        text = b'{"shards": 0}'
    try:
        recorded = int(json.loads(text)["shards"])
    except (KeyError, TypeError, ValueError):
        raise Corrupt('it is damaged; write {"shards": N} into it', directory / RECORD) from None
    while database.is_begun(shard_directory(directory, recorded)):  # a start that was killed before it was recorded
        recorded += 1
    return recorded


def require_agents(directory: str | os.PathLike[str], argument: str = "directory") -> None:
    """Raise if a directory has no durable agents, as when its name is mistyped.

    Examples
    --------
    >>> require_agents("pmup")
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: directory: 'pmup'; has no durable agents; pass the directory that everlearn.live was
    given

    """
    place = expanded(directory)
    if not database.is_begun(place) and not shards_of(place):
        remedy = "has no durable agents; pass the directory that everlearn.live was given"
        raise InputError(argument, os.fspath(directory), remedy)


def record(directory: Path, shards: int) -> None:
    """Record the number of shards of a directory."""
    with replacing(directory / RECORD, 0o600) as file:
        file.write(json.dumps({"shards": shards}).encode() + b"\n")


def stores_of(directory: Path) -> list[Path]:
    """Return the directories of the stores: those of the shards, or the directory itself; raise if one is missing."""
    shards = [shard_directory(directory, number) for number in range(shards_of(directory))]
    for shard in shards:
        if not database.is_begun(shard):
            raise LiveError("the shard is gone; put it back, or a backup of it", shard)
    return shards or [directory]


def refuse_shards(directory: Path) -> None:
    """Raise if a directory has shards, where one store is expected: a new one would begin beside them."""
    if shards := shards_of(directory):
        each = f"{directory.name}/shard-0" + (f" to shard-{shards - 1}" if shards > 1 else "")
        remedy = f"serve it with --shards {shards}, or open one of {each} by itself"
        raise LiveError(f"it has {shards} shards; {remedy}", directory)


def refuse_experiment(directory: Path) -> None:
    """Raise if a directory without agents has an experiment: a store would begin among its files."""
    experiment = all((directory / name).exists() for name in EXPERIMENT)
    if experiment and not database.is_begun(directory) and not shards_of(directory):
        raise LiveError("there is an experiment in it; give the agents a directory of their own", directory)


def adopt(directory: Path) -> None:
    """Make the store of a directory without shards its first shard; it must be closed, with nothing in its log."""
    shard = shard_directory(directory, 0)
    with working(directory, patience=database.PATIENCE):
        if directory.joinpath(f"{database.FILE}-wal").exists():
            raise LiveError("another process has it open; wait for it", directory)
        make_folder(shard, 0o700)
        (directory / database.FILE).replace(shard / database.FILE)
        sync_directory(shard)
        sync_directory(directory)
