"""Curves: the rewards and policies that an engine records of its runs, at logarithmically spaced times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table

PER_DECADE = 20


def recording_times(steps: int, per_decade: int = PER_DECADE) -> NDArray[np.int64]:
    """Return the times up to ``steps`` at which to record, and ``steps`` itself.

    The times are the integers nearest to 10 ** (k / per_decade), without repetition.  They do not depend on the length
    of a run, so that a run can be extended.

    Examples
    --------
    >>> recording_times(12).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    >>> recording_times(10**9).size
    170

    """
    decades = len(str(steps))
    grid = np.unique(np.rint(10.0 ** (np.arange(decades * per_decade + 1) / per_decade)).astype(np.int64))
    return np.append(grid[grid < steps], steps)


@dataclass(frozen=True)
class Curves:
    """What was recorded of some runs: one row per run, one column per recording time.

    Parameters
    ----------
    times:
        the recording times
    total_reward:
        the sum of rewards until each time, in the task's own units
    policies:
        the probability of each action in each aleatoric state, at each time; None if policies are not recorded

    Examples
    --------
    >>> curves = Curves(np.array([1, 2, 5]), np.array([[0.0, 1.0, 3.0], [1.0, 1.0, 2.0]]))
    >>> curves.until(4).total_reward.tolist()
    [[0.0, 1.0], [1.0, 1.0]]

    """

    times: NDArray[np.int64]
    total_reward: Table
    policies: Table | None = None

    def rows(self, rows: Any) -> Curves:
        """Return the curves of some runs, by an index of the first axis."""
        return Curves(self.times, self.total_reward[rows], None if self.policies is None else self.policies[rows])

    def columns(self, columns: Any) -> Curves:
        """Return the curves at some times, by an index of the second axis."""
        policies = None if self.policies is None else self.policies[:, columns]
        return Curves(self.times[columns], self.total_reward[:, columns], policies)

    def until(self, t: int) -> Curves:
        """Return a copy of the curves up to a time."""
        return self.columns(np.flatnonzero(self.times <= t))

    def record(self, row: Any, column: int, total_reward: Any, policy: Any) -> None:
        """Write the entries of one or more runs at one time; ``policy`` is ignored if policies are not recorded."""
        self.total_reward[row, column] = total_reward
        if self.policies is not None:
            self.policies[row, column] = policy

    def start_with(self, earlier: Curves) -> None:
        """Overwrite the first columns with curves that were recorded earlier."""
        self.total_reward[:, : earlier.times.size] = earlier.total_reward
        if self.policies is not None and earlier.policies is not None:
            self.policies[:, : earlier.times.size] = earlier.policies


def concatenate(parts: Sequence[Curves], axis: int = 0) -> Curves:
    """Join the curves of different runs (axis 0), or of the same runs at different times (axis 1)."""
    if len(parts) == 1:
        return parts[0]
    policies = [part.policies for part in parts if part.policies is not None]
    return Curves(
        parts[0].times if axis == 0 else np.concatenate([part.times for part in parts]),
        np.concatenate([part.total_reward for part in parts], axis),
        np.concatenate(policies, axis) if len(policies) == len(parts) else None,
    )
