"""Losses and scores of candidates.

A loss is one number per run; less is better, and the scale is the same for all tasks:

- If the optimum lambda_* is known and positive: relative regret, (lambda_* - average reward) / lambda_*.
- If it is known and not positive: (lambda_* - average reward) / (width of the reward range).
- If it is not known: (highest reward - average reward) / (width of the reward range), which orders candidates as the
  average reward does.

The loss on a task is the mean over its units.  The score is the mean over tasks, or the largest of them.  Intervals are
percentiles of the bootstrap over units.  Unit i has the same random numbers on every task and for every candidate, so
tasks with the same number of units are resampled together, and so are two candidates that are compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from everlearn.aleatoric.reward import Reward
from everlearn.analysis.names import described, task_settings
from everlearn.analysis.statistics import SEED
from everlearn.experiments.spec import Spec
from everlearn.experiments.variants import make_variants
from everlearn.protocol import Table
from everlearn.registry import plain
from everlearn.results.arm import Arm

NEGLIGIBLE = 1e-9
"""An optimum below this share of the width of the reward range counts as zero, because it is a rounding error."""

RESAMPLES = 2_000
CONFIDENCE = 0.95


def loss(average: Table, optimum: float | None, reward: Reward) -> Table:
    """Return the losses of runs, from their average rewards in the task's own units."""
    width = reward.high - reward.low
    if optimum is None:
        return np.asarray((reward.high - average) / width)
    return np.asarray((optimum - average) / (optimum if optimum > NEGLIGIBLE * width else width))


class Losses:
    """The losses of one candidate on each task, or each member of a family, in all runs so far."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[int | None, list[Table]]] = {}

    def add(self, task: str, member: int | None, values: Table) -> None:
        """Add the losses of further runs."""
        self._parts.setdefault(task, {}).setdefault(member, []).append(values)

    @property
    def units(self) -> dict[str, Table]:
        """The losses of the replicates, by task: runs, or the means over runs of the members of a family."""
        return {task: _units(members) for task, members in self._parts.items()}

    @property
    def runs(self) -> int:
        """The number of runs of each task, or of each member."""
        return max(sum(map(len, parts)) for members in self._parts.values() for parts in members.values())


def _units(members: Mapping[int | None, list[Table]]) -> Table:
    if None in members:
        return np.concatenate(members[None])
    return np.array([np.concatenate(parts).mean() for parts in members.values()])


def rewards_by_task(spec: Spec) -> dict[str, Reward]:
    """Return the rewards of every task of a spec, or member of a family, by its key."""
    tasks = [variant.task for variant in make_variants(spec)]
    return {_key(task.label, plain(task.settings), task.member): task.task.reward for task in tasks}


def add_losses(arms: Iterable[Arm], rewards: Mapping[str, Reward], losses: Mapping[str, Losses]) -> None:
    """Add what candidates lost to their losses, by their labels."""
    for arm in arms:
        settings = task_settings(arm)
        detail = described(settings, settings)
        task = f"{arm.task} ({detail})" if detail else arm.task
        optimum = None if arm.optimum is None else float(arm.optimum[0])
        average = arm.total_reward[:, -1] / arm.times[-1]
        reward = rewards[_key(arm.task, settings, arm.member)]
        losses[arm.agent].add(task, arm.member, loss(average, optimum, reward))


def _key(task: str, settings: Mapping[str, Any], member: int | None) -> str:
    return json.dumps([task, dict(settings), member], sort_keys=True)


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
    """Return the score of losses, which are given by task."""
    means = [float(values.mean()) for values in units.values()]
    return max(means) if objective == "worst" else math.fsum(means) / len(means)


def estimate(units: Mapping[str, Table], objective: str) -> Estimate:
    """Return the score with an interval."""
    return _make_estimate(score(units, objective), _resample(units, objective))


def difference(units: Mapping[str, Table], other: Mapping[str, Table], objective: str) -> Estimate:
    """Return by how much a score is higher than another, with an interval over pairs of units."""
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
