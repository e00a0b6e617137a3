"""The board: every agent on every task, what they lost, and the files about it.

::

    leaderboard.md       the tables as a page, with what was measured
    leaderboard.parquet  a row for each agent, task and time; leaderboard.csv is the same
    duels.csv            our agent against each other one on each task, in pairs of runs
    regret.png           relative regret over time, and regret.svg

The directory is also that of an experiment.  If it is interrupted or killed, run the same command again to resume.
The same computation gives the same files to the last byte, except for the page and the manifest.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.experiments.execute import Watcher, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.rows import Rows
from everlearn.experiments.work import Workforce
from everlearn.figures.saving import save_figure
from everlearn.leaderboard import tables
from everlearn.leaderboard.figure import relative_regrets
from everlearn.leaderboard.lineup import Lineup
from everlearn.leaderboard.standings import Duel, Standing, duels, overall, standings
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
    def rows(self) -> list[Standing]:
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

    def speed(self, agent: str, task: str | None = None) -> float | None:
        """Return the steps per second of an agent, on one task or on all of them, as measured."""
        manifest, steps, seconds = self.experiment.manifest, 0, 0.0
        for variant in manifest["variants"]:
            if variant["agent"] == agent and task in (None, variant["task"]):
                steps += manifest["steps"] * sum(cell["runs"][1] - cell["runs"][0] for cell in variant["cells"])
                seconds += variant.get("seconds", 0.0)
        return steps / seconds if seconds > 0 else None

    def write(self) -> list[Path]:
        """Write the tables, the page and the figure beside the experiment, and return their paths."""
        directory = self.experiment.directory
        rows = rows_table([row._asdict() for row in self.rows])
        contents = {
            "leaderboard.md": tables.page(self).encode(),
            "leaderboard.parquet": encoded(rows, "parquet"),
            "leaderboard.csv": encoded(rows, "csv"),
        }
        if self.duels:
            contents["duels.csv"] = encoded(rows_table([duel._asdict() for duel in self.duels]), "csv")
        for name, data in contents.items():
            directory.write(name, data)
        figure = self.figure()
        figures = [save_figure(figure, directory.path / f"regret.{form}") for form in FIGURES]
        return [directory.path / name for name in contents] + figures

    def figure(self) -> Figure:
        """Draw relative regret over time."""
        titles = {task: tables.marked(self, task) for task in self.lineup.tasks}
        hidden = {task: reference.lost for task, reference in self.lineup.references.items() if reference.hidden}
        return relative_regrets(self.experiment.arms, self.lineup.ours, titles, hidden)

    def to_dict(self) -> dict[str, Any]:
        """Return the board as a JSON document."""
        return {
            "ours": self.lineup.ours,
            "steps": self.lineup.spec.steps,
            "runs": self.lineup.spec.runs,
            "agents": [{**row, "steps_per_second": self.speed(row["agent"])} for row in self.overall],
            "rows": [row._asdict() for row in self.rows],
            "duels": [duel._asdict() for duel in self.duels],
        }


def make_board(
    lineup: Lineup, path: str | Path, *, workforce: Workforce | None = None, watcher: Watcher | None = None
) -> Board:
    """Run what is missing of a board in a directory, and return the board."""
    directory = execute(lineup.spec, path, workforce=workforce, watcher=watcher)
    return Board(lineup, Experiment(directory.path))
