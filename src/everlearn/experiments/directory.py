"""The directory of an experiment: the manifest, the cells, and the tables that are made of them.

::

    manifest.json    the spec, where the results come from, and what was measured
    cells/           one file per block of runs: what was recorded, and what is needed to resume
    runs.parquet     every run at every recording time
    summary.parquet  measures of each agent on each task, with intervals

Whatever differs between two equal computations (dates, durations, hosts) is in the manifest and the cells.  Tables are
equal to the last byte if the computations are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from everlearn.durable.database import is_begun
from everlearn.durable.layout import shards_of
from everlearn.errors import Damaged, NoExperiment, StoreError
from everlearn.experiments.manifest import Manifest
from everlearn.files import expanded, replacing
from everlearn.results.store import SCHEMA, Cells, StoredCell, full_disk, refuse_newer

MANIFEST, CELLS = "manifest.json", "cells"


class Directory:
    """An experiment on disk."""

    def __init__(self, path: str | Path) -> None:
        self.path = expanded(path)
        self.cells = Cells(self.path / CELLS)
        if self.path.exists() and not self.path.is_dir():
            raise StoreError("is a file; give a directory", self.path)

    @property
    def manifest(self) -> Manifest | None:
        """The manifest; None if the directory has none."""
        file = self.path / MANIFEST
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise Damaged(f"is damaged ({error})", file) from None
        except OSError as error:
            raise StoreError(f"cannot be read: {error.strerror}", file) from None
        if not isinstance(document, dict):
            raise Damaged("is damaged (it is not complete)", file)
        if isinstance(document.get("schema"), int):
            refuse_newer(file, document["schema"])
        if document.pop("sha256", None) != _hash(document):
            raise Damaged("is damaged (its checksum is wrong)", file)
        return cast("Manifest", document)

    def refuse_agents(self) -> None:
        """Raise if the directory has durable agents and no experiment: cells would be written among their files."""
        if not (self.path / MANIFEST).exists() and (is_begun(self.path) or shards_of(self.path)):
            raise StoreError("there are durable agents in it; give the experiment a directory of its own", self.path)

    def read_manifest(self) -> Manifest:
        """Return the manifest; raise if the directory has none."""
        if (manifest := self.manifest) is None:
            raise NoExperiment("there is no experiment here; make one with 'everlearn experiment run'", self.path)
        return manifest

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest."""
        document = {**manifest, "schema": SCHEMA}
        self.write(MANIFEST, json.dumps({**document, "sha256": _hash(document)}, indent=1).encode() + b"\n")

    def write(self, name: str, data: bytes) -> str:
        """Write a file atomically, and return its hash."""
        path = self.path / name
        with full_disk(path), replacing(path) as file:
            file.write(data)
        return hashlib.sha256(data).hexdigest()

    def read_cells(
        self, names: Sequence[str], damaged: list[Damaged] | None = None
    ) -> Iterator[tuple[str, StoredCell | None]]:
        """Yield each cell by its name, None if it does not exist; raise if it is damaged.

        With a list ``damaged``, add the error to that list instead, as if the cell did not exist.
        """
        for name in names:
            try:
                yield name, self.cells.read(name)
            except Damaged as error:
                if damaged is None:
                    raise Damaged(f"{error.problem}; run the experiment again to recompute it", error.path) from None
                damaged.append(error)
                yield name, None

    def altered_tables(self) -> list[str]:
        """Return the names of tables that were changed or removed after they were written."""
        hashes = self.read_manifest().get("tables", {})
        paths = {name: self.path / name for name in hashes}
        return [
            name
            for name, path in paths.items()
            if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != hashes[name]
        ]


def _hash(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
