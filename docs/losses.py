"""Say where our agent is shown to lose on a board, and why: a table of the page ``practical.md``."""

from __future__ import annotations

from typing import NamedTuple

from everlearn.leaderboard.board import Board
from everlearn.leaderboard.standings import WORSE, Duel
from everlearn.leaderboard.tables import Grid, marked, share


class Cause(NamedTuple):
    """Why the default loses on tasks of one name, and what to use instead."""

    why: str
    instead: str


MODEL = Cause("no model", "`planner`, `psrl`")
PLACE = Cause("hidden place", "`task.aleatoric=window:K`, `learned`")
STAGES = Cause("hidden place", "`ucb-h`, `task.aleatoric=window:K`, `learned`")

CAUSES = {
    **dict.fromkeys(("riverswim", "riverswim-12", "garnet", "inventory", "kuhn-poker", "t-maze"), MODEL),
    "service-station": Cause("no model", "`planner`"),
    "access-control": Cause("held actions", "`planner`"),
    "seasons": Cause("held actions", "`planner`, `smooth`"),
    "drifting": Cause("no forgetting", "`smooth`, `planner`, `optimistic-q`"),
    "queueing-network": Cause("hidden reputation; in the tandem, held actions", "in the tandem `planner`, `lattice`"),
    **dict.fromkeys(("cheese-maze", "grid-4x4", "shuttle"), STAGES),
    **dict.fromkeys(("tiger", "extended-tiger", "maze-4x3"), PLACE),
    "tic-tac-toe": Cause("initial values", "`differential-q`"),
}
"""By the name of the task; the page says what the words mean and which of the causes were measured."""

UNKNOWN = Cause("not known", "the rival")


def losses(board: Board) -> Grid:
    """Return a row for each task on which a rival is shown to be better: the best of these rivals, and the cause."""
    worse: dict[str, list[Duel]] = {}
    for duel in board.duels:
        if duel.verdict == WORSE:
            worse.setdefault(duel.task, []).append(duel)
    ours, tasks = board.lineup.ours, board.lineup.tasks
    heads = ["task", "best rival", "its regret", "that of the default", "steps", "rivals", "why", "instead"]
    title = f"Tasks on which a rival is shown to be better: {len(worse)} of {len(tasks)}"
    return Grid(title, heads, [_row(board, ours, task, duels) for task, duels in worse.items()])


def _row(board: Board, ours: str, task: str, duels: list[Duel]) -> list[str]:
    best = min(duels, key=lambda duel: duel.difference)
    lost = {(row.agent, row.time): share(row.relative_regret) for row in board.rows if row.task == task}
    end = min(max(time for agent, time in lost if agent == name) for name in (ours, best.rival))
    cause = CAUSES.get(board.lineup.kinds[task], UNKNOWN)
    return [
        marked(board, task),
        best.rival,
        lost[best.rival, end],
        lost[ours, end],
        f"{end:,}",
        str(len(duels)),
        *cause,
    ]
