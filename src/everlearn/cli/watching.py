"""Progress of an experiment for a person: cells done, steps a second, time left; nothing where nobody looks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from everlearn.experiments.execute import Watcher


class Bar(Watcher):
    """A bar over all steps, with the cells beside it."""

    def __init__(self, progress: Progress, title: str) -> None:
        self.progress = progress
        self.task: TaskID = progress.add_task(escape(title), total=None, cells="preparing", speed="")
        self.cells = self.finished = 0
        self._lock = threading.Lock()

    def stage(self, name: str) -> None:
        """Show what is being done."""
        self.progress.update(self.task, description=escape(name), cells="preparing")

    def begin(self, cells: int, done: int, steps: int, steps_done: int) -> None:
        """Begin where the experiment was."""
        self.cells, self.finished = cells, done
        self.progress.update(self.task, total=steps, completed=steps_done)
        self.progress.reset(self.task, start=True, total=steps, completed=steps_done)
        self._show()

    def steps(self, number: int) -> None:
        """Move the bar."""
        with self._lock:
            self.progress.advance(self.task, number)
            speed = self.progress.tasks[0].speed
            self.progress.update(self.task, speed=f"{speed:,.0f} steps/s" if speed else "")

    def cell(self) -> None:
        """Count a cell."""
        with self._lock:
            self.finished += 1
            self._show()

    def _show(self) -> None:
        self.progress.update(self.task, cells=f"{self.finished}/{self.cells} cells")


@contextmanager
def watching(title: str) -> Iterator[Watcher]:
    """Show progress on standard error, where that is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[cells]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        yield Bar(progress, title)


@contextmanager
def interruptible(directory: str) -> Iterator[None]:
    """On Ctrl-C, or when asked to end, commit what was done, and say how to go on."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except KeyboardInterrupt:
        message = (
            f"everlearn: interrupted; what was done is kept in {directory}, and the same command goes on from there"
        )
        typer.echo(message, err=True)
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_signal: Any) -> None:
    raise KeyboardInterrupt
