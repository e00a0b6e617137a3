"""What the agents in the manner of UCRL2 share: episodes, each with a policy that is planned when it begins.

An episode ends when the pair that the policy is about to choose has been visited as often in this episode as in all
earlier ones.  Planning is value iteration; the agents differ in the rewards and transitions that they consider
possible.  Ties go to the action that was visited least, and among these to the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.counts import BEFORE, VISITS, planned_policy, show_plan
from everlearn.agents.planning import TIE, extremes, settle
from everlearn.protocol import ScheduleValues, Table

VALUE, CHANGE = 0, 1
"""Rows of ``values``: the value of each aleatoric state, and its change in the last sweep."""

EPISODE = -1
"""The place in ``plan`` of the number of the episode; the first places have the action of each aleatoric state."""


def first_values(states: int) -> Table:
    """Return the values before the first episode, and changes that are not settled."""
    return np.array([[0.0] * states, [1.0] * states])


def act(knowledge: Any, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Follow the policy of the episode."""
    return knowledge.plan[aleatoric_state]  # type: ignore[no-any-return]


def is_over(knowledge: Any, s: int) -> bool:
    """Return whether the pair that the policy chooses next was visited often enough in this episode."""
    a = knowledge.plan[s]
    before = knowledge.pairs[s, a, BEFORE]
    return knowledge.pairs[s, a, VISITS] - before >= max(1.0, before)  # type: ignore[no-any-return]


def choose(pairs: Table, plan: NDArray[np.int64], s: int, a: int, value: float, best: float) -> float:
    """Let the policy choose an action if its value exceeds the best so far, or equals it and it was visited less."""
    if value > best + TIE or (value > best - TIE and pairs[s, a, VISITS] < pairs[s, plan[s], VISITS]):
        plan[s] = a
    return max(best, value)


def has_settled(values: Table, precision: float) -> bool:
    """Return whether the gain is certain to within a precision; if not, add the changes to the values."""
    v = values[VALUE]
    change = values[CHANGE]
    least, most = extremes(change)
    if most - least < precision:
        return True
    for s in range(len(v)):
        v[s] += change[s]
    settle(v)
    return False


def policy(knowledge: Any) -> Table:
    """Return the policy of the episode."""
    states, actions, _ = knowledge.pairs.shape
    return planned_policy(knowledge.plan[:states], actions)


def inspect(knowledge: Any, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return N, the optimistic values V (the least is 0) and gain, and the number of the episode."""
    value, change = knowledge.values
    return show_plan(knowledge.pairs, value, change, float(knowledge.plan[EPISODE]))
