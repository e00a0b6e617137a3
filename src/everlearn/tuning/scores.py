"""Scores: what a candidate lost over all tasks, with its uncertainty.

The loss on a task is the mean over its units.  The score is the mean over tasks, or the largest of them.  Intervals are
percentiles of the bootstrap over units.  Unit i has the same random numbers on every task and for every candidate, so
tasks with as many units are resampled together, and so are two candidates of which the difference is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from everlearn.analysis.statistics import SEED
from everlearn.protocol import Table

RESAMPLES = 2_000
CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A number with a 95% interval; None where there is a single unit, which tells nothing of others.

    Examples
    --------
    >>> Estimate(0.1, 0.05, 0.15).high
    0.15

    """

    mean: float
    low: float | None
    high: float | None


def score(units: Mapping[str, Table], objective: str) -> float:
    """Return the score of what was lost, by task.

    Examples
    --------
    >>> units = {"shop": np.array([0.2, 0.4]), "maze": np.array([0.5, 0.5])}
    >>> round(score(units, "mean"), 12), score(units, "worst")
    (0.4, 0.5)

    """
    means = [float(values.mean()) for values in units.values()]
    return max(means) if objective == "worst" else math.fsum(means) / len(means)


def estimate(units: Mapping[str, Table], objective: str) -> Estimate:
    """Return the score with an interval.

    Examples
    --------
    >>> estimate({"shop": np.array([0.5, 0.5])}, "mean")
    Estimate(mean=0.5, low=0.5, high=0.5)

    """
    return _around(score(units, objective), _resampled(units, objective))


def difference(units: Mapping[str, Table], other: Mapping[str, Table], objective: str) -> Estimate:
    """Return by how much a score is larger than another, with an interval over pairs of units.

    Examples
    --------
    >>> difference({"shop": np.array([0.25, 0.5])}, {"shop": np.array([0.5, 0.75])}, "mean")
    Estimate(mean=-0.25, low=-0.25, high=-0.25)

    """
    ours, theirs = (_resampled(one, objective) for one in (units, other))
    resampled = None if ours is None or theirs is None else ours - theirs
    return _around(score(units, objective) - score(other, objective), resampled)


def _around(mean: float, resampled: Table | None) -> Estimate:
    if resampled is None:
        return Estimate(mean, None, None)
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(mean, float(low), float(high))


def _resampled(units: Mapping[str, Table], objective: str) -> Table | None:
    """Return the score of each resample; None where a task has a single unit."""
    if any(values.size < 2 for values in units.values()):
        return None
    means = np.stack([values[_drawn(values.size)].mean(axis=1) for values in units.values()])
    return np.asarray(means.max(axis=0) if objective == "worst" else means.mean(axis=0))


@lru_cache(maxsize=8)
def _drawn(units: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return which units each resample holds: the same for as many units."""
    return np.random.default_rng(SEED).integers(units, size=(RESAMPLES, units))
