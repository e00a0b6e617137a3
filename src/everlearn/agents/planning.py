"""Planning for the average reward: value iteration on a known model, and on every model within confidence bounds.

Both iterate from values v, one for each aleatoric state, until the change of the values in a sweep is almost the same
in all states.  Where the changes are c(s), the policy that is greedy with respect to v has an average reward of at
least min c, and none has more than max c (Puterman, 1994, Section 8.5).  So their middle is the gain, to within half
the spread.

Compiled and interpreted these do the same arithmetic in the same order, so that no bit depends on how they are run.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table

DAMPING = 0.9
"""The part of a change that is made: it keeps a model that is almost periodic from oscillating (the same Section)."""

TIE = 1e-10
"""Optimistic values that are equal on paper differ by rounding; closer ones than this count as equal."""


def relative_value_iteration(
    model: Table, rewards: Table, v: Table, change: Table, chosen: NDArray[np.int64], precision: float, sweeps: int
) -> None:
    """Find a policy of a known model whose average reward is within ``precision`` of the best.

    Parameters
    ----------
    model, rewards:
        P[s, a, s'] and r[s, a]
    v:
        the values to begin from; those reached, the least of them 0, are left here
    change:
        room for the change of each value in the last sweep, whose :func:`middle` is the gain
    chosen:
        room for the policy, an action for each state
    precision:
        stop where the spread of the changes is less
    sweeps:
        stop after so many, precise or not

    Examples
    --------
    One may stay in state 1 for a reward of 1, or leave it; state 0 can only be left:

    >>> model = np.array([[[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> rewards, v, change = np.array([[0.0, 0.0], [1.0, 1.0]]), np.zeros(2), np.zeros(2)
    >>> chosen = np.zeros(2, dtype=np.int64)
    >>> relative_value_iteration(model, rewards, v, change, chosen, precision=1e-9, sweeps=1000)
    >>> round(middle(change), 6), chosen.tolist(), v.round(6).tolist()
    (1.0, [0, 0], [0.0, 1.0])

    """
    for _ in range(sweeps):
        sweep(model, rewards, v, change, chosen)
        least, most = extremes(change)
        if most - least < precision:
            break
        for s in range(len(v)):
            v[s] += DAMPING * (change[s] - least)
        settle(v)


def sweep(model: Table, rewards: Table, v: Table, change: Table, chosen: NDArray[np.int64]) -> None:
    """Find max_a r(s, a) + sum P(s'|s, a) v(s') for each state, how far it is from v(s), and the first such action."""
    for s in range(len(v)):
        best = -math.inf
        for a in range(rewards.shape[1]):
            q = rewards[s, a]
            for following in range(len(v)):
                q += model[s, a, following] * v[following]
            if q > best:
                best = q
                chosen[s] = a
        change[s] = best - v[s]


def extended_value_iteration(
    transitions: Table,
    visits: Table,
    rewards: Table,
    radius: Table,
    v: Table,
    change: Table,
    order: NDArray[np.int64],
    chosen: NDArray[np.int64],
    precision: float,
    sweeps: int,
) -> None:
    """Find a policy for the best of all models within confidence bounds (Jaksch, Ortner, Auer, 2010, Section 3.1).

    The rows of such a model are within ``radius`` of the frequencies ``transitions / visits``, as sums of absolute
    differences.  It begins from values of 0.

    Parameters
    ----------
    transitions, visits:
        counts for (s, a, s') and for (s, a); the row of a pair that was never visited is any distribution
    rewards, radius:
        for (s, a), the greatest plausible reward, and the bound of the differences
    v, change, order, chosen:
        room for the values, their changes, the states from the best value to the worst, and the policy
    precision, sweeps:
        as there

    Examples
    --------
    Nothing is known, so the best model stays in the better state for ever:

    >>> none, rewards, radius = np.zeros((2, 1, 2)), np.array([[0.25], [0.75]]), np.full((2, 1), 2.0)
    >>> v, change, order, chosen = np.zeros(2), np.zeros(2), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    >>> extended_value_iteration(none, none[:, :, 0], rewards, radius, v, change, order, chosen, 0.01, 100)
    >>> middle(change), v.tolist()
    (0.75, [0.0, 0.5])

    """
    for s in range(len(v)):
        v[s] = 0.0
        order[s] = s
    for _ in range(sweeps):
        arrange(order, v)
        optimistic_sweep(transitions, visits, rewards, radius, v, change, order, chosen)
        least, most = extremes(change)
        if most - least < precision:
            break
        for s in range(len(v)):
            v[s] += change[s]
        settle(v)


def optimistic_sweep(
    transitions: Table,
    visits: Table,
    rewards: Table,
    radius: Table,
    v: Table,
    change: Table,
    order: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> None:
    """Do a sweep with the most favourable row of each pair (Figure 2).

    That row moves half the radius to the best state, and takes it from the worst ones.  What the best has left is
    dealt out from the next best on: where nothing is left, no rounding keeps two such rows from being equal.  Equally
    good actions are often equally unknown; the one that was visited least is chosen, and of these the first.
    """
    best_state = order[0]
    for s in range(len(v)):
        best = -math.inf
        for a in range(rewards.shape[1]):
            each = 1.0 / max(1.0, visits[s, a])
            p = min(1.0, transitions[s, a, best_state] * each + 0.5 * radius[s, a]) if visits[s, a] > 0.0 else 1.0
            left = 1.0 - p
            q = rewards[s, a] + p * v[best_state]
            place = 1
            while left > 0.0 and place < len(v):
                p = min(left, transitions[s, a, order[place]] * each)
                left -= p
                q += p * v[order[place]]
                place += 1
            if q > best + TIE or (q > best - TIE and visits[s, a] < visits[s, chosen[s]]):
                chosen[s] = a
            best = max(best, q)
        change[s] = best - v[s]


def arrange(order: NDArray[np.int64], v: Table) -> None:
    """Sort states from the best value to the worst, by insertion: from one sweep to the next little changes.

    Examples
    --------
    >>> order = np.arange(3)
    >>> arrange(order, np.array([0.5, 2.0, 1.0]))
    >>> order.tolist()
    [1, 2, 0]

    """
    for place in range(1, len(order)):
        moved = order[place]
        to = place
        while to > 0 and v[order[to - 1]] < v[moved]:
            order[to] = order[to - 1]
            to -= 1
        order[to] = moved


def extremes(change: Table) -> tuple[float, float]:
    """Return the least and the greatest."""
    least: float = change[0]
    most: float = change[0]
    for s in range(1, len(change)):
        least = min(least, change[s])
        most = max(most, change[s])
    return least, most


def middle(change: Table) -> float:
    """Return the middle between the least and the greatest."""
    least, most = extremes(change)
    return float(0.5 * (least + most))


def settle(v: Table) -> None:
    """Lower all values so that the least is 0, which changes no policy and keeps them from growing for ever."""
    least, _ = extremes(v)
    for s in range(len(v)):
        v[s] -= least
