"""What the commands share in printing: a table for people, JSON for programs, progress on a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from everlearn.cli.options import documents


def print_json(document: Any) -> None:
    """Print one JSON document."""
    documents().write(json.dumps(document, indent=1, allow_nan=False, default=str) + "\n")


def console() -> Console:
    """Return a console on standard output."""
    return Console(highlight=False, soft_wrap=False)


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error, where that is a terminal; yield what to call with steps done."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task(title, total=total, speed="")

        def advance(steps: int) -> None:
            bar.advance(task, steps)
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            bar.update(task, speed=f"{speed:,.0f} steps/s" if speed else "")

        yield advance
