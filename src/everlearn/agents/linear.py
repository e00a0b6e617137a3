"""Algorithm 2 with values that generalise: optimistic Q-learning over a growing horizon, linear in binary features.

The paper closes with the question of value functions that generalise over agent states.  Here the value of an action in
a state is the sum of the weights of the state's active features, and each feature has its own counts.  Values are in
offset form, u = Q - c, as in :mod:`everlearn.agents.growing_horizon`, and the lines are those of Algorithm 2:

- Lines 7 and 10 count every active feature with the action.  N is the harmonic mean of these counts, so that a state
  with a feature that was hardly ever active counts as hardly ever visited.
- Lines 11 to 15 compute the new value as the paper does, from N: the same step size, target, bonus and clip.
- The change of the value is then divided among the active features, in inverse proportion to their counts: what is
  known well changes little.  These shares add up to one, so that the value of the pair that was visited becomes exactly
  the new value, whatever the features are: the step never overshoots.

With one feature per state (``onehot``) this is Algorithm 2, bit for bit.  With other features, the agent keeps the
optimism of values that were not updated and the bonus that decreases with experience; the theorems of the paper do not
hold, since they need a value of its own for each pair.  Schedules that hold an action for several visits to a state
(``practical``) do not hold here, because a state may never be visited again; the other parameters apply.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.agents.growing_horizon import (
    ScheduleConstants,
    begin,
    constants_of,
    limited,
    scaled_count,
    scaled_counts,
    step_size,
    varying_bonus,
)
from everlearn.agents.perception import action_values, all_values, feature, is_grid, rows_of, sight
from everlearn.agents.schedule import Schedule
from everlearn.agents.tabular import greedy_action, greedy_policy, largest
from everlearn.aleatoric.features import AUTO
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class LinearValues(NamedTuple):
    """The weights and counts of every feature, and the features of every state."""

    cells: NDArray[Any]
    """One record per feature, as in :class:`everlearn.agents.growing_horizon.OffsetValues`."""
    parts: NDArray[np.int64]
    digits: NDArray[np.int64]
    segment: int
    constants: ScheduleConstants


def act(knowledge: LinearValues, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Line 8: sample from the greedy actions."""
    values = action_values(knowledge, knowledge.cells["value"], rows_of(knowledge, aleatoric_state))
    return greedy_action(values, 0, stream)


def learn(knowledge: LinearValues, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Lines 10 to 15; the change of the value is divided among the features."""
    weights = knowledge.cells["value"]
    rows = rows_of(knowledge, experience.aleatoric_state)
    a = experience.action
    parts = knowledge.parts
    segment = knowledge.segment
    count = knowledge.cells["count"]
    stamp = knowledge.cells["stamp"]
    number = parts.shape[1]
    shares = np.zeros(number)
    u = 0.0
    rarest = 0.0  # the sum of 1 / N over features, relative to that of the first
    first = 0.0
    for j in range(number):
        i = feature(parts, segment, rows, j) if segment > 0 else parts[rows[0], j]  # a call takes time
        u += weights[i, a]
        n = count_feature(count, stamp, i, a, now)
        first = n if j == 0 else first
        shares[j] = first / n
        rarest += shares[j]
    n = limited(first * (number / rarest), now.horizon, knowledge.constants.step_weight, knowledge.constants.forgetting)
    alpha = step_size(n, now.horizon, knowledge.constants.step_weight)
    following = rows_of(knowledge, experience.next_aleatoric_state)
    target = experience.reward - now.drift + now.discount * largest(action_values(knowledge, weights, following), 0)
    target += bonus(knowledge, rows, a, n, alpha, target, now)
    value = min((1.0 - alpha) * u + alpha * target, now.ceiling)
    for j in range(number):
        i = feature(parts, segment, rows, j) if segment > 0 else parts[rows[0], j]  # a call takes time
        share = shares[j] / rarest
        weights[i, a] = (weights[i, a] - share * u) + share * value  # exactly the value if there is one feature


def count_feature(count: Table, stamp: Table, i: int, a: int, now: ScheduleValues) -> float:
    """Lines 7 and 10 for one feature, as :func:`everlearn.agents.growing_horizon.count_visit` does them for a state."""
    if stamp.shape[1] == 0:
        count[i, a] += 1.0
        return count[i, a]  # type: ignore[no-any-return]
    n = scaled_count(count[i, a], stamp[i, a], now.scale, now.exponent) + 1.0
    count[i, a] = n * now.unscale
    stamp[i, a] = now.exponent
    return n


def bonus(
    knowledge: LinearValues,
    rows: NDArray[np.int64],
    a: int,
    n: float,
    alpha: float,
    target: float,
    now: ScheduleValues,
) -> float:
    """Return the bonus of Line 14; if optimism follows the variance, the deviation is the mean over the features."""
    mean = knowledge.cells["mean"]
    variance = knowledge.cells["variance"]
    if mean.shape[1] == 0:
        return now.optimism / math.sqrt(n)
    parts = knowledge.parts
    segment = knowledge.segment
    deviation: float = 0.0
    for j in range(parts.shape[1]):
        i = feature(parts, segment, rows, j) if segment > 0 else parts[rows[0], j]  # a call takes time
        error = target - mean[i, a]
        mean[i, a] += alpha * error
        variance[i, a] = (1.0 - alpha) * (variance[i, a] + alpha * error * error)
        deviation += math.sqrt(variance[i, a])
    return varying_bonus(knowledge.constants, deviation / parts.shape[1], n, now)


def policy(knowledge: LinearValues) -> Table:
    """Return the greedy policy."""
    return greedy_policy(all_values(knowledge, knowledge.cells["value"]))


def policy_at(knowledge: LinearValues, aleatoric_state: int) -> Table:
    """Return the row of the policy for one state."""
    rows = rows_of(knowledge, aleatoric_state)
    row: Table = greedy_policy(action_values(knowledge, knowledge.cells["value"], rows))[0]
    return row


def inspect(knowledge: LinearValues, now: ScheduleValues) -> dict[str, Table]:
    """Return Q and N of every state at the end of step ``now.t``; N is the harmonic mean over the features.

    If there are too many states for a table, nothing is returned.
    """
    if is_grid(knowledge):
        return {}
    cells = knowledge.cells
    counts = cells["count"].copy()
    if cells["stamp"].size:
        counts = scaled_counts(counts, cells["stamp"], now.scale, now.exponent)
    with np.errstate(divide="ignore"):
        n = knowledge.parts.shape[1] / all_values(knowledge, 1.0 / counts)
    return {"Q": all_values(knowledge, cells["value"]) + (now.horizon - now.ceiling), "N": n}


def linear(*, schedule: Schedule, features: str = AUTO) -> Design:
    """Optimistic Q-learning over a growing horizon, with values that are linear in features of the state.

    Parameters
    ----------
    schedule:
        how these change with time: the horizon (foo1 in the paper), the optimism (foo2), what is added to every action
        value (foo3) and what multiplies every count (foo4); see :class:`everlearn.Schedule`
    features:
        ``auto``, ``onehot``, ``factors``, ``pairs``, ``hashed:N`` or an ``el.Features``; see
        :mod:`everlearn.aleatoric.features`

    """

    def build(indexed: IndexedTask) -> LinearValues:
        seen = sight(features, indexed)
        cells = begin(schedule, seen.size, indexed.actions).cells
        return LinearValues(cells, *seen[:3], constants_of(schedule))

    return Design(
        build,
        act,
        learn,
        policy,
        schedule,
        inspect,
        unit=schedule.unit,
        features=True,
        policy_at=policy_at,
        name="linear",
    )
