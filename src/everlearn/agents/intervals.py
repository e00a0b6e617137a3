"""Models whose transition probabilities lie in intervals, and planning for the best of them.

The agents :mod:`everlearn.agents.ucrl2b` and :mod:`everlearn.agents.ucrl3` keep a lower and an upper bound for every
probability P(s'|s, a).  The most favourable row of a pair gives each next state its lower bound, and distributes what
is left from the best next state down, up to the upper bounds.  The agents differ in their bounds, and in which next
states may be distributed to, the *support*: those that were observed, and the best few of the others.

Episodes are those of UCRL2 (:mod:`everlearn.agents.episodes`).  As in the package statisticalrl_learners, planning
starts from the values of the last episode, which saves sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.checks import check_model_size, check_positive, check_sweeps
from everlearn.agents.counts import BEFORE, EARNED, REWARD, VISITS, count_step
from everlearn.agents.design import Design
from everlearn.agents.episodes import CHANGE, EPISODE, VALUE, act, choose, first_values, has_settled, inspect, policy
from everlearn.agents.planning import arrange
from everlearn.protocol import Experience, Learn, Table
from everlearn.tasks.indexed import IndexedTask

SPREAD, FREE, NUMBERS = -5, -6, 6
"""Places in a row: the sum of squared deviations of the rewards from their mean, and what is left of 1 when each next
state has its lower bound.  Then the numbers at the end of a row."""

TABLES = 3
"""Numbers per pair and next state: a count, a lower bound, and the width of the interval."""


class Intervals(NamedTuple):
    """The counts, the bounds, the policy of the episode, and work space for planning the next."""

    pairs: Table
    """Rows as in :mod:`everlearn.agents.counts`.  After the counts come the lower bounds of the probabilities
    of the next states, and then the widths of the intervals."""
    values: Table
    """The value of each aleatoric state, and its change."""
    plan: NDArray[np.int64]
    """The action of the policy for each aleatoric state; then the states ordered by value; last k, the number of the
    episode."""
    failure: float
    """The probability with which one bound may fail."""
    slack: float
    """How much value the support may miss: 0 for none, so that it has all next states; infinity if it has only the
    best and the observed ones."""
    precision: float
    sweeps: int


def observe_step(pairs: Table, experience: Experience) -> None:
    """Count one step, and update the spread of the rewards of its pair (Welford, 1962)."""
    s = experience.aleatoric_state
    a = experience.action
    n = pairs[s, a, VISITS]
    before = experience.reward - pairs[s, a, EARNED] / max(1.0, n)
    count_step(pairs, experience)
    if n > 0.0:
        pairs[s, a, SPREAD] += before * (experience.reward - pairs[s, a, EARNED] / (n + 1.0))


def is_newly_visited(row: Table) -> bool:
    """Return whether a pair was visited in this episode, so that its bounds have changed."""
    return row[VISITS] > row[BEFORE]  # type: ignore[no-any-return]


def plan_episode(knowledge: Intervals, t: float) -> None:
    """Find a policy for the best model within the bounds, whose gain is certain to within ``precision`` / t."""
    states = knowledge.pairs.shape[0]
    v = knowledge.values[VALUE]
    order = knowledge.plan[states : 2 * states]
    knowledge.plan[EPISODE] += 1
    most_visits = count_episode(knowledge.pairs)
    for _ in range(knowledge.sweeps):
        arrange(order, v)
        sweep_intervals(knowledge, order, knowledge.slack / most_visits ** (2.0 / 3.0))
        if has_settled(knowledge.values, knowledge.precision / t):
            break


def count_episode(pairs: Table) -> float:
    """Remember the visits of each pair before the episode, and return the most, at least 1."""
    most = 1.0
    for s in range(pairs.shape[0]):
        for a in range(pairs.shape[1]):
            pairs[s, a, BEFORE] = pairs[s, a, VISITS]
            most = max(most, pairs[s, a, VISITS])
    return most


def sweep_intervals(knowledge: Intervals, order: NDArray[np.int64], slack: float) -> None:
    """Do a sweep of value iteration with the most favourable row of each pair."""
    pairs = knowledge.pairs
    v = knowledge.values[VALUE]
    for s in range(len(v)):
        best = -math.inf
        for a in range(pairs.shape[1]):
            hoped = pairs[s, a, REWARD] + hoped_value(pairs[s, a], order, v, slack)
            best = choose(pairs, knowledge.plan, s, a, hoped, best)
        knowledge.values[CHANGE, s] = best - v[s]


def set_interval(row: Table, to: int, lower: float, upper: float) -> None:
    """Write the bounds of the probability of a next state; ``row[FREE]`` is 1 before the first."""
    states = (len(row) - NUMBERS) // TABLES
    row[states + to] = lower
    row[2 * states + to] = upper - lower
    row[FREE] -= lower


def most_value(row: Table, order: NDArray[np.int64], v: Table, reach: int) -> float:
    """Return the greatest plausible mean of v over next states that were observed or are among the ``reach`` best."""
    states = len(v)
    left = row[FREE]
    total = 0.0
    for place in range(states):
        to = order[place]
        p = row[states + to]
        if left > 0.0 and (place < reach or row[to] > 0.0):
            more = min(left, row[2 * states + to])
            left -= more
            p += more
        total += p * v[to]
    return total


def missed_value(row: Table, order: NDArray[np.int64], v: Table, reach: int) -> float:
    """Return the greatest plausible part of the mean of v that all other next states may contribute."""
    states = len(v)
    left = 1.0
    total = 0.0
    for place in range(reach, states):
        to = order[place]
        if left <= 0.0:
            break
        if row[to] == 0.0:
            p = min(left, row[2 * states + to])
            left -= p
            total += p * v[to]
    return total


def hoped_value(row: Table, order: NDArray[np.int64], v: Table, slack: float) -> float:
    """Return the greatest plausible mean of v over the support.

    Besides the observed next states, the support has the least number of the best ones, at least 1, with which the
    others may contribute no more than ``slack`` times the greatest value times the number of observed states, and no
    more than the support.  With more states in the support, it contributes more and the others less, so bisection finds
    that number.
    """
    states = len(v)
    if slack == 0.0:
        return most_value(row, order, v, states)
    value = most_value(row, order, v, 1)
    if slack == math.inf:
        return value
    observed = 0
    for to in range(states):
        observed += row[to] > 0.0
    allowed = slack * v[order[0]] * observed
    least = 1
    most = states
    reach = 1
    while least < most:
        missed = missed_value(row, order, v, reach)
        if missed > allowed or missed > value:
            least = reach + 1
        else:
            most = reach
        reach = (least + most) // 2
        value = most_value(row, order, v, reach)
    return value


def interval_design(
    name: str,
    learn: Learn,
    failure: Callable[[int, int], float],
    slack: float,
    precision: float,
    sweeps: int,
) -> Design:
    """Return the design; ``failure(states, actions)`` is the probability with which one bound may fail."""
    check_positive(precision=precision)
    check_sweeps(sweeps)

    def build(indexed: IndexedTask) -> Intervals:
        check_model_size(indexed, name, TABLES)
        states, actions = indexed.states, indexed.actions
        pairs = np.zeros((states, actions, TABLES * states + NUMBERS))
        pairs[:, :, 2 * states : TABLES * states] = 1.0
        pairs[:, :, REWARD] = pairs[:, :, FREE] = 1.0
        return Intervals(
            pairs,
            first_values(states),
            np.array([0] * states + [*range(states)] + [1]),
            failure(states, actions),
            slack,
            precision,
            sweeps,
        )

    return Design(build, act, learn, policy, inspect=inspect, unit=True, plans=True, name=name)
