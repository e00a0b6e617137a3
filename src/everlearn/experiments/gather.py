"""From cells to tables: what was recorded in every finished cell, in the order of the manifest."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from everlearn.analysis.statistics import summary
from everlearn.engine.curves import concatenate, recording_times
from everlearn.experiments.directory import Directory
from everlearn.experiments.platforms import last_platform
from everlearn.protocol import Table
from everlearn.results.arm import Arm, arms
from everlearn.results.result import Result
from everlearn.results.tables import encoded, rows_table, runs_table


def recorded(directory: Directory, damaged: list[str] | None = None) -> list[Arm]:
    """Return what was recorded of every variant, of the runs that are finished."""
    manifest = directory.described()
    times = recording_times(manifest["steps"], manifest["per_decade"])
    found = []
    for entry in manifest["variants"]:
        rows, runs = _finished(directory, entry, manifest["steps"], times, damaged)
        if runs:
            optimum = manifest["optima"].get(entry["identity"])
            found.append(
                Arm(
                    entry["task"],
                    entry["agent"],
                    entry["settings"],
                    times,
                    np.concatenate(rows),
                    None if optimum is None else np.full(len(runs), optimum["value"]),
                    references=_lines(entry, optimum),
                    numbers=np.array(runs) - entry["first_run"],
                    member=entry["member"],
                )
            )
    return found


def _lines(entry: dict[str, Any], optimum: dict[str, Any] | None) -> dict[str, float]:
    """Return the average rewards that are known of a task by name; directories of older versions have fewer."""
    return {**(optimum or {}).get("best", {}), **entry["references"]}


def _finished(
    directory: Directory, entry: dict[str, Any], steps: int, times: Any, damaged: list[str] | None
) -> tuple[list[Table], list[int]]:
    rows: list[Table] = []
    runs: list[int] = []
    for _, cell in directory.read_cells([cell["name"] for cell in entry["cells"]], damaged):
        if cell is not None and cell[0].t >= steps:
            rows.append(cell[0].until(times).total_reward)
            runs.extend(cell[0].runs)
    return rows, runs


def results(directory: Directory) -> list[Result]:
    """Return what each variant gave, with the policies where they were recorded, of the runs that are finished."""
    manifest = directory.described()
    times = recording_times(manifest["steps"], manifest["per_decade"])
    return [made for entry in manifest["variants"] if (made := _result(directory, manifest, entry, times)) is not None]


def _result(directory: Directory, manifest: dict[str, Any], entry: dict[str, Any], times: Any) -> Result | None:
    cells = [cell for _, cell in directory.read_cells([cell["name"] for cell in entry["cells"]])]
    done = [cell for cell in cells if cell is not None and cell[0].t >= manifest["steps"]]
    if not done:
        return None
    curves = concatenate([checkpoint.until(times) for checkpoint, _ in done])
    optimum = manifest["optima"].get(entry["identity"])
    return Result(
        task=entry["task"],
        agent=entry["design"],
        schedule=entry["schedule"],
        parameters=entry["parameters"],
        steps=manifest["steps"],
        runs=sum(len(checkpoint.runs) for checkpoint, _ in done),
        seed=manifest["seed"],
        engine=entry["engine"],
        scaling=entry["scaling"],
        times=times,
        total_reward=curves.total_reward,
        policies=curves.policies,
        pairs=entry["pairs"],
        references={**({} if optimum is None else {"optimum": optimum["value"]}), **_lines(entry, optimum)},
        seconds=sum(notes["seconds"] for _, notes in done),
        version=manifest["provenance"]["everlearn"],
        platform=last_platform(manifest),
        label=entry["agent"],
    )


def gather(directory: Directory, seconds: float = 0.0) -> None:
    """Write the tables, and in the manifest their hashes and the time that was worked.

    A damaged cell is named and left out.  Where no run is finished, tables of fewer steps stay as they are.
    """
    damaged: list[str] = []
    found, manifest = recorded(directory, damaged), directory.described()
    written, steps = manifest["tables"], manifest["tables_steps"]
    if found:
        rows = rows_table(summary(arms(found)))
        tables = {"runs.parquet": runs_table(found), "summary.parquet": rows}
        written = {name: directory.write(name, encoded(table, "parquet")) for name, table in tables.items()}
        steps = manifest["steps"]
    for entry in manifest["variants"]:
        names = [cell["name"] for cell in entry["cells"]]
        entry["seconds"] = sum(cell[1]["seconds"] for _, cell in directory.read_cells(names, []) if cell is not None)
    worked = manifest["seconds"] + seconds
    directory.describe({**manifest, "tables": written, "tables_steps": steps, "seconds": worked})
    for message in damaged:
        warnings.warn(f"{message}; it is left out", stacklevel=2)
