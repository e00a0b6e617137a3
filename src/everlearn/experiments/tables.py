"""Read the finished cells of an experiment as arms and results, and write its tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TypeGuard

import numpy as np

from everlearn.analysis.statistics import summary
from everlearn.engine.curves import concatenate, recording_times
from everlearn.errors import Damaged
from everlearn.experiments.directory import Directory
from everlearn.experiments.manifest import Manifest, VariantEntry, platforms
from everlearn.experiments.references import INTERVAL, Optimum
from everlearn.results.arm import Arm, arms, with_policy
from everlearn.results.platform import Platform
from everlearn.results.references import AT_LEAST, AT_MOST
from everlearn.results.result import Result
from everlearn.results.store import DamageWarning, StoredCell
from everlearn.results.tables import encoded, rows_table, runs_table


def read_arms(directory: Directory, damaged: list[Damaged] | None = None) -> list[Arm]:
    """Return the finished runs of every variant; ``damaged`` is as in :meth:`Directory.read_cells`."""
    manifest = directory.read_manifest()
    times = recording_times(manifest["steps"], manifest["per_decade"])
    recorded = []
    for entry in manifest["variants"]:
        total_rewards, runs = [], list[int]()
        for checkpoint, _ in _finished(directory, manifest, entry, damaged):
            total_rewards.append(checkpoint.until(times).total_reward)
            runs.extend(checkpoint.runs)
        if runs:
            optimum, upper, references = stated(manifest, entry)
            recorded.append(
                Arm(
                    entry["task"],
                    entry["agent"],
                    entry["settings"],
                    times,
                    np.concatenate(total_rewards),
                    None if optimum is None else np.full(len(runs), optimum),
                    references=references,
                    numbers=np.array(runs) - entry["first_run"],
                    member=entry["member"],
                    optimum_upper=None if upper is None else np.full(len(runs), upper),
                    name=name_of(entry),
                )
            )
    return recorded


def name_of(entry: VariantEntry) -> str:
    """Return the name of an agent in figures: its label, and its policy if that is fixed and the label is ours."""
    ours = entry["agent"] == entry["design"] and "agent.policy" not in entry["settings"]
    return with_policy(entry["agent"], entry["parameters"]) if ours else entry["agent"]


def stated(manifest: Manifest, entry: VariantEntry) -> tuple[float | None, float | None, dict[str, float]]:
    """Return the optimum of a task, its upper bound if only bounds are known, and other averages by name."""
    optimum = manifest["optima"].get(entry["identity"])
    upper = optimum["upper"] if _is_interval(optimum) else None
    return None if optimum is None else optimum["value"], upper, _references(manifest, entry)


def _is_interval(optimum: Optimum | None) -> TypeGuard[Optimum]:
    return optimum is not None and optimum["how"] == INTERVAL


def read_results(directory: Directory) -> list[Result]:
    """Return the result of every variant that has finished runs, with policies if they were recorded."""
    manifest = directory.read_manifest()
    times = recording_times(manifest["steps"], manifest["per_decade"])
    results = []
    for entry in manifest["variants"]:
        cells = list(_finished(directory, manifest, entry))
        if cells:
            curves = concatenate([checkpoint.until(times) for checkpoint, _ in cells])
            optimum = manifest["optima"].get(entry["identity"])
            stated = {} if optimum is None else {"optimum": optimum["value"]}
            if _is_interval(optimum):
                stated = {AT_LEAST: optimum["lower"], AT_MOST: optimum["upper"]}
            results.append(
                Result(
                    task=entry["task"],
                    agent=entry["design"],
                    schedule=entry["schedule"],
                    parameters=entry["parameters"],
                    steps=manifest["steps"],
                    runs=sum(len(checkpoint.runs) for checkpoint, _ in cells),
                    seed=manifest["seed"],
                    engine=entry["engine"],
                    scaling=entry["scaling"],
                    times=times,
                    total_reward=curves.total_reward,
                    policies=curves.policies,
                    pairs=entry["pairs"],
                    references={**stated, **_references(manifest, entry)},
                    seconds=sum(notes["seconds"] for _, notes in cells),
                    version=manifest["provenance"]["everlearn"],
                    platform=(platforms(manifest) or [Platform.read({})])[-1],
                    label=entry["agent"],
                )
            )
    return results


def write_tables(directory: Directory, seconds: float = 0.0) -> None:
    """Write the tables, and to the manifest their hashes and the time that was worked.

    Damaged cells are left out with a warning.  If no run is finished, tables of fewer steps stay as they are.
    """
    damaged: list[Damaged] = []
    recorded, manifest = read_arms(directory, damaged), directory.read_manifest()
    if recorded:
        tables = {"runs.parquet": runs_table(recorded), "summary.parquet": rows_table(summary(arms(recorded)))}
        manifest["tables"] = {name: directory.write(name, encoded(table, "parquet")) for name, table in tables.items()}
        manifest["tables_steps"] = manifest["steps"]
    for entry in manifest["variants"]:
        cells = directory.read_cells([cell["name"] for cell in entry["cells"]], damaged=[])
        entry["seconds"] = sum(cell.notes["seconds"] for _, cell in cells if cell is not None)
    manifest["seconds"] += seconds
    directory.write_manifest(manifest)
    for error in damaged:
        warnings.warn(DamageWarning(error, "it is left out"), stacklevel=2)


def _finished(
    directory: Directory, manifest: Manifest, entry: VariantEntry, damaged: list[Damaged] | None = None
) -> Iterator[StoredCell]:
    for _, cell in directory.read_cells([cell["name"] for cell in entry["cells"]], damaged):
        if cell is not None and cell.checkpoint.t >= manifest["steps"]:
            yield cell


def _references(manifest: Manifest, entry: VariantEntry) -> dict[str, float]:
    """Return the average rewards known for a task, by name; older versions stored fewer."""
    optimum = manifest["optima"].get(entry["identity"])
    best = {} if optimum is None else optimum.get("best", {})
    return {**best, **entry["references"]}
