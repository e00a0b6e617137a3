"""The command ``everlearn run``."""

from __future__ import annotations

from typing import Any

import typer

from everlearn.api import run
from everlearn.cli.output import console, print_json, progress_bar
from everlearn.errors import InputError
from everlearn.results.result import Result


def run_and_print(
    task: str,
    agent: str,
    schedule: str | None,
    settings: list[str],
    numbers: dict[str, int],
    engine: str,
    threads: int | None,
    as_json: bool,
) -> None:
    """Run, with a progress bar on a terminal, and print the result; ``numbers`` are those of ``run``."""
    parameters = parse_settings(settings)
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


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Turn ``KEY=VALUE`` texts into a mapping.

    Examples
    --------
    >>> parse_settings(["task.window=6", "agent.policy=0=slow,1=fast"])
    {'task.window': '6', 'agent.policy': '0=slow,1=fast'}

    """
    parsed = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError("--set", setting, "write KEY=VALUE, as in task.window=6")
        parsed[key.strip()] = value.strip()
    return parsed


def print_table(result: Result) -> None:
    """Print a compact table for a person."""
    from rich.table import Table

    out = console()
    schedule = f", schedule {result.schedule}" if result.schedule else ""
    out.print(f"[bold]{result.agent}[/bold]{schedule} on [bold]{result.task}[/bold]")
    runs = f"{result.runs:,} run" + ("s" if result.runs > 1 else "")
    out.print(f"{runs} of {result.steps:,} steps, seed {result.seed}; learns from {result.scaling}", soft_wrap=True)
    table = Table(title=None)
    for column in ("average reward", "mean", "standard error", "worst run", "best run"):
        table.add_column(column, justify="left" if column == "average reward" else "right")
    final = result.final
    error = f"{final['standard_error']:.4f}" if result.runs > 1 else "-"
    table.add_row(
        f"over {result.steps:,} steps",
        f"{final['mean']:.4f}",
        error,
        f"{final['min']:.4f}",
        f"{final['max']:.4f}",
    )
    for name, value in result.references.items():
        table.add_row(f"[dim]{name}, exact[/dim]", f"[dim]{value:.4f}[/dim]", "", "", "")
    out.print(table)
    speed = f"{result.seconds:.2f} s, {result.steps_per_second:,.0f} steps a second, {result.engine} engine"
    expanded = "" if result.pairs is None else f", {result.pairs:,} pairs of memory and state expanded"
    out.print(f"[dim]{speed}{expanded}[/dim]", soft_wrap=True)
