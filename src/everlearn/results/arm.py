"""Arms of an experiment: one agent on one task, as statistics, tables and figures see it.

The *unit* is what is replicated: a run, or a member of a family of tasks, with the mean over its runs.  Units are
independent of each other.  Unit i of one arm and unit i of another share the environment's random numbers, so arms on
the same task are compared in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table

Item = TypeVar("Item")

LONGEST_POLICY = 24
"""Policies with more letters are not part of the name of an agent."""


@dataclass(frozen=True)
class Arm:
    """The rewards of one agent on one task, in the task's own units.

    Parameters
    ----------
    task:
        the label of the task in the experiment
    agent:
        the label of the agent in the experiment
    settings:
        the parameters in which the arms of the experiment differ, as in ``{"schedule.horizon_scale": 3}``
    times:
        the recording times
    total_reward:
        the sum of rewards until each time, one row per unit
    optimum:
        the optimal average reward of each unit's task, if it is known; its lower bound if only bounds are known
    unit:
        what a row is: ``run`` or ``member``
    references:
        average rewards known for the task, by name: lines to draw; empty for a family
    numbers:
        the number of each row's run or member, by which arms are paired; 0, 1, ... by default
    member:
        the member of a family that all runs are of, if there is one
    optimum_upper:
        the upper bound of the optimum, if only bounds are known
    name:
        the agent's name in figures and comparisons, if it says more than the label

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
    numbers: NDArray[np.int64] | None = None
    member: int | None = None
    optimum_upper: Table | None = None
    name: str = ""

    @property
    def against_upper(self) -> Arm | None:
        """The same arm with the upper bound of the optimum as its optimum; None if the optimum is a number."""
        return None if self.optimum_upper is None else replace(self, optimum=self.optimum_upper, optimum_upper=None)

    @property
    def numbered(self) -> NDArray[np.int64]:
        """The number of each row's run or member."""
        return np.arange(self.units) if self.numbers is None else self.numbers

    @property
    def units(self) -> int:
        """The number of independent rows."""
        return int(self.total_reward.shape[0])

    @property
    def average_reward(self) -> Table:
        """The cumulative average reward, one row per unit."""
        return self.total_reward / self.times

    @property
    def regret(self) -> Table | None:
        """The realized regret against the optimum (Section 1.2), one row per unit; None if the optimum is unknown.

        If only bounds of the optimum are known, it is against the lower one; ``against_upper`` has the other end.
        """
        if self.optimum is None:
            return None
        return self.optimum[:, None] * self.times - self.total_reward


def arms(recorded: Sequence[Arm]) -> list[Arm]:
    """Join the members of each family into one arm whose units are members, and return all arms."""
    groups = grouped(recorded, lambda arm: repr((arm.task, arm.agent, sorted(arm.settings.items()))))
    return [group[0] if group[0].member is None else _family(group) for group in groups.values()]


def _family(members: Sequence[Arm]) -> Arm:
    first = members[0]
    optima = [member.optimum[0] for member in members if member.optimum is not None]
    upper = [(member.against_upper or member).optimum for member in members]
    bounded = len(optima) == len(members) and any(member.optimum_upper is not None for member in members)
    return Arm(
        first.task,
        first.agent,
        first.settings,
        first.times,
        np.stack([member.total_reward.mean(axis=0) for member in members]),
        np.array(optima) if len(optima) == len(members) else None,
        "member",
        numbers=np.array([member.member for member in members]),
        optimum_upper=np.array([bound[0] for bound in upper if bound is not None]) if bounded else None,
        name=first.name,
    )


def grouped(items: Iterable[Item], key: Callable[[Item], str]) -> dict[str, list[Item]]:
    """Return the items of each key, in the order given."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def standard_error(table: Table) -> Table:
    """Return the standard error of the mean over rows; nan if there is only one row."""
    rows = len(table)
    if rows == 1:
        return np.full(table.shape[1:], math.nan)
    return np.asarray(table.std(axis=0, ddof=1) / math.sqrt(rows))


def finite(value: float) -> float | None:
    """Return a number for a JSON document: None if it is not finite."""
    return float(value) if math.isfinite(value) else None


def with_policy(agent: str, parameters: Mapping[str, Any]) -> str:
    """Return the name of an agent, with its policy if that is a parameter, as in ``always slow``.

    Examples
    --------
    >>> with_policy("always", {"agent.policy": "slow"}), with_policy("always", {"agent.policy": None})
    ('always slow', 'always at random')
    >>> with_policy("q-learning", {"agent.horizon": 10})
    'q-learning'

    """
    if "agent.policy" not in parameters:
        return agent
    policy = "at random" if parameters["agent.policy"] is None else str(parameters["agent.policy"])
    return f"{agent} {policy}" if len(policy) <= LONGEST_POLICY else agent
