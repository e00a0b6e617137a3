"""Losses: one number per run, less is better, on a scale that tasks share.

- If the optimum lambda_* is known and positive: relative regret, (lambda_* - average reward) / lambda_*.
- If it is known and not positive: (lambda_* - average reward) / (width of the reward range).
- If it is not known: (highest reward - average reward) / (width of the reward range), which orders candidates as the
  average reward does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from everlearn.analysis.names import described, task_settings
from everlearn.experiments.spec import Spec
from everlearn.experiments.variants import make_variants
from everlearn.protocol import Table
from everlearn.registry import plain
from everlearn.results.arm import Arm

NEGLIGIBLE = 1e-9
"""An optimum below this share of the width of the reward range counts as zero, because it is a rounding error."""


class RewardRange(NamedTuple):
    """The range of a task's rewards."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The highest reward minus the lowest."""
        return self.high - self.low


def loss(average: Table, optimum: float | None, rewards: RewardRange) -> Table:
    """Return the losses of runs, from their average rewards in the task's own units.

    Examples
    --------
    >>> average, rewards = np.array([0.5, 1.0]), RewardRange(-1.0, 3.0)
    >>> [loss(average, optimum, rewards).tolist() for optimum in (2.0, 0.0, None)]
    [[0.75, 0.5], [-0.125, -0.25], [0.625, 0.5]]

    """
    if optimum is None:
        return np.asarray((rewards.high - average) / rewards.width)
    positive = optimum > NEGLIGIBLE * rewards.width
    return np.asarray((optimum - average) / (optimum if positive else rewards.width))


class Losses:
    """The losses of one candidate on each task, or each member of a family, in all runs so far.

    Examples
    --------
    >>> losses = Losses()
    >>> losses.add("shop", None, np.array([0.2, 0.4])); losses.add("shop", None, np.array([0.6]))
    >>> losses.add("maze", 0, np.array([0.0, 1.0])); losses.add("maze", 1, np.array([0.3, 0.3]))
    >>> {task: units.tolist() for task, units in losses.units.items()}
    {'shop': [0.2, 0.4, 0.6], 'maze': [0.5, 0.3]}

    """

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


def reward_ranges(spec: Spec) -> dict[str, RewardRange]:
    """Return the range of rewards of every task of a spec, or member of a family, by its key."""
    tasks = [variant.task for variant in make_variants(spec)]
    return {
        _key(variant.label, plain(variant.settings), variant.member): RewardRange(
            variant.task.reward.low, variant.task.reward.high
        )
        for variant in tasks
    }


def add_losses(arms: Iterable[Arm], ranges: Mapping[str, RewardRange], losses: Mapping[str, Losses]) -> None:
    """Add what candidates lost to their losses, by their labels."""
    for arm in arms:
        settings = task_settings(arm)
        detail = described(settings, settings)
        task = f"{arm.task} ({detail})" if detail else arm.task
        optimum = None if arm.optimum is None else float(arm.optimum[0])
        rewards = ranges[_key(arm.task, settings, arm.member)]
        average = arm.total_reward[:, -1] / arm.times[-1]
        losses[arm.agent].add(task, arm.member, loss(average, optimum, rewards))


def _key(task: str, settings: Mapping[str, Any], member: int | None) -> str:
    return json.dumps([task, dict(settings), member], sort_keys=True)
