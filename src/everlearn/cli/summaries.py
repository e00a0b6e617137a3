"""Tables of an experiment for a person: a table for each task, a row for each agent, intervals below the means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from everlearn.analysis.names import known_averages, written
from everlearn.experiments.experiment import Experiment
from everlearn.results.arm import Arm
from everlearn.results.references import OPTIMUM

COLUMNS = 4
"""How many times regret is shown at, the last ones; more would not fit."""


def show_tables(
    screen: Console,
    experiment: Experiment,
    rows: list[dict[str, Any]],
    regret: list[dict[str, Any]],
    confidence: float,
) -> None:
    """Print the measures, and regret over time."""
    steps = f"{experiment.manifest['steps']:,} steps"
    known = _known(experiment.arms)
    for task, group in _by_task(rows).items():
        measures = list(dict.fromkeys(row["measure"] for row in group))
        _show(screen, f"{task}, {steps}{known[task]}", group, "measure", measures)
    for task, group in _by_task(regret).items():
        times = list(dict.fromkeys(row["time"] for row in group))[-COLUMNS:]
        title = f"{task}, realized regret after so many steps\nagainst the {OPTIMUM}"
        _show(screen, title, group, "time", times)
    arms = {(arm.unit, arm.units) for arm in experiment.arms}
    counted = ", ".join(f"{number:,} {unit}{'s' if number > 1 else ''}" for unit, number in sorted(arms))
    note = f"Means over {counted}; below each its {confidence:.0%} interval, by bootstrap."
    screen.print(f"[dim]{note}[/dim]", soft_wrap=True)


def _known(arms: Sequence[Arm]) -> dict[str, str]:
    """Return for each task what its best policies earn, as the end of a title."""
    groups = _by_task([{"task": arm.task, "settings": arm.settings, "known": known_averages(arm)} for arm in arms])
    return {task: f"\n{group[0]['known']}" if group[0]["known"] else "" for task, group in groups.items()}


def _show(screen: Console, title: str, rows: list[dict[str, Any]], key: str, columns: list[Any]) -> None:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )
    table.add_column("agent", overflow="fold", min_width=16)
    for column in columns:
        table.add_column(f"{column:,}" if isinstance(column, int) else column, justify="right", overflow="fold")
    cells: dict[str, dict[Any, str]] = {}
    for row in rows:
        cells.setdefault(_agent(row), {})[row[key]] = _cell(row)
    for agent, found in cells.items():
        table.add_row(agent, *(found.get(column, "-") for column in columns))
    screen.print(table)


def _by_task(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        settings = _written(row["settings"], task=True)
        groups.setdefault(f"{row['task']} ({settings})" if settings else row["task"], []).append(row)
    return groups


def _agent(row: dict[str, Any]) -> str:
    settings = _written(row["settings"], task=False)
    label = escape(row["agent"])
    return f"{label}\n[dim]{escape(settings)}[/dim]" if settings else label


def _written(settings: Mapping[str, Any], *, task: bool) -> str:
    chosen = {name: value for name, value in settings.items() if name.startswith("task.") == task}
    return (", " if task else "\n").join(
        f"{name.rpartition('.')[2]}={written(value)}" for name, value in chosen.items()
    )


def _cell(row: dict[str, Any]) -> str:
    mean = _number(row["mean"])
    return mean if row["low"] is None else f"{mean}\n[dim]{_number(row['low'], 3)}..{_number(row['high'], 3)}[/dim]"


def _number(value: float, digits: int = 4) -> str:
    """Return so many digits; thousands and millions have their letters, so that columns stay narrow."""
    for least, size, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e3, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / size:.{digits}g}{letter}"
    return f"{value:.{digits}g}"
