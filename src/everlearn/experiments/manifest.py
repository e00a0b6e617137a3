"""The manifest of an experiment: what was to be done, where it comes from, and how to make tables of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from everlearn.experiments.cells import Cell, Tables
from everlearn.experiments.platforms import stored
from everlearn.experiments.references import optimal_average
from everlearn.experiments.spec import Spec, written
from everlearn.experiments.variants import Variant
from everlearn.registry import plain


def manifest_of(
    spec: Spec,
    everything: Sequence[Cell],
    engines: dict[int, str],
    tables: Tables,
    here: dict[str, Any],
    before: dict[str, Any] | None,
    *,
    and_here: bool,
) -> dict[str, Any]:
    """Return the manifest, as JSON can hold it; what was measured before is kept.

    ``and_here`` says whether cells are computed on this platform now.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    before = before or {}
    known = dict(before.get("optima", {}))
    by_variant: dict[int, list[Cell]] = {}
    for cell in everything:
        by_variant.setdefault(id(cell.variant), []).append(cell)
    entries = [_entry(group, engines[key], tables, known) for key, group in by_variant.items()]
    return {
        "name": spec.name,
        "steps": spec.steps,
        "runs": spec.runs,
        "seed": spec.seed,
        "per_decade": spec.per_decade,
        "spec": written(spec),
        "named": _by_name(spec),
        "folder": spec.folder,
        "provenance": here,
        "platforms": stored(before, and_here=and_here),
        "began": before.get("began", now),
        "changed": now,
        "seconds": before.get("seconds", 0.0),
        "variants": entries,
        "optima": known,
        "tables": before.get("tables", {}),
        "tables_steps": before.get("tables_steps"),
    }


def _entry(group: list[Cell], engine: str, tables: Tables, known: dict[str, Any]) -> dict[str, Any]:
    variant = group[0].variant
    task, design, place = variant.plan.task, variant.plan.design, variant.place
    table, identity = tables.of(task), tables.identity(task)
    if identity not in known:
        known[identity] = optimal_average(task, table, identity, best=place.member is None)
    return {
        "task": place.label,
        "agent": variant.contender.label,
        "settings": plain(variant.settings),
        "member": place.member,
        "first_run": variant.first_run,
        "members": place.members,
        "parameters": _parameters(variant),
        "design": design.name,
        "schedule": None if design.schedule is None else design.schedule.name,
        "told_duration": variant.told_duration,
        "scaling": design.scaling(task.reward),
        "engine": engine,
        "identity": identity,
        "pairs": None if table is None else table.expanded,
        "references": dict(task.references),
        "cells": [{"name": cell.name, "runs": [cell.runs.start, cell.runs.stop]} for cell in group],
    }


def _parameters(variant: Variant) -> dict[str, Any]:
    design = variant.plan.design
    named = [("task", variant.plan.task.parameters), ("agent", design.parameters)]
    if design.schedule is not None:
        named.append(("schedule", design.schedule.parameters))
    return {f"{kind}.{key}": plain(value) for kind, values in named for key, value in values.items()}


def _by_name(spec: Spec) -> bool:
    """Tell whether everything in a spec was named, so that it can be made again from the manifest alone."""
    given = [entry.given for entry in spec.tasks] + [entry.given for entry in spec.agents]
    given += [schedule for entry in spec.agents for schedule in entry.schedules if schedule is not None]
    return all(isinstance(one, str) for one in given)
