"""A board as a page of Markdown: what it shows first, then every task in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from everlearn.leaderboard import tables
from everlearn.leaderboard.duels import WORSE
from everlearn.leaderboard.tables import Grid

if TYPE_CHECKING:
    from everlearn.leaderboard.board import Board


def page(board: Board) -> str:
    """Return the whole page."""
    details = "\n".join(markdown(tables.details_table(board, task), level=3) for task in board.lineup.tasks)
    picture = "![Relative regret over time, a panel for each task](regret.png)"
    return f"# Leaderboard\n\n{summary(board)}\n{picture}\n\n## Every task\n\n{_EXPLAINED}\n\n{details}"


_EXPLAINED = r"""Relative regret after T steps: (λ_\* minus the average reward) / |λ_\*|, where λ_\* is the optimum over
all policies; its mean over runs, a 95% interval of that (bootstrap, BCa), and at the end the worst run."""


def summary(board: Board, level: int = 2) -> str:
    """Return what a board shows: agents, tasks, and duels, each a table."""
    grids = [tables.agents_table(board), tables.regret_table(board)]
    if any(reference.hidden for reference in board.lineup.references.values()):
        grids.append(tables.hidden_table(board))
    grids.append(tables.tasks_table(board))
    if board.duels:
        grids.append(tables.duels_table(board))
    return f"{size(board)}\n\n" + "\n".join(markdown(grid, level) for grid in grids) + "".join(_behind(board, level))


FEWEST = 6
"""How many runs can show a difference: with fewer, no way to swap the signs is as rare as one in twenty."""


def size(board: Board) -> str:
    """Say in a sentence what was run."""
    spec = board.lineup.spec
    few = "" if spec.runs >= FEWEST else f" So few runs can show no difference between agents; give {FEWEST} or more."
    return (
        f"{len(spec.agents)} agents on {len(spec.tasks)} tasks, {spec.runs:,} runs of {spec.steps:,} steps each, "
        f"seed {spec.seed}.{few}"
    )


def markdown(grid: Grid, level: int = 2) -> str:
    """Return a table as Markdown, under a heading.

    Examples
    --------
    >>> print(markdown(Grid("Shops", ["shop", "price"], [["mall", "3"]])))
    ## Shops
    <BLANKLINE>
    | shop | price |
    |---|--:|
    | mall | 3 |
    <BLANKLINE>

    """
    lines = [f"{'#' * level} {grid.title}", "", _line(grid.columns), "|---|" + "--:|" * (len(grid.columns) - 1)]
    return "\n".join([*lines, *map(_line, grid.rows), ""])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _behind(board: Board, level: int) -> Iterator[str]:
    """Yield, for each task on which a rival is shown to do better than our agent, by how much the best of them does."""
    worse = [one for one in board.duels if one.verdict == WORSE]
    if not worse:
        return
    yield f"\n{'#' * level} Where {board.lineup.ours} loses\n\n"
    for task in dict.fromkeys(one.task for one in worse):
        best = min((one for one in worse if one.task == task), key=lambda one: one.difference)
        yield f"- {best.sentence}\n"
