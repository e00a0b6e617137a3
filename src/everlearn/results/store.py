"""Cells on disk: one file per block of runs, with what was recorded and what it takes to resume.

A file is npz: an entry ``cell.json``, its hash in ``cell.sha256``, and arrays, whose hashes are in the JSON.  Files are
replaced atomically, so after a crash there is the old one or the new one, and hashes reveal one that was damaged.
Finished and interrupted cells are the same kind of file, and differ in t.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from everlearn.engine.checkpoint import Checkpoint
from everlearn.engine.curves import Curves
from everlearn.errors import Damaged, StoreError
from everlearn.files import FULL, UNREADABLE, replacing
from everlearn.notices import Notice

SCHEMA = 1
"""The version of the layout of cells and manifest; older versions can be read."""

_TEXT, _HASH, _ARRAYS = "cell.json", "cell.sha256", "arrays/"


class DamageWarning(Notice):
    """A damaged file of an experiment is done without: ``path`` is the file, and ``error`` says what is wrong."""

    def __init__(self, error: Damaged, consequence: str) -> None:
        self.error, self.path = error, error.path
        super().__init__(f"{error}; {consequence}")


class Notes(TypedDict, total=False):
    """What is stored with a cell besides its checkpoint; older versions stored less."""

    identity: dict[str, Any]
    seconds: float
    host: str
    everlearn: str
    arithmetic: str
    platform: dict[str, str]
    written: str


class StoredCell(NamedTuple):
    """A cell that was read from disk."""

    checkpoint: Checkpoint
    notes: Notes


class Cells:
    """The cells in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, cell: str) -> Path:
        """Return the file of a cell."""
        return self.directory / f"{cell}.npz"

    def write(self, cell: str, checkpoint: Checkpoint, notes: Notes) -> None:
        """Write a cell atomically."""
        curves = checkpoint.curves
        arrays = {"times": curves.times, "total_reward": curves.total_reward, **checkpoint.arrays}
        if curves.policies is not None:
            arrays["policies"] = curves.policies
        entries = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        document = {
            "schema": SCHEMA,
            "cell": cell,
            **{name: getattr(checkpoint, name) for name in ("engine", "t", "runs", "shared", "each")},
            "notes": notes,
            "sha256": {name: _hash(array) for name, array in entries.items()},
        }
        try:
            text = json.dumps(document).encode()
        except (TypeError, ValueError) as error:
            raise StoreError(f"what snapshot() of the environment returned cannot be kept as JSON ({error})") from None
        heading = {_TEXT: np.frombuffer(text, dtype=np.uint8), _HASH: np.frombuffer(_sha(text), dtype=np.uint8)}
        with full_disk(self.path(cell)), replacing(self.path(cell)) as file:
            np.savez(file, allow_pickle=False, **heading, **{_ARRAYS + name: array for name, array in entries.items()})

    def read(self, cell: str) -> StoredCell | None:
        """Return a cell; None if it does not exist; raise if it is damaged."""
        text, arrays = self._open(cell)
        if text is None:
            return None
        curves = Curves(arrays.pop("times"), arrays.pop("total_reward"), arrays.pop("policies", None))
        state = {"arrays": arrays, "shared": text["shared"], "each": tuple(text["each"])}
        checkpoint = Checkpoint(text["engine"], text["t"], tuple(text["runs"]), curves, **state)
        return StoredCell(checkpoint, text["notes"])

    def glance(self, cell: str) -> StoredCell | None:
        """Return a cell as :meth:`read` does, but only what was recorded: its arrays stay on disk, and unchecked."""
        text, arrays = self._open(cell, ("times", "total_reward"))
        if text is None:
            return None
        curves = Curves(arrays["times"], arrays["total_reward"])
        return StoredCell(Checkpoint(text["engine"], text["t"], tuple(text["runs"]), curves, {}, {}, ()), text["notes"])

    def _open(self, cell: str, wanted: Sequence[str] | None = None) -> tuple[Any, dict[str, NDArray[Any]]]:
        path = self.path(cell)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                encoded = archive[_TEXT].tobytes()
                if archive[_HASH].tobytes() != _sha(encoded):
                    raise ValueError("its checksum is wrong")
                text = json.loads(encoded)
                refuse_newer(path, text.get("schema"))
                arrays = {name: archive[_ARRAYS + name] for name in wanted or text["sha256"]}
        except FileNotFoundError:
            return None, {}
        except UNREADABLE as error:
            why = "it is no archive" if "pickle" in str(error) else str(error)  # NumPy's advice would be bad advice
            raise Damaged(f"is damaged ({why})", path) from None
        wrong = [name for name, array in arrays.items() if _hash(array) != text["sha256"][name]]
        if wrong or text["cell"] != cell:
            raise Damaged(f"is damaged (the checksum of {wrong[0] if wrong else 'its name'!r} is wrong)", path)
        return text, arrays


def refuse_newer(path: Path, schema: Any) -> None:
    """Raise if a newer everlearn wrote this."""
    if not isinstance(schema, int) or schema > SCHEMA:
        remedy = f"this everlearn reads up to {SCHEMA}; use a newer one"
        raise StoreError(f"schema version {schema!r}, {remedy}", path)


def _sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _hash(array: NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Raise an error that says what to do if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            remedy = "nothing that was committed is lost; make room and run the same command again"
            raise StoreError(f"{error.strerror}; {remedy}", path) from error
        raise
