"""The board: every agent on every task, what they lost, and what is written about it.

::

    leaderboard.md       the tables as a page, with what was measured
    leaderboard.parquet  a row for each agent, task and time; leaderboard.csv is the same
    duels.csv            our agent against each other one on each task, in pairs of runs
    regret.png           relative regret over time, and regret.svg

Beside these the directory is that of an experiment: interrupted or killed, the same command goes on where it was.  All
but the page and the manifest are the same to the last byte when the computation is.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.experiments.execute import Watcher, Workforce, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.rows import Rows
from everlearn.figures.saving import save_figure
from everlearn.leaderboard.duels import Duel, duels
from everlearn.leaderboard.figure import relative_regrets
from everlearn.leaderboard.lineup import Lineup
from everlearn.leaderboard.page import page
from everlearn.leaderboard.standings import overall, standings
from everlearn.leaderboard.tables import marked
from everlearn.results.tables import encoded, rows_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("png", "svg")


class Board:
    """A board that was run: what each agent lost, and who did better.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.leaderboard.lineup import lineup
    >>> chosen = lineup(["tsde", "q-learning"], ["riverswim"], runs=2, steps=200)
    >>> board = make_board(chosen, tempfile.mkdtemp())
    >>> [path.name for path in board.write()][:2]
    ['leaderboard.md', 'leaderboard.parquet']
    >>> len(board.rows), len(board.duels)
    (12, 2)

    """

    def __init__(self, lineup: Lineup, experiment: Experiment) -> None:
        self.lineup, self.experiment = lineup, experiment

    @cached_property
    def rows(self) -> Rows:
        """A row for each agent, task and time."""
        return standings(self.experiment.arms, self.lineup)

    @cached_property
    def overall(self) -> Rows:
        """A row for each agent, best first."""
        return overall(self.rows)

    @cached_property
    def duels(self) -> list[Duel]:
        """Our agent against each other one on each task."""
        return duels(self.experiment.arms, self.lineup)

    @cached_property
    def task_speeds(self) -> dict[tuple[str, str], float]:
        """Steps a second of each agent on each task, as measured, where it is more than nothing."""
        return {key: steps / seconds for key, (steps, seconds) in self._worked().items() if seconds > 0}

    @cached_property
    def speeds(self) -> dict[str, float]:
        """Steps a second of each agent over all tasks, as measured."""
        totals: dict[str, tuple[int, float]] = {}
        for (_, agent), (steps, seconds) in self._worked().items():
            before = totals.get(agent, (0, 0.0))
            totals[agent] = before[0] + steps, before[1] + seconds
        return {agent: steps / seconds for agent, (steps, seconds) in totals.items() if seconds > 0}

    def write(self) -> list[Path]:
        """Write the tables, the page and the figure beside the experiment, and return where they are."""
        directory = self.experiment.directory
        found, fought = rows_table(self.rows), rows_table([one._asdict() for one in self.duels])
        contents = {
            "leaderboard.md": page(self).encode(),
            "leaderboard.parquet": encoded(found, "parquet"),
            "leaderboard.csv": encoded(found, "csv"),
            **({"duels.csv": encoded(fought, "csv")} if self.duels else {}),
        }
        for name, data in contents.items():
            directory.write(name, data)
        figure = self.figure()
        drawn = [save_figure(figure, directory.path / f"regret.{form}") for form in FIGURES]
        return [directory.path / name for name in contents] + drawn

    def figure(self) -> Figure:
        """Draw relative regret over time."""
        titles = {task: marked(self, task) for task in self.lineup.tasks}
        hidden = {task: one.lost for task, one in self.lineup.references.items() if one.hidden}
        return relative_regrets(self.experiment.arms, self.lineup.ours, titles, hidden)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "ours": self.lineup.ours,
            "steps": self.lineup.spec.steps,
            "runs": self.lineup.spec.runs,
            "agents": [{**each, "steps_per_second": self.speeds.get(each["agent"])} for each in self.overall],
            "rows": list(self.rows),
            "duels": [one._asdict() for one in self.duels],
        }

    def _worked(self) -> dict[tuple[str, str], tuple[int, float]]:
        """Return the steps of all runs, and the seconds that were worked on them, by task and agent."""
        manifest = self.experiment.manifest
        return {
            (entry["task"], entry["agent"]): (
                manifest["steps"] * sum(cell["runs"][1] - cell["runs"][0] for cell in entry["cells"]),
                entry.get("seconds", 0.0),
            )
            for entry in manifest["variants"]
        }


def make_board(
    lineup: Lineup, path: str | Path, *, workforce: Workforce | None = None, watcher: Watcher | None = None
) -> Board:
    """Run what is missing of a board in a directory, and return it."""
    directory = execute(lineup.spec, path, workforce=workforce, watcher=watcher)
    return Board(lineup, Experiment(directory.path))
