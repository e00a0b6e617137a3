"""The directory of an experiment: a manifest, the cells, and the tables that are made of them.

::

    manifest.json    what was to be done, where it comes from, and what was measured
    cells/           a file for each block of runs: what was recorded, and what it takes to go on
    runs.parquet     every run at every recording time
    summary.parquet  measures of each agent on each task, with intervals

The manifest alone holds what differs between two equal computations: dates, durations, hosts.  Tables are the same to
the last byte when the computation is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everlearn.engine.checkpoint import Checkpoint
from everlearn.errors import StoreError
from everlearn.files import replacing
from everlearn.results.store import SCHEMA, Cells, Damaged, full_disk, refuse_newer

MANIFEST, CELLS = "manifest.json", "cells"


class Directory:
    """An experiment on disk.

    Examples
    --------
    >>> import tempfile
    >>> Directory(tempfile.mkdtemp()).manifest is None
    True

    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.cells = Cells(self.path / CELLS)
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path}: is a file; give a directory")

    @property
    def manifest(self) -> dict[str, Any] | None:
        """What the experiment is, or None where there is none."""
        file = self.path / MANIFEST
        try:
            manifest = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise Damaged(f"{file}: it is damaged ({error})") from None
        if not isinstance(manifest, dict):
            raise Damaged(f"{file}: it is damaged (it is not whole)")
        if isinstance(manifest.get("schema"), int):
            refuse_newer(file, manifest["schema"])
        if manifest.pop("sha256", None) != _hash(manifest):
            raise Damaged(f"{file}: it is damaged (its checksum is wrong)")
        return manifest

    def described(self) -> dict[str, Any]:
        """Return the manifest; a directory without one is refused."""
        if (manifest := self.manifest) is None:
            raise StoreError(f"{self.path}: there is no experiment here; make one with 'everlearn experiment run'")
        return manifest

    def describe(self, manifest: dict[str, Any]) -> None:
        """Write the manifest."""
        document = {**manifest, "schema": SCHEMA}
        self.write(MANIFEST, json.dumps({**document, "sha256": _hash(document)}, indent=1).encode() + b"\n")

    def write(self, name: str, data: bytes) -> str:
        """Write a file, whole or not at all, and return its hash."""
        path = self.path / name
        with full_disk(path), replacing(path) as file:
            file.write(data)
        return hashlib.sha256(data).hexdigest()

    def read_cells(
        self, names: list[str], damaged: list[str] | None = None
    ) -> Iterator[tuple[str, tuple[Checkpoint, dict[str, Any]] | None]]:
        """Yield cells as they are; one that is damaged is refused, or taken for absent and noted in ``damaged``."""
        for name in names:
            try:
                yield name, self.cells.read(name)
            except Damaged as error:
                if damaged is None:
                    raise Damaged(f"{error}; run the experiment again to compute it anew") from None
                damaged.append(str(error))
                yield name, None

    def altered_tables(self) -> list[str]:
        """Return the tables that are not as they were written."""
        found = []
        for name, digest in self.described().get("tables", {}).items():
            path = self.path / name
            if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                found.append(name)
        return found


def _hash(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
