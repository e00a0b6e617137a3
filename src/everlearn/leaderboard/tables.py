"""The tables of a board as text, for the terminal and the page, and the page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.leaderboard.lineup import KINDS
from everlearn.leaderboard.standings import OPEN, VERDICTS, WORSE, final, ranks
from everlearn.results.references import BEST, OPTIMUM

if TYPE_CHECKING:
    from everlearn.leaderboard.board import Board

_PAGE = r"""# Leaderboard

{summary}
![Relative regret over time, a panel for each task](regret.png)

## Every task

Relative regret after T steps: (λ_\* minus the average reward) / |λ_\*|, where λ_\* is the optimum over
all policies; its mean over runs, a 95% interval of that (bootstrap, BCa), and at the end the worst run.

{details}"""


class Grid(NamedTuple):
    """A table of texts: a title, headings, and rows; the first column is aligned to the left."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    def markdown(self, level: int = 2) -> str:
        """Return the table in Markdown, under a heading of a level."""
        header, *body = (f"| {' | '.join(cells)} |" for cells in (self.columns, *self.rows))
        rule = "|---|" + "--:|" * (len(self.columns) - 1)
        return "\n".join([f"{'#' * level} {self.title}", "", header, rule, *body, ""])


def page(board: Board) -> str:
    """Return the whole page: the summary, then every task in full."""
    details = "\n".join(details_table(board, task).markdown(level=3) for task in board.lineup.tasks)
    return _PAGE.format(summary=summary(board), details=details)


def summary(board: Board, level: int = 2) -> str:
    """Return the tables of agents, tasks and duels, and where our agent loses, in Markdown."""
    grids = [agents_table(board), regret_table(board)]
    if any(reference.hidden for reference in board.lineup.references.values()):
        grids.append(regret_table(board, hidden=True))
    grids.append(tasks_table(board))
    if board.duels:
        grids.append(duels_table(board))
    tables = "\n".join(grid.markdown(level) for grid in grids)
    return f"{size(board)}\n\n{tables}{''.join(_losses(board, level))}"


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


def _losses(board: Board, level: int) -> Iterator[str]:
    """Yield, for each task on which our agent is shown to do worse, the rival that does best."""
    worse = [duel for duel in board.duels if duel.verdict == WORSE]
    if worse:
        yield f"\n{'#' * level} Where {board.lineup.ours} loses\n\n"
    for task in dict.fromkeys(duel.task for duel in worse):
        best = min((duel for duel in worse if duel.task == task), key=lambda duel: duel.difference)
        yield f"- {best.sentence}\n"


def agents_table(board: Board) -> Grid:
    """Return the ranks of each agent, the number of tasks it leads, and its measured speed."""
    kinds = _kinds(board)
    columns = [f"{what}, {kind}" for what in ("mean rank", "led") for kind in kinds]
    rows = [
        [row["agent"]]
        + [f"{row[f'mean rank, {kind}']:.1f}" for kind in kinds]
        + [f"{row[f'led, {kind}']} of {row[f'tasks, {kind}']}" for kind in kinds]
        + [_speed(board.speed(row["agent"]))]
        for row in board.overall
    ]
    return Grid("Agents, best first", ["agent", *columns, "steps per second"], rows)


def regret_table(board: Board, *, hidden: bool = False) -> Grid:
    """Return the regret of every agent on every task at the end, with the least in each row in bold.

    If ``hidden``, it is that against the best policy over aleatoric states, for tasks whose states hide something.
    """
    title = f"Relative regret after {board.lineup.spec.steps:,} steps, against the {OPTIMUM}"
    if hidden:
        title = f"Where the aleatoric state hides something: regret against the {BEST}"
    agents = [row["agent"] for row in board.overall]
    last = {(row.task, row.agent): row for row in final(board.rows)}
    rows = []
    for task in board.lineup.tasks:
        if not hidden or board.lineup.references[task].hidden:
            standings = [last[task, agent] for agent in agents]
            lost: list[Any] = [row.against_best_aleatoric if hidden else row.relative_regret for row in standings]
            cells = [f"**{share(value)}**" if value == min(lost) else share(value) for value in lost]
            rows.append([marked(board, task), *cells])
    return Grid(title, ["task", *agents], rows)


def tasks_table(board: Board) -> Grid:
    """Return how our agent did on each task: its regret, its rank, its duels, and the best other agent."""
    ours, places = board.lineup.ours, ranks(board.rows)
    columns = ["task", OPTIMUM, "regret", "worst run", "place", " / ".join(VERDICTS), "best other"]
    rows = []
    for task in board.lineup.tasks:
        last = {row.agent: row for row in final(board.rows) if row.task == task}
        own = last.pop(ours)
        best = min(last.values(), key=lambda row: row.relative_regret, default=None)
        verdicts = [duel.verdict for duel in board.duels if duel.task == task]
        rows.append(
            [
                marked(board, task),
                f"{own.optimum:.4g}",
                share(own.relative_regret),
                share(own.worst_run),
                f"{places[task][ours]:g}",
                " / ".join(str(verdicts.count(verdict)) for verdict in VERDICTS),
                "-" if best is None else f"{best.agent} {share(best.relative_regret)}",
            ]
        )
    return Grid(f"{ours}, task by task", columns, rows)


def duels_table(board: Board) -> Grid:
    """Return against each rival on how many tasks our agent did better, did worse, or neither is shown."""
    kinds = _kinds(board)
    counts = Counter((duel.rival, duel.kind, duel.verdict) for duel in board.duels)
    rows = [
        [rival, *(" / ".join(str(counts[rival, kind, verdict]) for verdict in VERDICTS) for kind in kinds)]
        for rival in dict.fromkeys(duel.rival for duel in board.duels)
    ]
    title = f"{board.lineup.ours} against each: tasks on which it is {' / '.join(VERDICTS)}"
    return Grid(title, ["against", *kinds], rows)


def details_table(board: Board, task: str) -> Grid:
    """Return everything about one task: regret at several times with intervals, the worst run, and speed."""
    ours, hidden = board.lineup.ours, board.lineup.references[task].hidden
    rows = {(row.agent, row.time): row for row in board.rows if row.task == task}
    times = list(dict.fromkeys(time for _, time in rows))
    verdicts = {duel.rival: duel.verdict for duel in board.duels if duel.task == task}
    lines = []
    for last in final(list(rows.values())):
        cells = [last.agent]
        for time in times:
            row = rows[last.agent, time]
            cells += [share(row.relative_regret), "-" if row.low is None else f"{share(row.low)}..{share(row.high)}"]
        cells += [share(last.worst_run), *([share(last.against_best_aleatoric)] if hidden else [])]
        versus = "" if last.agent == ours else verdicts.get(last.agent, OPEN)
        lines.append([*cells, versus, _speed(board.speed(last.agent, task))])
    heads = [text for time in times for text in (f"T = {time:,}", "interval")]
    against = [f"against the {BEST}"] if hidden else []
    return Grid(marked(board, task), ["agent", *heads, "worst run", *against, f"{ours} is", "steps per second"], lines)


def marked(board: Board, task: str) -> str:
    """Return the label of a task, marked if settings were chosen on it."""
    return f"{task} ({board.lineup.kind(task)})" if task in board.lineup.training else task


def share(value: float | None) -> str:
    """Return a share of the optimum with three decimals; never -0.000."""
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"  # the sum turns -0.0 into 0.0


def _speed(steps: float | None) -> str:
    """Return steps per second in millions, with a decimal below ten."""
    return "-" if steps is None else f"{steps / 1e6:.{1 if steps < 1e7 else 0}f} M"


def _kinds(board: Board) -> list[str]:
    return [kind for kind in KINDS if kind in {board.lineup.kind(task) for task in board.lineup.tasks}]
