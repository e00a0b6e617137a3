"""The manifest of an experiment: its spec, its provenance, and which cells make up its tables.

A manifest is a JSON document.  The types below name its keys; older versions did not write those that are not required.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from everlearn.experiments.cells import Cell, Tables
from everlearn.experiments.references import Optimum, optimal_average
from everlearn.experiments.spec import Spec
from everlearn.notices import Notice
from everlearn.registry import plain
from everlearn.results.arm import grouped
from everlearn.results.platform import Platform
from everlearn.results.provenance import Provenance
from everlearn.results.store import Notes


class CellEntry(TypedDict):
    """A cell: its name, and its first run and the one after its last."""

    name: str
    runs: list[int]


class VariantEntry(TypedDict):
    """A variant, with everything that tables and results say about it."""

    task: str
    agent: str
    settings: dict[str, Any]
    member: int | None
    first_run: int
    members: int | None
    parameters: dict[str, Any]
    design: str
    schedule: str | None
    told_duration: bool
    scaling: str
    engine: str
    identity: str
    """The hash of the task."""
    pairs: int | None
    references: dict[str, float]
    cells: list[CellEntry]
    seconds: NotRequired[float]
    """The seconds of work on its cells, as of when the tables were last written."""


class Manifest(TypedDict):
    """The whole document."""

    name: str
    steps: int
    runs: int
    seed: int
    per_decade: int
    spec: dict[str, Any]
    named: bool
    """Whether the spec is enough to run the experiment again."""
    folder: str | None
    provenance: Provenance
    platforms: NotRequired[list[dict[str, str]]]
    began: str
    changed: str
    seconds: float
    variants: list[VariantEntry]
    optima: dict[str, Optimum | None]
    """The optimum of each task, by its hash."""
    tables: dict[str, str]
    """The hash of each table that was written, by its name."""
    tables_steps: int | None
    """The number of steps in the tables."""
    schema: NotRequired[int]


class PlatformWarning(Notice):
    """Parts of an experiment are computed on platforms whose results may differ in the last bit.

    Parameters
    ----------
    path:
        the directory of the experiment
    differences:
        how the other platform differs from this one, one clause per difference

    """

    def __init__(self, path: Path, differences: Sequence[str]) -> None:
        self.path, self.differences = path, list(differences)
        what = f"was computed on another platform ({'; '.join(differences)})"
        super().__init__(f"{path}: {what}; results may differ in the last bit")


def make_manifest(
    spec: Spec,
    cells: Sequence[Cell],
    engine_of: Callable[[Cell], str],
    tables: Tables,
    provenance: Provenance,
    previous: Manifest | None,
    *,
    computing: bool,
    known: Mapping[str, Optimum] | None = None,
) -> Manifest:
    """Return the manifest of an experiment, with what the previous one has measured.

    ``computing`` says whether cells will be computed on this platform, and ``known`` has optima by the label of a task.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    optima = dict(previous["optima"]) if previous else {}
    entries = []
    for group in grouped(cells, lambda cell: str(id(cell.variant))).values():
        task, identity = group[0].variant.plan.task, tables.identity(group[0].variant.plan.task)
        if identity not in optima:
            stated, single = (known or {}).get(group[0].variant.task.label), group[0].variant.task.member is None
            optima[identity] = stated or optimal_average(task, tables.of(task), identity, best=single)
        entries.append(_variant_entry(group, engine_of(group[0]), tables))
    return {
        "name": spec.name,
        "steps": spec.steps,
        "runs": spec.runs,
        "seed": spec.seed,
        "per_decade": spec.per_decade,
        "spec": spec.to_dict(),
        "named": spec.is_named,
        "folder": spec.folder,
        "provenance": provenance,
        "platforms": join_platforms(previous, and_here=computing),
        "began": previous["began"] if previous else now,
        "changed": now,
        "seconds": previous["seconds"] if previous else 0.0,
        "variants": entries,
        "optima": optima,
        "tables": previous["tables"] if previous else {},
        "tables_steps": previous["tables_steps"] if previous else None,
    }


def _variant_entry(cells: Sequence[Cell], engine: str, tables: Tables) -> VariantEntry:
    variant = cells[0].variant
    task, design = variant.plan.task, variant.plan.design
    table = tables.of(task)
    return {
        "task": variant.task.label,
        "agent": variant.agent.label,
        "settings": plain(variant.settings),
        "member": variant.task.member,
        "first_run": variant.first_run,
        "members": variant.task.members,
        "parameters": variant.parameters,
        "design": design.name,
        "schedule": None if design.schedule is None else design.schedule.name,
        "told_duration": variant.knows_duration,
        "scaling": design.scaling(task.reward),
        "engine": engine,
        "identity": tables.identity(task),
        "pairs": None if table is None else table.expanded,
        "references": dict(task.references),
        "cells": [{"name": cell.name, "runs": [cell.runs.start, cell.runs.stop]} for cell in cells],
    }


def platforms(manifest: Manifest | None) -> list[Platform]:
    """Return the platforms on which an experiment was computed, in order; early versions did not store them."""
    stored = [] if manifest is None else manifest.get("platforms", [])
    return [Platform.read(document) for document in stored]


def join_platforms(*manifests: Manifest | None, and_here: bool = False) -> list[dict[str, str]]:
    """Return the platforms of manifests, each once, as JSON documents; ``and_here`` adds this platform."""
    joined = [platform for manifest in manifests for platform in platforms(manifest)]
    return [asdict(platform) for platform in dict.fromkeys([*joined, *([Platform.here()] if and_here else [])])]


def warn_of_other_platforms(path: Path, manifest: Manifest | None, unfinished: Iterable[Notes]) -> None:
    """Warn if unfinished cells were begun on another platform, or if all cells were computed on other platforms."""
    stored, here = platforms(manifest), Platform.here()
    begun = [Platform.read(notes["platform"]) for notes in unfinished if isinstance(notes.get("platform"), Mapping)]
    others = [platform for platform in begun if platform != here] or ([] if here in stored else stored)
    if others:
        warnings.warn(PlatformWarning(path, here.differences(others[-1])), stacklevel=4)
