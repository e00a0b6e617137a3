"""Scores: the loss of a candidate over all tasks, with its uncertainty.

The loss on a task is the mean over its units.  The score is the mean over tasks, or the largest of them.  Intervals are
percentiles of the bootstrap over units.  Unit i has the same random numbers on every task and for every candidate, so
tasks with the same number of units are resampled together, and so are two candidates that are compared.
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
    """A number with a 95% interval, which is None if there is only one unit.

    Examples
    --------
    >>> Estimate(0.1, 0.05, 0.15).high
    0.15

    """

    mean: float
    low: float | None
    high: float | None


def score(units: Mapping[str, Table], objective: str) -> float:
    """Return the score of losses, which are given by task.

    Examples
    --------
    >>> units = {"shop": np.array([0.2, 0.4]), "maze": np.array([0.5, 0.5])}
    >>> round(score(units, "mean"), 12), score(units, "worst")
    (0.4, 0.5)

    """
    means = [float(values.mean()) for values in units.values()]
    return max(means) if objective == "worst" else math.fsum(means) / len(means)


def estimate(units: Mapping[str, Table], objective: str) -> Estimate:
    """Return the score with an interval."""
    return _make_estimate(score(units, objective), _resample(units, objective))


def difference(units: Mapping[str, Table], other: Mapping[str, Table], objective: str) -> Estimate:
    """Return by how much a score is higher than another, with an interval over pairs of units.

    Examples
    --------
    >>> difference({"shop": np.array([0.25, 0.5])}, {"shop": np.array([0.5, 0.75])}, "mean")
    Estimate(mean=-0.25, low=-0.25, high=-0.25)

    """
    scores, other_scores = _resample(units, objective), _resample(other, objective)
    resampled = None if scores is None or other_scores is None else scores - other_scores
    return _make_estimate(score(units, objective) - score(other, objective), resampled)


def _make_estimate(mean: float, resampled: Table | None) -> Estimate:
    if resampled is None:
        return Estimate(mean, None, None)
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(mean, float(low), float(high))


def _resample(units: Mapping[str, Table], objective: str) -> Table | None:
    """Return the score of each resample; None if a task has only one unit."""
    if any(values.size < 2 for values in units.values()):
        return None
    means = np.stack([values[_draw(values.size)].mean(axis=1) for values in units.values()])
    return np.asarray(means.max(axis=0) if objective == "worst" else means.mean(axis=0))


@lru_cache(maxsize=8)
def _draw(units: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return the units of each resample, which depend only on the number of units."""
    return np.random.default_rng(SEED).integers(units, size=(RESAMPLES, units))
