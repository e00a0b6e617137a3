"""Follow an experiment while it runs: what is on disk so far, of finished and unfinished cells."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from everlearn.analysis.names import agent_names, optimum_lines, task_names
from everlearn.engine.curves import recording_times
from everlearn.errors import StoreError
from everlearn.experiments.directory import Directory
from everlearn.experiments.manifest import Manifest, VariantEntry
from everlearn.experiments.tables import name_of, stated
from everlearn.protocol import Table
from everlearn.results.arm import Arm, grouped
from everlearn.results.store import StoredCell

Blocks: TypeAlias = "list[tuple[int, StoredCell | None]]"
"""The cells of a task: the number of runs of each, and what is on disk of it, if anything is."""


@dataclass(frozen=True)
class Followed:
    """One agent on one task, as far as it has come.

    Parameters
    ----------
    task:
        the name of the task in the experiment
    agent:
        the name of the agent in the experiment
    times:
        the recorded times
    mean:
        the average reward until each time: its mean over the runs that have reached that time
    low:
        the lower end of a Student interval of 95%, over runs or over members of a family; the mean itself if there is
        only one
    high:
        the upper end of that interval
    runs:
        the number of runs in all
    runs_begun:
        the number of runs on disk
    runs_done:
        the number of runs that are finished
    steps:
        the number of steps of all runs
    steps_done:
        the number of those that were taken
    seconds:
        the time that was worked
    lines:
        average rewards that are known for the task, by name

    """

    task: str
    agent: str
    times: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]
    runs: int
    runs_begun: int
    runs_done: int
    steps: int
    steps_done: int
    seconds: float
    lines: dict[str, float]

    @property
    def state(self) -> str:
        """How far it is: ``waiting``, ``begun`` or ``finished``."""
        return "finished" if self.runs_done == self.runs else "begun" if self.runs_begun else "waiting"


class Follower:
    """Reads the directory of an experiment again and again; only cells that have changed are read again.

    Examples
    --------
    >>> import everlearn as el
    >>> experiment = el.experiment("riverswim", ["always"], steps=100, runs=2, seed=1)
    >>> [arm] = Follower(experiment.directory.path).look()
    >>> arm.agent, arm.state, arm.runs_done, arm.times[-1]
    ('always at random', 'finished', 2, 100)

    """

    def __init__(self, path: str | Path) -> None:
        self.directory = Directory(path)
        self.manifest: Manifest = self.directory.read_manifest()
        self.damaged: list[str] = []
        """Why cells could not be read, when the directory was last looked at."""
        self._cells: dict[str, tuple[object, StoredCell | None]] = {}

    def look(self) -> list[Followed]:
        """Return every agent on every task, as of now."""
        self.manifest, self.damaged = self.directory.read_manifest(), []
        groups = grouped(
            self.manifest["variants"], lambda entry: repr((entry["task"], entry["agent"], entry["settings"]))
        )
        blocks = [
            [
                [(cell["runs"][1] - cell["runs"][0], self._read(cell["name"])) for cell in entry["cells"]]
                for entry in group
            ]
            for group in groups.values()
        ]
        arms = [self._arm(group, stored) for group, stored in zip(groups.values(), blocks, strict=True)]
        names = zip(task_names(arms), agent_names(arms), strict=True)
        return [self._followed(*each) for each in zip(names, arms, blocks, strict=True)]

    def _arm(self, entries: list[VariantEntry], blocks: list[Blocks]) -> Arm:
        """Return all units of an agent on a task, as in :mod:`everlearn.results.arm`; what is not reached is nan."""
        times = recording_times(self.manifest["steps"], self.manifest["per_decade"])
        rows = [_rows(cells, times) for cells in blocks]
        first, single = entries[0], len(entries) == 1
        if first["member"] is not None:
            rows = [_mean(runs)[None] for runs in rows if len(runs)]
        optimum, upper, references = stated(self.manifest, first) if single else (None, None, {})
        return Arm(
            first["task"],
            first["agent"],
            first["settings"],
            times,
            np.concatenate([np.empty((0, times.size)), *rows]),
            None if optimum is None else np.array([optimum]),
            references=references,
            optimum_upper=None if upper is None else np.array([upper]),
            name=name_of(first),
        )

    def _followed(self, names: tuple[str, str], arm: Arm, members: list[Blocks]) -> Followed:
        blocks = [block for cells in members for block in cells]
        averages = arm.average_reward
        reached = np.flatnonzero(~np.isnan(averages).all(axis=0)) if len(averages) else np.array([], dtype=np.int64)
        mean, half = _interval(averages[:, reached])
        steps = self.manifest["steps"]
        taken = [(runs, 0 if cell is None else min(cell.checkpoint.t, steps)) for runs, cell in blocks]
        runs = sum(size for size, _ in taken)
        return Followed(
            *names,
            arm.times[reached].tolist(),
            mean.tolist(),
            (mean - half).tolist(),
            (mean + half).tolist(),
            runs,
            sum(size for size, t in taken if t),
            sum(size for size, t in taken if t == steps),
            steps * runs,
            sum(size * t for size, t in taken),
            sum(cell.notes.get("seconds", 0.0) for _, cell in blocks if cell is not None),
            _lines(arm),
        )

    def _read(self, name: str) -> StoredCell | None:
        """Return what was recorded in a cell; it is read again only if its file has changed."""
        cells = self.directory.cells
        try:
            status = cells.path(name).stat()
        except OSError:
            return None
        version = status.st_mtime_ns, status.st_size, status.st_ino
        if name not in self._cells or self._cells[name][0] != version:
            try:
                self._cells[name] = version, cells.glance(name)
            except StoreError as error:
                self.damaged.append(str(error))
                return None
        return self._cells[name][1]


def _lines(arm: Arm) -> dict[str, float]:
    """Return the averages that are known, without an optimum that the task states and that is also computed."""
    computed = optimum_lines(arm)
    return {
        **computed,
        **{name: value for name, value in arm.references.items() if not (computed and name == "optimum")},
    }


def _rows(blocks: Blocks, times: NDArray[np.int64]) -> Table:
    """Return the total reward of each run on disk at each time; nan at times that it has not reached."""
    rows = [np.empty((0, times.size))]
    for cell in (cell for _, cell in blocks if cell is not None):
        reached = cell.checkpoint.until(times).total_reward
        rows.append(np.full((len(reached), times.size), np.nan))
        rows[-1][:, : reached.shape[1]] = reached
    return np.concatenate(rows)


def _mean(table: Table) -> Table:
    """Return the mean over the rows that are not nan."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of no rows is nan
        return np.asarray(np.nanmean(table, axis=0))


def _interval(averages: Table) -> tuple[Table, Table]:
    """Return the mean over the rows that are not nan, and half the width of its Student interval of 95%."""
    from scipy.special import stdtrit  # the quantile of Student's distribution

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the deviation of a single row is nan
        deviation = np.nanstd(averages, axis=0, ddof=1)
    number = np.count_nonzero(~np.isnan(averages), axis=0)
    half = stdtrit(np.maximum(number - 1, 1), 0.975) * deviation / np.sqrt(np.maximum(number, 1))
    return _mean(averages), np.nan_to_num(half)
