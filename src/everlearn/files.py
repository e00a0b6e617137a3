"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from everlearn.errors import StoreError, require

UNREADABLE = (
    *(OSError, ValueError, KeyError, EOFError, TypeError, NotImplementedError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What NumPy and zipfile raise on a damaged npz file, depending on where the damage is."""

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}")


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where there is no room left."""


def as_path(given: object) -> Path:
    """Return the path of a file, or say that it is none."""
    fine = isinstance(given, str | os.PathLike) and "\0" not in str(given)
    require(fine, "path", given, "give the name of a file")
    return Path(given)  # type: ignore[arg-type]  # a path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write to a temporary file beside ``path``; synced and renamed at the end, removed on an error.

    Folders above ``path`` are made where there are none.
    """
    target = as_path(path)
    if not target.name or target.is_dir():
        raise StoreError(f"{target}: is a directory; give the name of a file")
    make_folder(target.parent)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    with _allowed(target):
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)  # less what the user's umask says
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

    Only for whoever is alone there: a file that somebody is writing would be removed too.
    """
    for path in folder.rglob(".*"):
        if _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that a power cut does not lose the way to what is then written there."""
    if folder.exists():
        if not folder.is_dir():
            raise StoreError(f"{folder}: is a file; give a directory")
        return
    make_folder(folder.parent)
    with _allowed(folder):
        folder.mkdir(exist_ok=True)
        sync_directory(folder.parent)


def refuse_unwritable(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that cannot be made or written to, before anything is done that belongs there."""
    if not os.fspath(folder):
        raise StoreError("out: is empty; give a directory")
    path = Path(folder)
    there = next(one for one in (path, *path.parents, Path()) if one.exists())
    if not there.is_dir():
        raise StoreError(f"{path}: {'' if there == path else f'{there} '}is a file; give a directory")
    with suppress(OSError), _allowed(path):  # a full disk: what is there already may be all that is wanted
        Path(tempfile.mkdtemp(prefix=".everlearn-", dir=there)).rmdir()


@contextmanager
def _allowed(path: Path) -> Iterator[None]:
    """Say that something cannot be written; that there is no room is left to those who know what that means."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise
        raise StoreError(f"{path}: cannot be written ({error.strerror}); give another place") from None


def sync_directory(directory: Path) -> None:
    """See that what was made, renamed or removed in a directory is on the disk."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
