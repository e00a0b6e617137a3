"""Cells on disk: each a file that holds what was recorded of a block of runs, and what it takes to go on from there.

A file is npz: an entry ``cell.json``, its hash in ``cell.sha256``, and arrays, whose hashes are in the JSON.  It is
replaced whole, so that after a crash there is the old one or the new one; one that was torn or altered is noticed by
its hashes.  A finished cell and one that was interrupted are the same kind of file, and differ in t.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.curves import Curves
from everlearn.errors import StoreError
from everlearn.files import FULL, UNREADABLE, replacing

SCHEMA = 1
"""The version of the layout of cells and manifest that is written; older ones are read."""

_TEXT, _HASH, _ARRAYS = "cell.json", "cell.sha256", "arrays/"


class Damaged(StoreError):  # noqa: N818 - reads as what it is
    """A file that is torn or was altered."""


class Cells:
    """The cells in a directory.

    Examples
    --------
    >>> import tempfile
    >>> cells = Cells(Path(tempfile.mkdtemp()))
    >>> cells.read("0f") is None
    True

    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, cell: str) -> Path:
        """Return the file of a cell."""
        return self.directory / f"{cell}.npz"

    def write(self, cell: str, checkpoint: Checkpoint, notes: Mapping[str, Any]) -> None:
        """Write a cell, whole or not at all; ``notes`` are what else is to be kept of it."""
        curves = checkpoint.curves
        arrays = {"times": curves.times, "total_reward": curves.total_reward, **checkpoint.arrays}
        if curves.policies is not None:
            arrays["policies"] = curves.policies
        entries = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        text = _encoded(
            {
                "schema": SCHEMA,
                "cell": cell,
                "engine": checkpoint.engine,
                "t": checkpoint.t,
                "runs": checkpoint.runs,
                "shared": checkpoint.shared,
                "each": checkpoint.each,
                "notes": notes,
                "sha256": {name: _hash(array) for name, array in entries.items()},
            }
        )
        heading = {_TEXT: np.frombuffer(text, dtype=np.uint8), _HASH: np.frombuffer(_sha(text), dtype=np.uint8)}
        with full_disk(self.path(cell)), replacing(self.path(cell)) as file:
            np.savez(file, allow_pickle=False, **heading, **{_ARRAYS + name: one for name, one in entries.items()})

    def read(self, cell: str) -> tuple[Checkpoint, dict[str, Any]] | None:
        """Return a cell with its notes, or None where there is none; one that is damaged is refused by name."""
        text, arrays = self._opened(cell)
        if text is None:
            return None
        curves = Curves(arrays.pop("times"), arrays.pop("total_reward"), arrays.pop("policies", None))
        checkpoint = Checkpoint(
            text["engine"],
            text["t"],
            tuple(text["runs"]),
            curves,
            arrays,
            text["shared"],
            tuple(text["each"]),
        )
        return checkpoint, text["notes"]

    def _opened(self, cell: str) -> tuple[Any, dict[str, NDArray[Any]]]:
        path = self.path(cell)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                text = _checked(archive)
                refuse_newer(path, text.get("schema"))
                arrays = {name: archive[_ARRAYS + name] for name in text["sha256"]}
        except FileNotFoundError:
            return None, {}
        except UNREADABLE as error:
            why = "it is no archive" if "pickle" in str(error) else str(error)  # NumPy's advice would be bad advice
            raise Damaged(f"{path}: it is damaged ({why})") from None
        wrong = [name for name, array in arrays.items() if _hash(array) != text["sha256"][name]]
        if wrong or text["cell"] != cell:
            raise Damaged(f"{path}: it is damaged (the checksum of {wrong[0] if wrong else 'its name'!r} is wrong)")
        return text, arrays


def refuse_newer(path: Path, schema: Any) -> None:
    """Refuse what a newer everlearn wrote."""
    if not isinstance(schema, int) or schema > SCHEMA:
        remedy = f"this everlearn reads up to {SCHEMA}; use a newer one"
        raise StoreError(f"{path}: schema version {schema!r}, {remedy}")


def _checked(archive: Any) -> Any:
    text = archive[_TEXT].tobytes()
    if archive[_HASH].tobytes() != _sha(text):
        raise ValueError("its checksum is wrong")
    return json.loads(text)


def _encoded(document: Any) -> bytes:
    try:
        return json.dumps(document).encode()
    except (TypeError, ValueError) as error:
        raise StoreError(f"what snapshot() of the environment returned cannot be kept as JSON ({error})") from None


def _sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _hash(array: NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Say what a full disk means, and what to do about it."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            remedy = "nothing that was committed is lost; make room and give the same command again"
            raise StoreError(f"{path}: {error.strerror}; {remedy}") from error
        raise
