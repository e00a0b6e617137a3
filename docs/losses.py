"""Say where our agent is shown to lose on a board, and why: a table of the page ``practical.md``."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from everlearn.leaderboard.board import Board
from everlearn.leaderboard.standings import Duel, lost_duels
from everlearn.leaderboard.tables import Grid, marked, share


class Cause(NamedTuple):
    """Why the default loses on a task, and what helps beside another agent."""

    why: str
    hint: str = ""


TRIALS = Cause("trials")
CHANGE = Cause("follows late")
SHARED = Cause("shared steps")
PLACE = Cause("hidden place", "`task.aleatoric=window:K`")

CAUSES = {
    **dict.fromkeys(("riverswim", "riverswim-12", "garnet", "inventory", "kuhn-poker", "t-maze"), TRIALS),
    **dict.fromkeys(("service-station", "access-control", "alternating"), TRIALS),
    "queueing-network, tandem": Cause("trials", "`lattice`"),
    **dict.fromkeys(("seasons", "drifting"), CHANGE),
    **dict.fromkeys(("queueing-network", "biased-rps", "grid-4x4", "maintenance", "shuttle"), SHARED),
    "garnet, groups of 3": SHARED,
    **dict.fromkeys(("cheese-maze", "tiger", "extended-tiger", "maze-4x3", "maze-1d"), PLACE),
}
"""By the label of the task or else its name; the page says what the words mean and which causes were measured."""

UNKNOWN = Cause("not known")

NAMED = 3
"""How many of the rivals that are shown to be better are named."""


def losses(board: Board) -> Grid:
    """Return a row for each task on which a rival is shown to be better: the best of these rivals, and the cause."""
    worse, ours = lost_duels(board.duels), board.lineup.ours
    heads = ["task", "best rival", "its regret", "that of the default", "steps", "rivals", "why", "instead"]
    ends = sorted(Counter(best.time for best, *_ in worse.values()).items(), reverse=True)
    split = ", ".join(f"{count} {'only ' * (place > 0)}after {end:,}" for place, (end, count) in enumerate(ends))
    title = f"Tasks on which a rival is shown to be better: {len(worse)} of {len(board.lineup.tasks)} ({split} steps)"
    return Grid(title, heads, [_row(board, ours, task, duels) for task, duels in worse.items()])


def _row(board: Board, ours: str, task: str, duels: list[Duel]) -> list[str]:
    best = duels[0]
    regret = {row.agent: share(row.relative_regret) for row in board.rows if (row.task, row.time) == (task, best.time)}
    cause = CAUSES.get(task) or CAUSES.get(board.lineup.kinds[task], UNKNOWN)
    instead = [*(f"`{duel.rival}`" for duel in duels[:NAMED]), *filter(None, [cause.hint])]
    return [
        marked(board, task),
        best.rival,
        regret[best.rival],
        regret[ours],
        f"{best.time:,}",
        str(len(duels)),
        cause.why,
        ", ".join(instead),
    ]
