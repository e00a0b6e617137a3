"""What a candidate lost on each task: one number a run, of which less is better, on a scale that tasks share.

- Where the optimum lambda_* is known and positive: relative regret, (lambda_* - average reward) / lambda_*.
- Where it is known and not positive: (lambda_* - average reward) / (width of the reward range).
- Where it is not known: (highest reward - average reward) / (width of the reward range), which orders candidates as the
  average reward does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from everlearn.analysis.names import described, task_settings
from everlearn.experiments.spec import Spec
from everlearn.experiments.variants import Place, variants
from everlearn.protocol import Table
from everlearn.registry import plain
from everlearn.results.arm import Arm

NEGLIGIBLE = 1e-9
"""An optimum below this share of the width of the reward range is taken for zero: it is rounding."""


class Scale(NamedTuple):
    """The range of a task's rewards.

    Examples
    --------
    >>> Scale(-1.0, 1.0).width
    2.0

    """

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far apart the ends are."""
        return self.high - self.low


def lost(average: Table, optimum: float | None, scale: Scale) -> Table:
    """Return what was lost, from average rewards in the task's own units.

    Examples
    --------
    >>> average, scale = np.array([0.5, 1.0]), Scale(-1.0, 3.0)
    >>> [lost(average, optimum, scale).tolist() for optimum in (2.0, 0.0, None)]
    [[0.75, 0.5], [-0.125, -0.25], [0.625, 0.5]]

    """
    if optimum is None:
        return np.asarray((scale.high - average) / scale.width)
    positive = optimum > NEGLIGIBLE * scale.width
    return np.asarray((optimum - average) / (optimum if positive else scale.width))


class Losses:
    """What one candidate lost: on each task, or each member of a family, in every run so far.

    Examples
    --------
    >>> losses = Losses()
    >>> losses.add("shop", None, np.array([0.2, 0.4])); losses.add("shop", None, np.array([0.6]))
    >>> losses.add("maze", 0, np.array([0.0, 1.0])); losses.add("maze", 1, np.array([0.3, 0.3]))
    >>> {task: units.tolist() for task, units in losses.units.items()}
    {'shop': [0.2, 0.4, 0.6], 'maze': [0.5, 0.3]}

    """

    def __init__(self) -> None:
        self._found: dict[str, dict[int | None, list[Table]]] = {}

    def add(self, task: str, member: int | None, values: Table) -> None:
        """Take in further runs."""
        self._found.setdefault(task, {}).setdefault(member, []).append(values)

    @property
    def units(self) -> dict[str, Table]:
        """What is replicated, by task: runs, or members of a family, each with the mean over its runs."""
        return {task: _units(members) for task, members in self._found.items()}

    @property
    def runs(self) -> int:
        """How many runs there were of each task, or of each member."""
        return max(sum(len(part) for part in parts) for each in self._found.values() for parts in each.values())


def _units(members: Mapping[int | None, list[Table]]) -> Table:
    if None in members:
        return np.concatenate(members[None])
    return np.array([np.concatenate(parts).mean() for parts in members.values()])


def scales(spec: Spec) -> dict[str, Scale]:
    """Return the range of rewards on every task of a spec, or member of a family, by what tells them apart."""
    places = [one.place for one in variants(spec)]
    return {_place(one): Scale(one.task.reward.low, one.task.reward.high) for one in places}


def enter(recorded: Iterable[Arm], scales: Mapping[str, Scale], into: Mapping[str, Losses]) -> None:
    """Enter what was recorded of candidates into their losses, by their labels."""
    for one in recorded:
        settings = task_settings(one)
        average = one.total_reward[:, -1] / one.times[-1]
        detail = described(settings, settings)
        task = f"{one.task} ({detail})" if detail else one.task
        optimum = None if one.optimum is None else float(one.optimum[0])
        into[one.agent].add(task, one.member, lost(average, optimum, scales[_key(one.task, settings, one.member)]))


def _place(place: Place) -> str:
    return _key(place.label, plain(place.settings), place.member)


def _key(task: str, settings: Mapping[str, Any], member: int | None) -> str:
    return json.dumps([task, dict(settings), member], sort_keys=True)
