"""Write files atomically: after a crash a file is either complete or not there."""

from __future__ import annotations

import errno
import os
import re
import secrets
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from everlearn.errors import StoreError, require

UNREADABLE = (
    *(OSError, ValueError, KeyError, EOFError, TypeError, NotImplementedError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
)
"""What NumPy and zipfile raise on a damaged npz file, depending on where the damage is."""

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}(-wal|-shm|-journal)?")

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The error numbers of the system if no room is left."""


def as_path(given: object) -> Path:
    """Return the path of a file, or raise if a value is not a path."""
    fine = isinstance(given, str | os.PathLike) and "\0" not in str(given)
    require(fine, "path", given, "give the name of a file")
    return expanded(str(given))


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path that a user gave, with ``~`` in the place of their home; every such path goes through here."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - the method of a path raises if there is no such user


@contextmanager
def replacing(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Write to a temporary file beside ``path``, which is synced and renamed at the end, or removed on an error.

    Missing parent folders are created.  ``mode`` is that of the file, minus the user's umask.
    """
    target = as_path(path)
    if not target.name or target.is_dir():
        raise StoreError("is a directory; give the name of a file", target)
    make_folder(target.parent)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    with _allowed(target):
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_directory(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that :func:`replacing` left in a folder and below it when processes were killed.

    Call it only if no other process writes there, since its temporary files would be removed too.
    """
    for path in folder.rglob(".*"):
        if _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its parents, synced, so that a power failure does not lose what is written there later.

    ``mode`` is that of the folder itself, if it is created, minus the user's umask.
    """
    if folder.exists():
        if not folder.is_dir():
            raise StoreError("is a file; give a directory", folder)
        return
    make_folder(folder.parent)
    with _allowed(folder):
        folder.mkdir(mode, exist_ok=True)
        sync_directory(folder.parent)


def refuse_unwritable(folder: str | os.PathLike[str]) -> None:
    """Raise if a folder cannot be created or written to, before any work is done for it."""
    if not os.fspath(folder):
        raise StoreError("out: is empty; give a directory")
    path = expanded(folder)
    existing = next(parent for parent in (path, *path.parents, Path()) if parent.exists())
    if not existing.is_dir():
        raise StoreError(f"{'' if existing == path else f'{existing} '}is a file; give a directory", path)
    with suppress(OSError), _allowed(path):  # if the disk is full, the results that are needed may exist already
        Path(tempfile.mkdtemp(prefix=".everlearn-", dir=existing)).rmdir()


@contextmanager
def _allowed(path: Path) -> Iterator[None]:
    """Raise a StoreError if something cannot be written, except for a full disk, which callers handle."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise
        raise StoreError(f"cannot be written ({error.strerror}); give another place", path) from None


def sync_directory(directory: Path) -> None:
    """Sync a directory, so that files created, renamed or removed in it are so on the disk."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
