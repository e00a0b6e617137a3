"""The tables of a board as text, for the terminal and the page, and the page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil, log2
from typing import TYPE_CHECKING, NamedTuple

from everlearn.leaderboard.lineup import KINDS
from everlearn.leaderboard.standings import CONFIDENCE, OPEN, VERDICTS, at, final, lost_duels
from everlearn.results.references import BEST, OPTIMUM

if TYPE_CHECKING:
    from everlearn.leaderboard.board import Board

_PAGE = r"""# Leaderboard

![Relative regret of every agent on every task](regret.png)

{summary}
## Every task

Relative regret after T steps: (λ_\* minus the average reward) / |λ_\*|, where λ_\* is the optimum over
all policies; its mean over runs, a 95% interval of that (Student), and at the end the worst run.

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
    grids = [*agents_tables(board), coverage_table(board), tasks_table(board)]
    if board.duels:
        grids.append(duels_table(board))
    grids += [regret_table(board, time) for time in board.times[::-1]]
    if any(reference.hidden for reference in board.lineup.references.values()):
        grids.append(regret_table(board, board.times[-1], hidden=True))
    first, *others = (grid.markdown(level) for grid in grids)
    return "\n".join([size(board), "", first, *others]) + "".join(_losses(board, level))


def size(board: Board) -> str:
    """Say in a sentence what was run, and in another if no difference can be shown by so few runs."""
    spec = board.lineup.spec
    rivals = max(Counter(duel.task for duel in board.duels).values(), default=0)
    enough = 1 + ceil(log2(rivals / (1 - CONFIDENCE))) if rivals else 1  # p is 2 / 2^runs at least, times rivals (Holm)
    few = f" So few runs can show no difference from {rivals} rivals; give {enough} or more."
    most = "up to " if len({arm.times[-1] for arm in board.arms}) > 1 else ""
    return (
        f"{len(spec.agents)} agents on {len(spec.tasks)} tasks, {spec.runs:,} runs of {most}{spec.steps:,} steps each, "
        f"seed {spec.seed}.{few if spec.runs < enough else ''}"
    )


def _losses(board: Board, level: int) -> Iterator[str]:
    """Yield, for each task on which our agent is shown to do worse, the rival that does best after the most steps."""
    worse = lost_duels(board.duels)
    if worse:
        yield f"\n{'#' * level} Where {board.lineup.ours} loses\n\n"
    for best, *_ in worse.values():
        yield f"- after {best.time:,} steps {best.sentence}\n"


def agents_tables(board: Board) -> list[Grid]:
    """Return the ratings of the agents for each kind of tasks, at the end and if some end earlier, at that time too."""
    complete = {row.agent for row in final(board.rows)} == set(board.agents)
    times = board.times[-1:] if complete else board.times[:-3:-1]
    return [agents_table(board, kind, time) for time in times for kind in _kinds(board)]


def some_are_partial(board: Board) -> bool:
    """Return whether an agent was run on fewer tasks than others, which lowers its place in the tables of agents."""
    return any(each.tasks < each.all_tasks for kind in _kinds(board) for each in board.ratings(kind))


def agents_table(board: Board, kind: str, time: int) -> Grid:
    """Return the ratings on one kind of tasks at one time, the number of tasks that each leads, and the speed."""
    rows = [
        [
            each.agent if each.tasks == each.all_tasks else f"{each.agent}, on {each.tasks} of {each.all_tasks} tasks",
            f"{each.beaten:.2f}",
            "-" if each.low is None else f"{each.low:.2f}..{each.high:.2f}",
            f"{each.least:.2f}..{each.most:.2f}",
            f"{each.led} of {each.tasks}",
            _speed(board.speeds[each.agent], here=each.agent in board.measured),
        ]
        for each in board.ratings(kind, time)
    ]
    columns = ["agent", "others beaten", "interval", "leaving out a kind", "leads on", "steps per second"]
    return Grid(f"Agents after {time:,} steps, tasks: {kind}", columns, rows)


def coverage_table(board: Board) -> Grid:
    """Return on how many tasks each agent was run, by the number of steps."""
    last = {(row.agent, row.task): row.time for row in sorted(board.rows, key=lambda row: row.time)}
    ends = sorted(set(last.values()), reverse=True)
    rows = []
    for agent in board.agents:
        counts = Counter(end for (name, _), end in last.items() if name == agent)
        rows.append([agent, *(str(counts[end]) for end in ends), str(len(board.lineup.tasks) - counts.total())])
    return Grid("Tasks by the number of steps", ["agent", *(f"{end:,} steps" for end in ends), "not run"], rows)


def regret_table(board: Board, time: int, *, hidden: bool = False) -> Grid:
    """Return the regret of every agent on every task at a time, with the least in each row in bold.

    If ``hidden``, it is that against the best policy over aleatoric states, for tasks whose states hide something.
    """
    title = f"Relative regret after {time:,} steps, against the {OPTIMUM}"
    if hidden:
        title = f"Where the aleatoric state hides something: regret against the {BEST}"
    then = {(row.task, row.agent): row for row in at(board.rows, time)}
    agents = [agent for agent in board.agents if any(name == agent for _, name in then)]
    rows = []
    for task in board.lineup.tasks:
        if not hidden or board.lineup.references[task].hidden:
            standings = [then.get((task, agent)) for agent in agents]
            lost = [row and (row.against_best_aleatoric if hidden else row.relative_regret) for row in standings]
            least = min((value for value in lost if value is not None), default=None)
            cells = [f"**{share(value)}**" if value == least is not None else share(value) for value in lost]
            rows.append([marked(board, task), *cells])
    return Grid(title, ["task", *agents], rows)


def tasks_table(board: Board) -> Grid:
    """Return how our agent did on each task: its regret, its rank, its duels, and the best other agent."""
    ours, rows = board.lineup.ours, []
    columns = ["task", OPTIMUM, "regret", "worst run", "place", " / ".join(VERDICTS), "best other"]
    for task in board.lineup.tasks:
        last = {row.agent: row for row in final(board.rows) if row.task == task}
        own = last.pop(ours, None)
        if own is None:
            continue
        best = min(last.values(), key=lambda row: row.relative_regret, default=None)
        verdicts = [duel.verdict for duel in board.duels if (duel.task, duel.time) == (task, own.time)]
        rows.append(
            [
                marked(board, task),
                f"{own.optimum:.4g}",
                share(own.relative_regret),
                share(own.worst_run),
                f"{1 + sum(row.relative_regret < own.relative_regret for row in last.values())} of {len(last) + 1}",
                " / ".join(str(verdicts.count(verdict)) for verdict in VERDICTS),
                "-" if best is None else f"{best.agent} {share(best.relative_regret)}",
            ]
        )
    return Grid(f"{ours}, task by task, among agents with as many steps", columns, rows)


def duels_table(board: Board) -> Grid:
    """Return against each rival on how many tasks our agent did better, did worse, or neither is shown.

    Each number of steps has a row, because what is shown after few steps says nothing about many.
    """
    kinds = _kinds(board)
    counts = Counter((duel.rival, duel.time, duel.kind, duel.verdict) for duel in board.duels)
    order = list(dict.fromkeys(duel.rival for duel in board.duels))
    rows = [
        [
            rival,
            *(" / ".join(str(counts[rival, end, kind, verdict]) for verdict in VERDICTS) for kind in kinds),
            f"{end:,}",
        ]
        for rival, end in sorted({each[:2] for each in counts}, key=lambda each: (order.index(each[0]), -each[1]))
    ]
    title = f"{board.lineup.ours} against each: tasks on which it is {' / '.join(VERDICTS)}"
    return Grid(title, ["against", *kinds, "steps"], rows)


def details_table(board: Board, task: str) -> Grid:
    """Return everything about one task: regret at several times with intervals, and the worst run."""
    ours, hidden = board.lineup.ours, board.lineup.references[task].hidden
    rows = {(row.agent, row.time): row for row in board.rows if row.task == task}
    last = {agent: rows[agent, time] for agent, time in sorted(rows, key=lambda key: key[1])}
    verdicts = {duel.rival: duel.verdict for duel in board.duels if duel.task == task}
    lines = []
    for row in sorted(last.values(), key=lambda row: (-row.time, row.relative_regret)):
        cells = [row.agent]
        for time in board.times:
            then = rows.get((row.agent, time))
            bounds = "-" if then is None or then.low is None else f"{share(then.low)}..{share(then.high)}"
            cells += [share(then and then.relative_regret), bounds]
        cells += [share(row.worst_run), *([share(row.against_best_aleatoric)] if hidden else [])]
        lines.append([*cells, "" if row.agent == ours else verdicts.get(row.agent, OPEN)])
    heads = [text for time in board.times for text in (f"T = {time:,}", "interval")]
    against = [f"against the {BEST}"] if hidden else []
    return Grid(marked(board, task), ["agent", *heads, "worst run", *against, f"{ours} is"], lines)


def marked(board: Board, task: str) -> str:
    """Return the label of a task, marked if settings were chosen on it."""
    return f"{task} ({board.lineup.kind(task)})" if task in board.lineup.training else task


def share(value: float | None) -> str:
    """Return a share of the optimum with three decimals; never -0.000."""
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"  # the sum turns -0.0 into 0.0


def _speed(steps: float | None, *, here: bool) -> str:
    """Return steps per second with two digits, in millions or thousands, and whether they were measured here."""
    if steps is None:
        return "-"
    unit, name = (1e6, " M") if steps >= 1e6 else (1e3, " k")
    return f"{float(f'{steps / unit:.2g}'):g}{name}{' here' if here else ''}"


def _kinds(board: Board) -> list[str]:
    return [kind for kind in KINDS if kind in {board.lineup.kind(task) for task in board.lineup.tasks}]
