"""The command ``everlearn leaderboard``: run what is missing, and print who lost how much."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from everlearn.api import workforce
from everlearn.cli.output import console, print_json
from everlearn.cli.watching import interruptible, watching
from everlearn.leaderboard import tables
from everlearn.leaderboard.board import make_board
from everlearn.leaderboard.lineup import lineup
from everlearn.leaderboard.tables import Grid
from everlearn.results.references import OPTIMUM

ONLY_ON_THE_PAGE = (OPTIMUM, "worst run")
"""Columns for which a terminal has no room."""


def leaderboard_and_print(
    out: str,
    agents: list[str],
    tasks: list[str],
    sizes: dict[str, int | None],
    threads: int | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Run a board, write what it shows, and print it."""
    chosen = lineup(agents, tasks, **sizes)
    with interruptible(out), watching(chosen.spec.name) as watcher:
        board = make_board(chosen, out, workforce=workforce(threads, cluster), watcher=watcher)
        written = board.write()
    if as_json:
        print_json({**board.to_dict(), "files": [str(path) for path in written]})
        return
    screen = console()
    screen.print(tables.size(board), soft_wrap=True)
    shown = [tables.agents_table(board), tables.tasks_table(board)]
    for grid in [*shown, *([tables.duels_table(board)] if board.duels else [])]:
        _show(screen, grid)
    note = f"Regret is a share of the {OPTIMUM}; pairs of runs with the same random numbers say who did better."
    screen.print(f"[dim]{note}[/dim]", soft_wrap=True)
    for path in written:
        screen.print(f"written: {path.resolve()}", soft_wrap=True, markup=False)


def _show(screen: Console, grid: Grid) -> None:
    screen.print(f"[bold]{escape(grid.title)}[/bold]", soft_wrap=True)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    kept = [number for number, column in enumerate(grid.columns) if column not in ONLY_ON_THE_PAGE]
    for number in kept:
        name = number == 0  # which should not be broken
        table.add_column(
            escape(grid.columns[number]), justify="left" if name else "right", no_wrap=name, overflow="fold"
        )
    for row in grid.rows:
        table.add_row(*(escape(row[number]) for number in kept))
    screen.print(table)
