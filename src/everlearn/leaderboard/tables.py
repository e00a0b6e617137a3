"""The tables of a board as text, which the page and the terminal show alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.leaderboard.duels import OPEN, VERDICTS, tally
from everlearn.leaderboard.lineup import KINDS
from everlearn.leaderboard.standings import final, ranks
from everlearn.results.references import BEST, OPTIMUM

if TYPE_CHECKING:
    from everlearn.leaderboard.board import Board


class Grid(NamedTuple):
    """A table of texts: what it shows, its headings, and its rows; the first column is on the left."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def agents_table(board: Board) -> Grid:
    """Return how the agents did in all: ranks, tasks led, and steps a second, which were measured."""
    kinds = _kinds(board)
    columns = [f"{what}, {kind}" for what in ("mean rank", "led") for kind in kinds]
    rows = [
        [each["agent"]]
        + [f"{each[f'mean rank, {kind}']:.1f}" for kind in kinds]
        + [f"{each[f'led, {kind}']} of {each[f'tasks, {kind}']}" for kind in kinds]
        + [speed(board.speeds.get(each["agent"]))]
        for each in board.overall
    ]
    return Grid("Agents, best first", ["agent", *columns, "steps a second"], rows)


def regret_table(board: Board) -> Grid:
    """Return the relative regret of every agent on every task at the end, the least in each row marked."""
    time = board.lineup.spec.steps
    title = f"Relative regret after {time:,} steps, against the {OPTIMUM}"
    return _by_task(board, title, "relative_regret", board.lineup.tasks)


def hidden_table(board: Board) -> Grid:
    """Return regret against the best policy over aleatoric states, for tasks of which these hide something."""
    hidden = [task for task in board.lineup.tasks if board.lineup.references[task].hidden]
    title = f"Where the aleatoric state hides something: regret against the {BEST}"
    return _by_task(board, title, "against_best_aleatoric", hidden)


def tasks_table(board: Board) -> Grid:
    """Return how our agent did on each task: its regret, its place, and how many others it is better than."""
    ours, places = board.lineup.ours, ranks(board.rows)
    columns = ["task", OPTIMUM, "regret", "worst run", "place", " / ".join(VERDICTS), "best other"]
    rows = []
    for task in board.lineup.tasks:
        lost = {row["agent"]: row for row in final(board.rows) if row["task"] == task}
        verdicts = [one.verdict for one in board.duels if one.task == task]
        others = [agent for agent in lost if agent != ours]
        best = min(others, key=lambda agent: lost[agent]["relative_regret"], default=None)
        rows.append(
            [
                marked(board, task),
                f"{lost[ours]['optimum']:.4g}",
                share(lost[ours]["relative_regret"]),
                share(lost[ours]["worst_run"]),
                f"{places[task][ours]:g}",
                " / ".join(str(verdicts.count(verdict)) for verdict in VERDICTS),
                "-" if best is None else f"{best} {share(lost[best]['relative_regret'])}",
            ]
        )
    return Grid(f"{ours}, task by task", columns, rows)


def duels_table(board: Board) -> Grid:
    """Return against each rival on how many tasks our agent did better, did worse, or neither is shown."""
    kinds = _kinds(board)
    rows = [
        [rival, *(" / ".join(str(counts[kind][verdict]) for verdict in VERDICTS) for kind in kinds)]
        for rival, counts in tally(board.duels).items()
    ]
    title = f"{board.lineup.ours} against each: tasks on which it is {' / '.join(VERDICTS)}"
    return Grid(title, ["against", *kinds], rows)


def details_table(board: Board, task: str) -> Grid:
    """Return everything of one task: regret at several times with intervals, the worst run, and speed."""
    rows = [row for row in board.rows if row["task"] == task]
    times = list(dict.fromkeys(row["time"] for row in rows))
    verdicts = {one.rival: one.verdict for one in board.duels if one.task == task}
    found = []
    for last in final(rows):
        agent = last["agent"]
        at = {row["time"]: row for row in rows if row["agent"] == agent}
        shown = [text for time in times for text in (share(at[time]["relative_regret"]), interval(at[time]))]
        against = [share(last["against_best_aleatoric"])] if board.lineup.references[task].hidden else []
        versus = "" if agent == board.lineup.ours else verdicts.get(agent, OPEN)
        found.append(
            [agent, *shown, share(last["worst_run"]), *against, versus, speed(board.task_speeds.get((task, agent)))]
        )
    hidden = [f"against the {BEST}"] if board.lineup.references[task].hidden else []
    heads = [text for time in times for text in (f"T = {time:,}", "interval")]
    columns = ["agent", *heads, "worst run", *hidden, f"{board.lineup.ours} is", "steps a second"]
    return Grid(marked(board, task), columns, found)


def marked(board: Board, task: str) -> str:
    """Return the name of a task, and that settings were chosen on it where they were."""
    return f"{task} ({board.lineup.kind(task)})" if task in board.lineup.training else task


def share(value: float | None) -> str:
    """Return a share of the optimum with three decimals.

    Examples
    --------
    >>> share(0.01249), share(-0.0001), share(None)
    ('0.012', '0.000', '-')

    """
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"  # the sum turns -0.0 into 0.0


def interval(row: Mapping[str, Any]) -> str:
    """Return an interval, where there is one.

    Examples
    --------
    >>> interval({"low": 0.1, "high": 0.25}), interval({"low": None, "high": None})
    ('0.100..0.250', '-')

    """
    return "-" if row["low"] is None else f"{share(row['low'])}..{share(row['high'])}"


def speed(steps: float | None) -> str:
    """Return steps a second, in millions.

    Examples
    --------
    >>> speed(23_456_789.0), speed(654_321.0), speed(None)
    ('23 M', '0.7 M', '-')

    """
    return "-" if steps is None else f"{steps / 1e6:.{1 if steps < 1e7 else 0}f} M"


def _kinds(board: Board) -> list[str]:
    held = {board.lineup.kind(task) for task in board.lineup.tasks}
    return [kind for kind in KINDS if kind in held]


def _by_task(board: Board, title: str, key: str, tasks: Iterable[str]) -> Grid:
    agents = [each["agent"] for each in board.overall]
    lost = {(row["task"], row["agent"]): row[key] for row in final(board.rows)}
    rows = []
    for task in tasks:
        least = min(lost[task, agent] for agent in agents)
        rows.append([marked(board, task), *(_bold(lost[task, agent], least) for agent in agents)])
    return Grid(title, ["task", *agents], rows)


def _bold(value: float, least: float) -> str:
    return f"**{share(value)}**" if value == least else share(value)
