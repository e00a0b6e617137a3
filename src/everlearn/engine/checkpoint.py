"""The whole checkpoint of runs at a time: what it takes to go on exactly as if never stopped.

Everything has the runs along its first axis, so that runs that were advanced together can be parted, and others joined.
It is arrays, and notes that JSON can hold; what writes it to disk, or sends it elsewhere, needs to know nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.engine.plan import Plan
from everlearn.errors import SnapshotError
from everlearn.protocol import Table


@dataclass(frozen=True)
class Checkpoint:
    """Runs at time t, and what was recorded of them until then.

    Parameters
    ----------
    engine:
        which engine it belongs to
    t:
        how many steps they have taken
    runs:
        their numbers
    times, total_reward, policies:
        what was recorded, at times up to t
    arrays:
        what each run knows and where it is, by name
    shared:
        what all runs have in common at time t, as JSON can hold it
    each:
        what belongs to one run and is no number, an entry a run, as JSON can hold it; None for a run that cannot go
        on, because its environment cannot be saved

    """

    engine: str
    t: int
    runs: tuple[int, ...]
    times: NDArray[np.int64]
    total_reward: Table
    policies: Table | None
    arrays: Mapping[str, NDArray[Any]]
    shared: Mapping[str, Any]
    each: tuple[Any, ...]

    @property
    def resumable(self) -> bool:
        """Whether the runs can go on from here."""
        return all(entry is not None for entry in self.each)

    def of(self, runs: Sequence[int]) -> Checkpoint:
        """Return the checkpoint of some of the runs."""
        place = {run: row for row, run in enumerate(self.runs)}
        rows = [place[run] for run in runs]
        return Checkpoint(
            self.engine,
            self.t,
            tuple(runs),
            self.times,
            self.total_reward[rows],
            None if self.policies is None else self.policies[rows],
            {name: array[rows] for name, array in self.arrays.items()},
            self.shared,
            tuple(self.each[row] for row in rows),
        )

    def until(self, times: NDArray[np.int64]) -> tuple[Table, Table | None]:
        """Return what was recorded at those of the given times that have passed.

        A time that only the end of a shorter run called for is left out.
        """
        wanted = times[times <= self.t]
        columns = np.searchsorted(self.times, wanted)
        if wanted.size and (columns[-1] >= self.times.size or not np.array_equal(self.times[columns], wanted)):
            raise SnapshotError(f"at t = {self.t:,} not every time was recorded that is asked for")
        return self.total_reward[:, columns], None if self.policies is None else self.policies[:, columns]


def join(checkpoints: Sequence[Checkpoint]) -> Checkpoint:
    """Return the checkpoint of runs that were apart, and are at the same time."""
    first = checkpoints[0]
    if len(checkpoints) == 1:
        return first
    policies = [one.policies for one in checkpoints if one.policies is not None]
    return Checkpoint(
        first.engine,
        first.t,
        tuple(run for one in checkpoints for run in one.runs),
        first.times,
        np.concatenate([one.total_reward for one in checkpoints]),
        np.concatenate(policies) if policies else None,
        {name: np.concatenate([one.arrays[name] for one in checkpoints]) for name in first.arrays},
        first.shared,
        tuple(entry for one in checkpoints for entry in one.each),
    )


def recorded(plan: Plan, t: int) -> slice:
    """Return which of a plan's recording times have passed."""
    return slice(0, int(np.searchsorted(plan.times, t, side="right")))
