"""The command ``everlearn tune``: search, and print what was found beside the default."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from everlearn.analysis.names import described
from everlearn.api import tune
from everlearn.cli.output import console, print_json
from everlearn.cli.watching import interruptible, watching
from everlearn.tuning.tuned import Tuned


def tune_and_print(spec: str, out: str, threads: int | None, cluster: str | None, as_json: bool) -> None:
    """Search, and print what was found."""
    with interruptible(out), watching("search") as watcher:
        tuned = tune(spec, out=out, threads=threads, cluster=cluster, watcher=watcher)
    if as_json:
        print_json(tuned.to_dict())
        return
    screen = console()
    _show(screen, tuned)
    screen.print(_verdict(tuned), soft_wrap=True, markup=False)
    screen.print(f"the agent: {tuned.path.resolve() / 'tuned.toml'}", soft_wrap=True, markup=False)
    screen.print(f"everything tried: {tuned.path.resolve() / 'tried.parquet'}, tried.png", soft_wrap=True, markup=False)


def _show(screen: Console, tuned: Tuned) -> None:
    spec, rows = tuned.spec.experiment, tuned.table()
    tried = len({one.candidate.number for one in tuned.standings})
    rungs = f"{tuned.rungs} rung{'s' if tuned.rungs > 1 else ''}"
    title = f"{spec.name}: {tried:,} candidates, {rungs}, {spec.steps:,} steps"
    screen.print(f"[bold]{escape(title)}[/bold]", soft_wrap=True)
    measure = f"{tuned.spec.objective} loss" if tuned.several else "loss"
    found = [[_candidate(row, chosen=number == 0), _score(row)] for number, row in enumerate(rows)]
    _print_table(screen, ["candidate", measure], found)
    if tuned.several:
        tasks = [[escape(task), *(f"{row['tasks'][task]:.4g}" for row in rows)] for task in rows[0]["tasks"]]
        _print_table(screen, ["task", *(row["candidate"] for row in rows)], tasks)
    note = f"Means over {rows[0]['runs']:,} fresh runs, on which nothing was chosen; below each its 95% interval."
    screen.print(f"[dim]{note}[/dim]", soft_wrap=True)


def _print_table(screen: Console, columns: list[str], rows: list[list[str]]) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    screen.print(table)


def _candidate(row: dict[str, Any], *, chosen: bool) -> str:
    label = f"{row['candidate']}{', chosen' if chosen else ''}"
    settings = described(row["settings"], row["settings"]).replace(", ", "\n")
    return f"{escape(label)}\n[dim]{escape(settings)}[/dim]"


def _score(row: dict[str, Any]) -> str:
    mean = f"{row['score']:.4g}"
    return mean if row["low"] is None else f"{mean}\n[dim]{row['low']:.3g}..{row['high']:.3g}[/dim]"


def _verdict(tuned: Tuned) -> str:
    """Say in a sentence what tuning brought."""
    mean, low, high = tuned.improvement
    if tuned.best.number == 1:
        return "nothing that was tried did better than the default"
    if low is None or high is None:
        return f"the chosen one lost {mean:.4g} less than the default, in a single unit, which shows nothing"
    shown = f"95% interval {low:.3g} to {high:.3g}"
    if low > 0:
        return f"the chosen one lost {mean:.4g} less than the default ({shown})"
    return f"that the chosen one is better than the default is not shown: it lost {mean:.4g} less ({shown})"
