"""Checkpoints: all that is needed to resume runs exactly as if they had not been interrupted.

Every array has one row per run, so that checkpoints can be split and merged.  A checkpoint consists of arrays and of
values that JSON can represent, so that it can be written to disk or sent to another machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.engine.curves import Curves, concatenate
from everlearn.errors import SnapshotError


@dataclass(frozen=True)
class Checkpoint:
    """Some runs at time t, and what was recorded of them until then.

    Parameters
    ----------
    engine:
        the engine that wrote it, and can resume it
    t:
        the number of steps taken
    runs:
        the numbers of the runs
    curves:
        what was recorded at times up to t
    arrays:
        the knowledge and the position of each run, by name
    shared:
        what all runs have in common at time t, as JSON values
    each:
        for each run, whatever is not an array, as JSON values; None for a run that cannot be resumed because its
        environment cannot be saved

    """

    engine: str
    t: int
    runs: tuple[int, ...]
    curves: Curves
    arrays: Mapping[str, NDArray[Any]]
    shared: Mapping[str, Any]
    each: tuple[Any, ...]

    @property
    def resumable(self) -> bool:
        """Whether all runs can be resumed."""
        return all(entry is not None for entry in self.each)

    def of(self, runs: Sequence[int]) -> Checkpoint:
        """Return the checkpoint of some of the runs."""
        row_of = {run: row for row, run in enumerate(self.runs)}
        rows = [row_of[run] for run in runs]
        return replace(
            self,
            runs=tuple(runs),
            curves=self.curves.rows(rows),
            arrays={name: array[rows] for name, array in self.arrays.items()},
            each=tuple(self.each[row] for row in rows),
        )

    def until(self, times: NDArray[np.int64]) -> Curves:
        """Return the curves at those of the given times that have passed.

        This leaves out a time that was recorded only because a shorter run ended then.
        """
        wanted = times[times <= self.t]
        columns = np.searchsorted(self.curves.times, wanted)
        recorded = self.curves.times
        if wanted.size and (columns[-1] >= recorded.size or not np.array_equal(recorded[columns], wanted)):
            raise SnapshotError(f"at t = {self.t:,} not every time was recorded that is asked for", part="curves")
        return self.curves.columns(columns)


def merge(checkpoints: Sequence[Checkpoint]) -> Checkpoint:
    """Merge the checkpoints of runs that have reached the same time step."""
    first = checkpoints[0]
    if len(checkpoints) == 1:
        return first
    return replace(
        first,
        runs=tuple(run for checkpoint in checkpoints for run in checkpoint.runs),
        curves=concatenate([checkpoint.curves for checkpoint in checkpoints]),
        arrays={name: np.concatenate([checkpoint.arrays[name] for checkpoint in checkpoints]) for name in first.arrays},
        each=tuple(entry for checkpoint in checkpoints for entry in checkpoint.each),
    )
