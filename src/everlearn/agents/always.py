"""A fixed policy over aleatoric states, deterministic or randomised; it never learns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everlearn.agents.design import Design
from everlearn.agents.policies import policy_table
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.randomness import uniform
from everlearn.tasks.indexed import IndexedTask


class Fixed(NamedTuple):
    """Action probabilities and their running sums, one row per aleatoric state."""

    probability: Table
    bounds: Table


def act(knowledge: Fixed, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Sample from a row; draw only if it is not deterministic."""
    actions: int = knowledge.probability.shape[1]
    for a in range(actions):
        if knowledge.probability[aleatoric_state, a] == 1.0:
            return a
    draw = uniform(stream)
    chosen = 0
    for a in range(actions):
        if knowledge.probability[aleatoric_state, a] > 0.0:
            chosen = a  # the last possible action, if rounding leaves the sum below the draw
            if draw < knowledge.bounds[aleatoric_state, a]:
                return a
    return chosen


def learn(knowledge: Fixed, experience: Experience, now: ScheduleValues, stream: Any) -> None:
    """Learn nothing."""


def always(*, policy: Any | None = None) -> Design:
    """Follow a fixed policy over aleatoric states forever.

    Parameters
    ----------
    policy:
        an action to take everywhere (``slow``), or one for each state (``0=slow,1=fast:0.5``), as a text or a mapping;
        or a table of probabilities; default: uniform

    """

    def build(indexed: IndexedTask) -> Fixed:
        table = policy_table(indexed.task, policy)
        return Fixed(table, np.cumsum(table, axis=1))

    return Design(build, act, learn, lambda knowledge: knowledge.probability.copy(), by_state=True, name="always")
