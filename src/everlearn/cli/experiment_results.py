"""The commands that show an experiment: ``everlearn experiment table``, ``compare``, ``plot`` and ``export``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import everlearn as el
from everlearn.cli import options
from everlearn.cli.experiment import Directory
from everlearn.cli.options import number
from everlearn.cli.output import Cell, console, estimate, print_json, print_table, say, say_paths
from everlearn.errors import InputError

MEASURES = "final, late, anytime, regret or 'relative regret'"
LAST_TIMES = 4
"""The number of times at which regret is printed, the last ones; more would not fit."""

Confidence = Annotated[float, number(help="The confidence level of the intervals.")]


def table(
    directory: Directory,
    measure: Annotated[
        list[str] | None,
        typer.Option(metavar="MEASURE", help=f"{MEASURES}; may be repeated. Default: final, late and relative regret."),
    ] = None,
    confidence: Confidence = 0.95,
    as_json: options.AsJson = False,
) -> None:
    """Print what each agent earned on each task, with intervals over runs, and regret over time."""
    from everlearn.experiments.experiment import SHOWN

    experiment = el.Experiment(directory)
    rows = experiment.table(measure or (None if as_json else SHOWN), confidence=_check_confidence(confidence))
    regret = experiment.regret(confidence=confidence)
    if as_json:
        print_json({"name": experiment.manifest["name"], "summary": rows, "regret": regret})
    else:
        _print_tables(experiment, rows, regret, confidence)


def _check_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError("--confidence", confidence, "give a number between 0 and 1, as in 0.95")
    return confidence


def _print_tables(
    experiment: el.Experiment, rows: list[dict[str, Any]], regret: list[dict[str, Any]], confidence: float
) -> None:
    """Print for each task a table of the measures, and one of regret over time."""
    from everlearn.analysis.names import known_averages
    from everlearn.results.references import OPTIMUM

    arms = experiment.arms
    names = {arm.agent: arm.name or arm.agent for arm in arms}
    rows, regret = ([{**row, "agent": names[row["agent"]]} for row in each] for each in (rows, regret))
    optima = _by_task([{"task": arm.task, "settings": arm.settings, "known": known_averages(arm)} for arm in arms])
    for task, group in _by_task(rows).items():
        known = optima[task][0]["known"]
        title = f"{task}, {experiment.manifest['steps']:,} steps"
        measures = list(dict.fromkeys(row["measure"] for row in group))
        _print_group(f"{title}\n{known}" if known else title, group, "measure", measures)
    for task, group in _by_task(regret).items():
        times = list(dict.fromkeys(row["time"] for row in group))[-LAST_TIMES:]
        _print_group(f"{task}, realized regret after so many steps\nagainst the {OPTIMUM}", group, "time", times)
    units = sorted({(arm.unit, arm.units) for arm in arms})
    counts = ", ".join(f"{count:,} {unit}{'s' if count > 1 else ''}" for unit, count in units)
    say(f"Means over {counts}; below each its {confidence:.0%} interval, by bootstrap.", style="dim")


def _by_task(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group rows by the title of their task: its label and its parameters."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        settings = ", ".join(_settings(row["settings"], of_task=True))
        groups.setdefault(f"{row['task']} ({settings})" if settings else row["task"], []).append(row)
    return groups


def _print_group(title: str, rows: list[dict[str, Any]], key: str, columns: list[Any]) -> None:
    """Print one row per agent; the value of ``key`` is the column."""
    cells: dict[tuple[str, str], dict[Any, Cell]] = {}
    for row in rows:
        settings = "".join(f"\n{setting}" for setting in _settings(row["settings"], of_task=False))
        interval = (None if row[end] is None else _abbreviate(row[end], 3) for end in ("low", "high"))
        ends = [row[end] for end in ("mean", "mean_upper") if row[end] is not None]
        mean = " to ".join(_abbreviate(end) for end in ends)
        cells.setdefault((row["agent"], settings), {})[row[key]] = estimate(mean, *interval)
    headers = [f"{column:,}" if isinstance(column, int) else column for column in columns]
    printed: list[list[Cell]] = [
        [[agent, (settings, "dim")], *(by_column.get(column, "-") for column in columns)]
        for (agent, settings), by_column in cells.items()
    ]
    print_table(["agent", *headers], printed, title=title, first={"min_width": 16})


def _settings(settings: Mapping[str, Any], *, of_task: bool) -> list[str]:
    """Write the parameters of the task, or those of the agent and its schedule."""
    from everlearn.analysis.names import written

    chosen = {name: value for name, value in settings.items() if name.startswith("task.") == of_task}
    return [f"{name.rpartition('.')[2]}={written(value)}" for name, value in chosen.items()]


def _abbreviate(value: float, digits: int = 4) -> str:
    """Write a number with so many digits, and thousands, millions and billions as letters: columns stay narrow."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.{digits}g}{letter}"
    return f"{value:.{digits}g}"


def compare(
    directory: Directory,
    measure: Annotated[str, typer.Option(help=f"{MEASURES}.")] = "final",
    against: Annotated[
        str | None, typer.Option(metavar="AGENT", help="Compare every agent with this one. Default: the first.")
    ] = None,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Compare every agent with every other.")] = False,
    sentences: Annotated[bool, typer.Option("--sentences", help="Print one sentence per comparison.")] = False,
    confidence: Confidence = 0.95,
    as_json: options.AsJson = False,
) -> None:
    """Compare every agent with the first, in pairs of runs with the same random numbers, and print one matrix."""
    if all_pairs and against is not None:
        raise InputError("--against", against, "leave it out with --all-pairs, or leave out --all-pairs")
    comparisons = el.Experiment(directory).compare(
        measure, against=against, all_pairs=all_pairs, confidence=_check_confidence(confidence)
    )
    if as_json:
        print_json(comparisons.rows)
        return
    for text in comparisons.sentences if sentences and comparisons else [comparisons.text(console().width)]:
        say(text)
    if sentences and len(comparisons) > 1:
        adjusted = f"p-values are adjusted for {len(comparisons)} comparisons (Holm)"
        say(f"{adjusted}; each pairs runs with the same random numbers.", style="dim")


def plot(
    directory: Directory,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="The directory for the figures. Default: DIR/figures.")
    ] = None,
    form: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="FORMAT", help="png, svg or pdf; may be repeated. Default: png, svg."),
    ] = None,
    measure: Annotated[str, typer.Option(help="The measure that a sweep over parameters shows.")] = "final",
    as_json: options.AsJson = False,
) -> None:
    """Draw average reward, regret if the optimum is known, and sweeps over parameters."""
    _print_paths("figure", el.Experiment(directory).plot(out, formats=form or ["png", "svg"], measure=measure), as_json)


def export(
    directory: Directory,
    form: Annotated[str, typer.Option("--format", help="parquet or csv.")] = "parquet",
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file to write. Default: DIR/runs.FORMAT.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write every run at every recording time to one file."""
    _print_paths("table", [el.Experiment(directory).export(form, out)], as_json)


def _print_paths(kind: str, paths: list[Path], as_json: bool) -> None:
    if as_json:
        print_json({f"{kind}s": [str(path) for path in paths]})
    else:
        say_paths(kind, paths)
