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


MODEL = "a visit lowers one value by one update; in a model, what it taught reaches all states"
HIDDEN = "the observation does not tell where one is; all agents lose much (not tested)"
PAST = "`task.aleatoric=window:K`, `learned`"

CAUSES = {
    "service-station": Cause(f"{MODEL} (not tested)", "`planner`"),
    "riverswim": Cause(f"{MODEL} (measured below)", "`planner`, `psrl`"),
    "riverswim-12": Cause(f"{MODEL} (measured below)", "`planner`, `psrl`"),
    "garnet": Cause(f"{MODEL} (not tested)", "`planner`, `psrl`"),
    "inventory": Cause(f"{MODEL} (not tested)", "`planner`, `psrl`"),
    "kuhn-poker": Cause(f"{MODEL} (not tested)", "`planner`, `psrl`"),
    "t-maze": Cause(f"{MODEL} (not tested)", "`planner`, `psrl`"),
    "access-control": Cause("an action is held, but the best one depends on who comes (measured below)", "`planner`"),
    "seasons": Cause("an action is held also after the change (measured below)", "`planner`, `smooth`"),
    "drifting": Cause(
        "the step size falls with the count of visits (measured below)", "`smooth`, `planner`, `optimistic-q`"
    ),
    "queueing-network": Cause(
        "what is hidden makes values mislead ([](queueing.md)); in the tandem, where nothing is, it is held actions",
        "`planner` or `lattice` in the tandem; else none is good",
    ),
    "cheese-maze": Cause(HIDDEN, PAST),
    "extended-tiger": Cause(HIDDEN, PAST),
    "tiger": Cause(HIDDEN, PAST),
    "grid-4x4": Cause(f"{HIDDEN}; `ucb-h` counts stages", f"`ucb-h`, {PAST}"),
    "shuttle": Cause(f"{HIDDEN}; `ucb-h` counts stages", f"`ucb-h`, {PAST}"),
    "maze-4x3": Cause(HIDDEN, PAST),
    "tic-tac-toe": Cause("initial values are lowered too slowly for 2,423 states (not tested)", "`differential-q`"),
}


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
    cause = CAUSES[board.lineup.kinds[task]]
    return [
        marked(board, task),
        best.rival,
        lost[best.rival, end],
        lost[ours, end],
        f"{end:,}",
        str(len(duels)),
        *cause,
    ]
