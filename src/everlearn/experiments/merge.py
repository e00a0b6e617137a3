"""Bringing together what was done apart: cells of several directories of one experiment into one of them."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from everlearn.errors import StoreError
from everlearn.experiments.directory import Directory
from everlearn.experiments.gather import gather
from everlearn.experiments.platforms import stored
from everlearn.files import refuse_unwritable, replacing
from everlearn.locks import gathering, working
from everlearn.results.store import full_disk

_SAME = ("steps", "runs", "seed", "per_decade")


def merge(paths: Sequence[str | Path], out: str | Path | None = None) -> Directory:
    """Bring the cells of all directories into ``out``, or into the first, and make the tables.

    Of a cell that is in several, the one that has come furthest is kept.  A damaged one is named and left where it is.
    """
    refuse_unwritable(paths[0] if out is None else out)
    sources = [Directory(path) for path in paths]
    target = sources[0] if out is None else Directory(out)
    manifests = [source.described() for source in sources]
    for source, manifest in zip(sources[1:], manifests[1:], strict=True):
        _refuse_other(sources[0], manifests[0], source, manifest)
    with working(target.path), gathering(target.path):
        if (there := target.manifest) is not None:
            _refuse_other(sources[0], manifests[0], target, there)
        else:
            there = {**manifests[0], "seconds": 0.0, "tables": {}, "tables_steps": None}
        target.describe({**there, "platforms": stored(there, *manifests)})
        names = _names(manifests[0])
        for source in sources:
            if source.path.resolve() != target.path.resolve():
                _bring(names, source, target)
        elsewhere = [one for one, source in zip(manifests, sources, strict=True) if source is not target]
        gather(target, seconds=sum(one["seconds"] for one in elsewhere))
    return target


def _bring(names: list[str], source: Directory, target: Directory) -> None:
    damaged: list[str] = []
    held = {name: found[0].t for name, found in target.read_cells(names, []) if found is not None}
    for name, found in source.read_cells(names, damaged):
        if found is not None and found[0].t > held.get(name, -1):
            path = target.cells.path(name)
            with full_disk(path), source.cells.path(name).open("rb") as one, replacing(path) as other:
                shutil.copyfileobj(one, other)
    for message in damaged:
        warnings.warn(f"{message}; it is left out", stacklevel=2)


def _refuse_other(first: Directory, one: dict[str, Any], second: Directory, other: dict[str, Any]) -> None:
    for key in _SAME:
        if one[key] != other[key]:
            raise StoreError(f"{second.path}: its {key} differs from that of {first.path}; merge one experiment")
    if {**one["spec"], "name": ""} != {**other["spec"], "name": ""}:
        raise StoreError(f"{second.path}: its spec differs from that of {first.path}; merge one experiment")
    if _names(one) != _names(other):
        raise StoreError(
            f"{second.path}: a task or an agent is another version than in {first.path}; run one of them anew"
        )
    if one["provenance"]["arithmetic"] != other["provenance"]["arithmetic"]:
        raise StoreError(
            f"{second.path}: was computed on a machine whose arithmetic differs from that of {first.path}; "
            "merge what was computed alike"
        )


def _names(manifest: dict[str, Any]) -> list[str]:
    return [cell["name"] for entry in manifest["variants"] for cell in entry["cells"]]
