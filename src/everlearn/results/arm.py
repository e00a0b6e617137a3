"""An arm of an experiment: one agent on one task, as statistics and figures see it.

The *unit* is what is replicated: a run, or, where the task is a family, a member of it with the mean over its runs.
Units are independent of each other; unit i of one arm and unit i of another share the environment's random numbers, so
that arms on the same task are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table


@dataclass(frozen=True)
class Arm:
    """What one agent earned on one task, in the task's own units.

    Parameters
    ----------
    task, agent:
        their labels in the experiment
    settings:
        the parameters in which the arms of the experiment differ, as in ``{"schedule.horizon_scale": 3}``
    times, total_reward:
        the recording times, and the sum of rewards until each, a row for each unit
    optimum:
        the optimal average reward of each unit's task, where it is known
    unit:
        what a row is
    numbers:
        the number of each row's run, or member, by which arms are paired; 0, 1, ... unless given

    Examples
    --------
    >>> arm = Arm("shop", "smooth", {}, np.array([1, 2]), np.array([[0.0, 1.0], [1.0, 1.0]]))
    >>> arm.average_reward.tolist(), arm.units
    ([[0.0, 0.5], [1.0, 0.5]], 2)

    """

    task: str
    agent: str
    settings: Mapping[str, Any]
    times: NDArray[np.int64]
    total_reward: Table
    optimum: Table | None = None
    unit: str = "run"
    references: Mapping[str, float] = field(default_factory=dict)
    """Average rewards known for the task, by name: lines to draw.  Empty for a family."""
    numbers: NDArray[np.int64] | None = None

    @property
    def numbered(self) -> NDArray[np.int64]:
        """The number of each row's run, or member."""
        return np.arange(self.units) if self.numbers is None else self.numbers

    @property
    def units(self) -> int:
        """How many independent rows there are."""
        return int(self.total_reward.shape[0])

    @property
    def average_reward(self) -> Table:
        """The cumulative average reward, a row for each unit."""
        return self.total_reward / self.times

    @property
    def regret(self) -> Table | None:
        """The realized regret against the optimum (Section 1.2), a row for each unit; None where it is not known."""
        if self.optimum is None:
            return None
        return self.optimum[:, None] * self.times - self.total_reward


@dataclass(frozen=True)
class Recorded:
    """Runs of one agent on one task, or on one member of a family, as they were recorded."""

    task: str
    agent: str
    settings: Mapping[str, Any]
    member: int | None
    runs: NDArray[np.int64]
    times: NDArray[np.int64]
    total_reward: Table
    optimum: float | None = None
    references: Mapping[str, float] = field(default_factory=dict)


def arms(recorded: Sequence[Recorded]) -> list[Arm]:
    """Return the arms that recorded runs make up; members of a family come together in one.

    Examples
    --------
    >>> times, rewards = np.array([1, 2]), np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> members = [Recorded("maze", "smooth", {}, number, np.arange(2), times, rewards) for number in range(3)]
    >>> [(arm.unit, arm.total_reward.tolist()) for arm in arms(members)]
    [('member', [[0.5, 1.0], [0.5, 1.0], [0.5, 1.0]])]

    """
    together: dict[str, list[Recorded]] = {}
    for one in recorded:
        together.setdefault(repr((one.task, one.agent, sorted(one.settings.items()))), []).append(one)
    return [_arm(group) for group in together.values()]


def _arm(group: list[Recorded]) -> Arm:
    first = group[0]
    if first.member is None:
        optimum = None if first.optimum is None else np.full(len(first.runs), first.optimum)
        rewards, unit, references, numbers = first.total_reward, "run", first.references, first.runs
    else:
        known = [one.optimum for one in group if one.optimum is not None]
        optimum = np.array(known) if len(known) == len(group) else None
        rewards, unit, references = np.stack([one.total_reward.mean(axis=0) for one in group]), "member", {}
        numbers = np.array([one.member for one in group])
    return Arm(first.task, first.agent, first.settings, first.times, rewards, optimum, unit, references, numbers)
