"""The command ``everlearn run``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from everlearn.api import run
from everlearn.cli.output import console, print_json, progress_bar
from everlearn.errors import InputError
from everlearn.figures.curves import picture
from everlearn.figures.saving import figure_kind, save_figure
from everlearn.labels import counted
from everlearn.results.references import OPTIMUM
from everlearn.results.result import Result
from everlearn.results.saving import keep, make_folder_for
from everlearn.theory.known import MOST_OUTCOMES, MOST_PAIRS


def run_and_print(
    task: str,
    agent: str,
    schedule: str | None,
    settings: list[str],
    numbers: dict[str, int],
    engine: str,
    threads: int | None,
    plot: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Run, with a progress bar on a terminal, and print the result; ``numbers`` are those of ``run``.

    ``plot`` and ``out`` are a figure and a folder to write; that they can be written is seen to before the run.
    """
    parameters = parse_settings(settings)
    if plot is not None:
        _check_plot(plot, out)
    folder = None if out is None else make_folder_for(out, "--out")
    total, done = numbers["steps"] * numbers["runs"], 0
    try:
        with progress_bar(f"{agent} on {task}", total) as advance:

            def progress(number: int) -> None:
                nonlocal done
                done += number
                advance(number)

            result = run(
                task,
                agent,
                schedule=schedule,
                engine=engine,
                threads=threads,
                parameters=parameters,
                progress=progress,
                **numbers,
            )
    except KeyboardInterrupt:
        typer.echo(f"everlearn: interrupted after {done:,} of {total:,} steps", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print_json(result.to_dict())
    else:
        print_table(result)
    written = [] if plot is None else [save_figure(picture(result), plot)]
    if folder is not None:
        written += keep(result, folder)
    for path in [] if as_json else written:
        console().print(f"written: {path.resolve()}", soft_wrap=True, markup=False)


def _check_plot(plot: str, out: str | None) -> None:
    figure_kind(plot, "--plot")
    if Path(plot).is_dir():
        raise InputError("--plot", plot, "is a folder; give a file")
    if not Path(plot).parent.is_dir() and (out is None or Path(plot).parent != Path(out)):
        raise InputError("--plot", plot, f"there is no folder {str(Path(plot).parent)!r}; make it first")


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Turn ``KEY=VALUE`` texts into a mapping.

    Examples
    --------
    >>> parse_settings(["task.window=6", "agent.policy=0=slow,1=fast"])
    {'task.window': '6', 'agent.policy': '0=slow,1=fast'}

    """
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError("--set", setting, "write KEY=VALUE, as in task.window=6")
        if key.strip() in parsed:
            raise InputError("--set", setting, f"gives {key.strip()} a second time; give it once")
        parsed[key.strip()] = value.strip()
    return parsed


def print_table(result: Result) -> None:
    """Print a compact table for a person."""
    from rich.markup import escape
    from rich.table import Table

    out = console()
    schedule = f", schedule {result.schedule}" if result.schedule else ""
    out.print(f"[bold]{escape(result.agent)}[/bold]{escape(schedule)} on [bold]{escape(result.task)}[/bold]")
    size = f"{counted(result.runs, 'run')} of {counted(result.steps, 'step')}"
    out.print(f"{size}, seed {result.seed}; learns from {result.scaling}", soft_wrap=True)
    table = Table(title=None)
    for column in ("average reward", "mean", "standard error", "worst run", "best run"):
        table.add_column(column, justify="left" if column == "average reward" else "right")
    final = result.final
    error = f"{final['standard_error']:.4f}" if result.runs > 1 else "-"
    table.add_row(
        f"over {counted(result.steps, 'step')}",
        f"{final['mean']:.4f}",
        error,
        f"{final['min']:.4f}",
        f"{final['max']:.4f}",
    )
    for name, value in result.references.items():
        table.add_row(f"[dim]{escape(name)}[/dim]", f"[dim]{value:.4f}[/dim]", "", "", "")
    out.print(table)
    if OPTIMUM not in result.references:
        most = f"{MOST_PAIRS:,} pairs of memory and state and {MOST_OUTCOMES:,} outcomes"
        why = f"it is computed unasked for a model of at most {most}"
        out.print(f"[dim]The {OPTIMUM} is not known: {why}; see everlearn theory.[/dim]", soft_wrap=True)
    speed = f"{result.seconds:.2f} s, {result.steps_per_second:,.0f} steps a second, {result.engine} engine"
    expanded = "" if result.pairs is None else f", {counted(result.pairs, 'pair')} of memory and state expanded"
    out.print(f"[dim]{speed}{expanded}[/dim]", soft_wrap=True)
