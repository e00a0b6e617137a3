"""Merge the cells of several directories of the same experiment."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path

from everlearn.errors import Damaged, StoreError
from everlearn.experiments.directory import Directory
from everlearn.experiments.manifest import Manifest, join_platforms
from everlearn.experiments.tables import write_tables
from everlearn.files import refuse_unwritable, replacing
from everlearn.locks import gathering, working
from everlearn.results.store import DamageWarning, full_disk


def merge(paths: Sequence[str | Path], out: str | Path | None = None) -> Directory:
    """Copy the cells of all directories into ``out``, by default the first of them, and write the tables.

    If several directories have the same cell, the one with the most steps is kept.  Damaged cells are left out with a
    warning.
    """
    refuse_unwritable(paths[0] if out is None else out)
    sources = [Directory(path) for path in paths]
    target = sources[0] if out is None else Directory(out)
    target.refuse_agents()
    manifests = [source.read_manifest() for source in sources]
    first, names = manifests[0], _cell_names(manifests[0])
    for source, manifest in zip(sources[1:], manifests[1:], strict=True):
        _refuse_other(sources[0], first, source, manifest)
    with working(target.path), gathering(target.path):
        if (merged := target.manifest) is not None:
            _refuse_other(sources[0], first, target, merged)
        else:
            merged = {**first, "seconds": 0.0, "tables": {}, "tables_steps": None}
        target.write_manifest({**merged, "platforms": join_platforms(merged, *manifests)})
        for source in sources:
            if source.path.resolve() != target.path.resolve():
                _copy_cells(names, source, target)
        worked = [manifest["seconds"] for manifest, source in zip(manifests, sources, strict=True) if source != target]
        write_tables(target, seconds=sum(worked))
    return target


def _copy_cells(names: list[str], source: Directory, target: Directory) -> None:
    """Copy the cells that have more steps in the source than in the target."""
    damaged: list[Damaged] = []
    steps = {name: cell.checkpoint.t for name, cell in target.read_cells(names, damaged=[]) if cell is not None}
    for name, cell in source.read_cells(names, damaged):
        if cell is not None and cell.checkpoint.t > steps.get(name, -1):
            path = target.cells.path(name)
            with full_disk(path), source.cells.path(name).open("rb") as original, replacing(path) as copy:
                shutil.copyfileobj(original, copy)
    for error in damaged:
        warnings.warn(DamageWarning(error, "it is left out"), stacklevel=2)


def _refuse_other(first: Directory, expected: Manifest, second: Directory, other: Manifest) -> None:
    """Raise if two directories do not belong to the same experiment."""
    same = {
        **{key: expected[key] == other[key] for key in ("steps", "runs", "seed", "per_decade")},
        "spec": {**expected["spec"], "name": ""} == {**other["spec"], "name": ""},
    }
    for key, equal in same.items():
        if not equal:
            raise StoreError(f"its {key} differs from that of {first.path}; merge one experiment", second.path)
    if _cell_names(expected) != _cell_names(other):
        raise StoreError(
            f"a task or an agent is another version than in {first.path}; run one of them again", second.path
        )
    if expected["provenance"]["arithmetic"] != other["provenance"]["arithmetic"]:
        raise StoreError(
            f"was computed on a machine whose arithmetic differs from that of {first.path}; "
            "merge results of equal arithmetic only",
            second.path,
        )


def _cell_names(manifest: Manifest) -> list[str]:
    return [cell["name"] for entry in manifest["variants"] for cell in entry["cells"]]
