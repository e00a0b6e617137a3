"""Algorithm 2, ``growing_horizon_q_learning``: optimistic Q-learning over a horizon that grows with time.

The algorithm as written adds foo3(t) to every value and multiplies every count by foo4(t) at each step, which costs
|S| |A| operations.  Here both are stored in forms in which that costs nothing:

- u = Q - c, where c = 1 + foo3(1) + ... + foo3(t).  Since (1 - gamma) tau = 1, the update of Line 14 becomes
  u += alpha (r - c / tau + gamma max u' - u + beta / sqrt(N)), and the clip of Line 15 becomes u = min(u, tau - c).
- N = visits * scale * 2 ** (exponent - stamp), where scale * 2 ** exponent is the product of foo4 so far, visits is the
  count at the last visit of the pair divided by the scale at that time, and the stamp is the exponent at that time.

In this form, two clipped values are exactly equal, as in exact arithmetic.  In the literal form, rounding
would break such ties and change the actions.

A schedule can also scale the bonus by the standard deviation of the update targets, which is then estimated with the
step size of Line 11, can repeat a chosen action for several visits to a state, and can limit the counts that are used,
so that the step size stays above a bound (:class:`everlearn.Schedule`).  The paper's schedules do none of these, and
with them the agent is the paper's.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.agents.schedule import Schedule
from everlearn.agents.tabular import Given, given, greedy_action, greedy_policy, largest, records, value_table
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask

VANISHED = -2000
"""A power of two so small that any count times it is zero.  A zero of foo4 lowers the exponent by 2 ** 26; only scales
that multiply to more than 2 ** (2 ** 26) afterwards could bring back what it forgot."""


class ScheduleConstants(NamedTuple):
    """What a schedule sets once for all steps (:class:`everlearn.Schedule`)."""

    step_weight: float
    doubt: float
    rarity: float
    persistence: float
    persistence_most: float
    forgetting: Given


class OffsetValues(NamedTuple):
    """Q and N in offset form."""

    cells: NDArray[Any]
    """One record per aleatoric state.  For each action it has ``value``, its u; ``count``, its visits; ``stamp``, if
    foo4 scales counts; ``mean`` and ``variance`` of its targets, if optimism follows them.  If actions are held it
    has ``held``, the action, and ``left``, the number of visits left.  A field that is not needed has no entries."""
    constants: ScheduleConstants


def act(knowledge: OffsetValues, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Line 8: sample from the greedy actions, which the offset c does not change; or repeat the action that is held."""
    left = knowledge.cells["left"]
    if left.shape[1] > 0 and left[aleatoric_state, 0] >= 1.0:
        return int(knowledge.cells["held"][aleatoric_state, 0])
    return greedy_action(knowledge.cells["value"], aleatoric_state, stream)


def learn(knowledge: OffsetValues, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Lines 10 to 15, and hold the action if actions are held."""
    n = update(knowledge, experience, now)
    hold(knowledge, experience.aleatoric_state, experience.action, n)


def update(knowledge: OffsetValues, experience: Experience, now: ScheduleValues) -> float:
    """Lines 10 to 15, with u = Q - c in place of Q; ``now`` has the results of Lines 4 to 7 and 13.  Return N."""
    u = knowledge.cells["value"]
    s = experience.aleatoric_state
    a = experience.action
    n = count_visit(knowledge, s, a, now)  # Lines 7 and 10
    alpha = step_size(n, now.horizon, knowledge.constants.step_weight)  # Line 11
    following = experience.next_aleatoric_state  # Line 12
    gamma = now.discount  # Line 13
    target = experience.reward - now.drift + gamma * largest(u, following)  # Line 14, where drift = c / tau
    target += bonus(knowledge, s, a, n, alpha, target, now)
    value = (1.0 - alpha) * u[s, a] + alpha * target  # exactly the target if alpha = 1
    u[s, a] = min(value, now.ceiling)  # Line 15, where ceiling = tau - c
    return n


def count_visit(knowledge: OffsetValues, s: int, a: int, now: ScheduleValues) -> float:
    """Lines 7 and 10: count a visit, and return N, or the most that may be used of it."""
    count = knowledge.cells["count"]
    stamp = knowledge.cells["stamp"]
    if stamp.shape[1] == 0:
        n = count[s, a] + 1.0
        count[s, a] = n
    else:
        n = scaled_count(count[s, a], stamp[s, a], now.scale, now.exponent) + 1.0
        count[s, a] = n * now.unscale
        stamp[s, a] = now.exponent
    return limited(n, now.horizon, knowledge.constants.step_weight, knowledge.constants.forgetting)


def limited(n: float, horizon: float, weight: float, forgetting: Given) -> float:
    """Return a count, or if it is less, the count at which the step size is ``forgetting``."""
    if len(forgetting) > 0:
        return min(n, (1.0 + weight * horizon) / forgetting[0] - weight * horizon)
    return n


def bonus(knowledge: OffsetValues, s: int, a: int, n: float, alpha: float, target: float, now: ScheduleValues) -> float:
    """Return the bonus of Line 14: foo2 / sqrt(N), unless optimism follows the variance."""
    mean = knowledge.cells["mean"]
    variance = knowledge.cells["variance"]
    if mean.shape[1] == 0:
        return now.optimism / math.sqrt(n)
    error = target - mean[s, a]
    mean[s, a] += alpha * error
    variance[s, a] = (1.0 - alpha) * (variance[s, a] + alpha * error * error)
    return varying_bonus(knowledge.constants, math.sqrt(variance[s, a]), n, now)


def varying_bonus(constants: ScheduleConstants, deviation: float, n: float, now: ScheduleValues) -> float:
    """Return the bonus if optimism follows the standard deviation of the targets."""
    chance = (constants.doubt + deviation) / math.sqrt(n) + constants.rarity * now.horizon / n
    return now.optimism * chance


def hold(knowledge: OffsetValues, s: int, a: int, n: float) -> None:
    """Count down while the held action is taken; hold another action from now on."""
    held = knowledge.cells["held"]
    left = knowledge.cells["left"]
    if left.shape[1] > 0:
        if left[s, 0] >= 1.0 and held[s, 0] == a:
            left[s, 0] -= 1.0
        else:
            held[s, 0] = a
            remembered = limited(n, 0.0, 0.0, knowledge.constants.forgetting)
            left[s, 0] = min(knowledge.constants.persistence * remembered, knowledge.constants.persistence_most)


def step_size(count: float, horizon: float, weight: float = 2.0) -> float:
    """Line 11: (1 + 2 tau) / (N + 2 tau), with the weight of the schedule in place of 2."""
    return (1.0 + weight * horizon) / (count + weight * horizon)


def scaled_count(visits: float, stamp: float, scale: float, exponent: float) -> float:
    """Line 7, applied late: scale a count by all of foo4 since its stamp."""
    n = visits * scale
    if stamp == exponent:
        return n
    return shifted(n, exponent - stamp)


def shifted(n: float, power: float) -> float:
    """Return n 2^power, in two factors, since 2^power alone may overflow or vanish when the product does not."""
    if power < VANISHED or n == 0.0:
        return 0.0
    if power > -VANISHED:
        return math.inf
    half = int(power) // 2
    return float(n) * math.ldexp(1.0, half) * math.ldexp(1.0, int(power) - half)


def scaled_counts(visits: Table, stamps: Table, scale: float, exponent: float) -> Table:
    """Return a table of :func:`scaled_count`, the same to the last bit."""
    power = exponent - stamps
    bounded = np.clip(power, VANISHED, -VANISHED).astype(np.int32)
    half = bounded // 2
    with np.errstate(over="ignore", under="ignore"):
        n = visits * scale
        counts: Table = n * np.ldexp(1.0, half) * np.ldexp(1.0, bounded - half)
    counts[power > -VANISHED] = math.inf
    counts[(power < VANISHED) | (n == 0.0)] = 0.0
    return counts


def policy(knowledge: OffsetValues) -> Table:
    """Return the greedy policy; where an action is held, that action."""
    probabilities = greedy_policy(knowledge.cells["value"])
    if knowledge.cells["left"].shape[1] > 0:
        held = knowledge.cells["left"][:, 0] >= 1.0
        probabilities[held] = np.eye(probabilities.shape[1])[knowledge.cells["held"][held, 0].astype(int)]
    return probabilities


def inspect(knowledge: OffsetValues, now: ScheduleValues) -> dict[str, Table]:
    """Return Q and N of the algorithm at the end of step ``now.t``, and sigma if it is tracked."""
    cells = knowledge.cells
    counts = cells["count"].copy()
    if cells["stamp"].size:
        counts = scaled_counts(counts, cells["stamp"], now.scale, now.exponent)
    tables = {"Q": cells["value"] + (now.horizon - now.ceiling), "N": counts}
    return {**tables, "sigma": np.sqrt(cells["variance"])} if cells["variance"].size else tables


def begin(schedule: Schedule, rows: int, actions: int) -> OffsetValues:
    """Lines 1 and 2: Q = 1 (u = 0, c = 1) and N = 0."""
    varies = actions if schedule.doubt is not None else 0
    holds = 1 if schedule.persistence > 0 else 0
    cells = records(
        rows,
        value=actions,
        count=actions,
        stamp=actions if schedule.scales_counts else 0,
        mean=varies,
        variance=varies,
        held=holds,
        left=holds,
    )
    return OffsetValues(cells, constants_of(schedule))


def constants_of(schedule: Schedule) -> ScheduleConstants:
    """Return the constants of a schedule."""
    return ScheduleConstants(
        schedule.step_weight,
        schedule.doubt or 0.0,
        schedule.rarity,
        schedule.persistence,
        schedule.persistence_most,
        given(schedule.forgetting),
    )


def growing_horizon(*, schedule: Schedule) -> Design:
    """Optimistic Q-learning over a growing horizon, the agent of the paper (Algorithm 2).

    Parameters
    ----------
    schedule:
        how these change with time: the horizon (foo1 in the paper), the optimism (foo2), what is added to every action
        value (foo3) and what multiplies every count (foo4); see :class:`everlearn.Schedule`

    """

    def build(indexed: IndexedTask) -> OffsetValues:
        return begin(schedule, indexed.states, indexed.actions)

    return Design(
        build,
        act,
        learn,
        policy,
        schedule,
        inspect,
        by_state=True,
        unit=schedule.unit,
        values=value_table,
        masks=True,
        name="growing-horizon",
    )
