"""Show on a terminal how far a run or an experiment is, and end cleanly when it is interrupted."""

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

from everlearn.cli.endings import INTERRUPTED
from everlearn.experiments.execute import Watcher


class Bar(Watcher):
    """A bar over all steps, with the number of finished cells beside it if there are cells."""

    def __init__(self, progress: Progress, title: str, total: int | None = None) -> None:
        self.progress = progress
        cells = "preparing" if total is None else ""
        self.task: TaskID = progress.add_task(escape(title), total=total, cells=cells, speed="")
        self.cells = self.finished = 0
        self._lock = threading.Lock()

    @property
    def done(self) -> int:
        """How many steps are done."""
        return int(self.progress.tasks[0].completed)

    def stage(self, name: str) -> None:
        """Show what is being done."""
        self.progress.update(self.task, description=escape(name), cells="preparing")

    def begin(self, cells: int, done: int, steps: int, steps_done: int) -> None:
        """Show how much of the experiment was done before."""
        self.cells, self.finished = cells, done
        self.progress.reset(self.task, start=True, total=steps, completed=steps_done)
        self._show()

    def steps(self, number: int) -> None:
        """Advance the bar."""
        with self._lock:
            self.progress.advance(self.task, number)
            speed = self.progress.tasks[0].finished_speed or self.progress.tasks[0].speed
            self.progress.update(self.task, speed=f"{speed:,.0f} steps/s" if speed else "")

    def cell(self) -> None:
        """Count a finished cell."""
        with self._lock:
            self.finished += 1
            self._show()

    def _show(self) -> None:
        self.progress.update(self.task, cells=f"{self.finished}/{self.cells} cells")


@contextmanager
def show_progress(title: str, total: int | None = None) -> Iterator[Bar]:
    """Show progress on standard error if that is a terminal."""
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
        yield Bar(progress, title, total)


@contextmanager
def interruptible(directory: str) -> Iterator[None]:
    """On Ctrl-C or SIGTERM, let the work be saved, and say how to resume."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except KeyboardInterrupt:
        message = f"interrupted; what was done is kept in {directory}; run the same command again to resume"
        typer.echo(f"everlearn: {message}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_signal: Any) -> None:
    raise KeyboardInterrupt
