"""The board: every agent on every task, what they lost, and the files about it.

::

    leaderboard.md       the tables as a page
    leaderboard.parquet  a row for each agent, task and time; leaderboard.csv is the same
    duels.csv            our agent against each other one on each task, in pairs of runs
    regret.png           relative regret of every agent on every task, and regret.svg

The directory is also that of an experiment; agents that have limits are in folders of their own, which are experiments
too.  If it is interrupted or killed, run the same command again to resume.  The same computation gives the same files
to the last byte, except for the page, which has speeds, and the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.errors import EverlearnError, InputError
from everlearn.experiments.directory import Directory
from everlearn.experiments.execute import Watcher, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.references import Optimum
from everlearn.experiments.spec import AgentEntry
from everlearn.experiments.work import Workforce
from everlearn.figures.saving import save_figure
from everlearn.files import expanded
from everlearn.leaderboard import tables
from everlearn.leaderboard.heat import heat_map
from everlearn.leaderboard.lineup import KINDS, Lineup
from everlearn.leaderboard.ratings import Rating, ratings
from everlearn.leaderboard.shipped import powers_of_ten, shipped
from everlearn.leaderboard.speed import steps_per_second
from everlearn.leaderboard.standings import Duel, Standing, at, duels, standings, times
from everlearn.results.arm import Arm
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
    (4, 2)

    """

    def __init__(self, lineup: Lineup, arms: Sequence[Arm], path: str | Path) -> None:
        self.lineup, self.path = lineup, expanded(path)
        self.arms = [powers_of_ten(arm, lineup.spec.steps) for arm in arms]

    @cached_property
    def rows(self) -> list[Standing]:
        """A row for each agent, task and time."""
        return standings(self.arms, self.lineup)

    @property
    def times(self) -> list[int]:
        """The times at which regret is shown."""
        return times(self.rows)

    def ratings(self, kind: str, time: int | None = None) -> list[Rating]:
        """Return the ratings over one kind of tasks at a time, by default the last; best first."""
        rows = at(self.rows, self.times[-1] if time is None else time)
        return ratings([row for row in rows if row.kind == kind], self.lineup.kinds)

    @cached_property
    def agents(self) -> list[str]:
        """The agents, best first: by their ratings at the last time that they reached."""
        kinds = [kind for kind in KINDS if any(row.kind == kind for row in self.rows)]
        rated = [each.agent for time in self.times[::-1] for each in self.ratings(kinds[0], time)]
        return list(dict.fromkeys([*rated, *self.lineup.agents]))

    @cached_property
    def duels(self) -> list[Duel]:
        """Our agent against each other one on each task."""
        return duels(self.arms, self.lineup)

    @cached_property
    def speeds(self) -> dict[str, float | None]:
        """The steps per second of each agent: shipped, or else measured; None if it cannot run on that task."""
        known = shipped().speeds
        return {str(entry.label): known.get(str(entry.label)) or _measured(entry) for entry in self.lineup.spec.agents}

    @property
    def measured(self) -> set[str]:
        """The agents whose speed was measured on this machine; the shipped ones are those of another."""
        return set(self.lineup.agents) - set(shipped().speeds)

    def write(self) -> list[Path]:
        """Write the tables, the page and the figure to the directory, and return their paths."""
        directory = Directory(self.path)
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
        figures = [save_figure(figure, self.path / f"regret.{form}") for form in FIGURES]
        return [self.path / name for name in contents] + figures

    def figure(self) -> Figure:
        """Draw the relative regret of every agent on every task at the end as a heat map."""
        return heat_map(self.rows, self.agents, {task: tables.marked(self, task) for task in self.lineup.tasks})

    def to_dict(self) -> dict[str, Any]:
        """Return the board as a JSON document."""
        return {
            "ours": self.lineup.ours,
            "steps": self.lineup.spec.steps,
            "runs": self.lineup.spec.runs,
            "agents": [
                {"agent": agent, "steps_per_second": self.speeds[agent], "measured_here": agent in self.measured}
                for agent in self.agents
            ],
            "ratings": [
                {"kind": kind, "time": time, **rating._asdict()}
                for kind in KINDS
                for time in self.times
                for rating in self.ratings(kind, time)
            ],
            "rows": [row._asdict() for row in self.rows],
            "duels": [duel._asdict() for duel in self.duels],
        }


def make_board(
    lineup: Lineup, path: str | Path, *, workforce: Workforce | None = None, watcher: Watcher | None = None
) -> Board:
    """Run what is missing of a board in a directory, and return the board."""
    arms, parts = list(lineup.shipped_arms), lineup.parts
    if not (arms or parts):
        most = max(lineup.limit(agent).states for agent in lineup.agents)
        raise InputError("--task", ", ".join(lineup.tasks), f"give a task with at most {most} aleatoric states")
    optima = {task: _stated(each.optimum) for task, each in lineup.references.items()}
    for folder, spec in parts.items():
        if watcher is not None:
            watcher.stage(folder or spec.name)
        whole = expanded(path) / folder
        execute(spec, whole, workforce=workforce, watcher=watcher, gathered=False, optima=optima)
        arms += Experiment(whole).arms
    last = {(arm.agent, arm.task): arm for arm in arms}  # one that was run replaces a shipped one that ended earlier
    return Board(lineup, list(last.values()), path)


def _measured(entry: AgentEntry) -> float | None:
    """Return the speed of an agent on RiverSwim, unless it was written for other tasks."""
    try:
        return steps_per_second(entry)
    except EverlearnError:
        return None


def _stated(optimum: float) -> Optimum:
    return {"value": optimum, "lower": optimum, "upper": optimum, "how": "shipped"}
