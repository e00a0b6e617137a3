"""Planning for the average reward: value iteration on a known model, and what planning on plausible models shares.

Both iterate over values v, one per aleatoric state, until the change of the values in a sweep is almost the same in all
states.  If the changes are c(s), the policy that is greedy with respect to v has an average reward of at least min c,
and no policy has more than max c (Puterman, 1994, Section 8.5).  So the middle of the two is the gain, to within half
the spread.

Compiled and interpreted code do the same arithmetic in the same order, so that both give the same bits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table

DAMPING = 0.9
"""The share of a change that is applied, so that values do not oscillate on an almost periodic model (Section 8.5)."""

TIE = 1e-10
"""Optimistic values that are equal on paper differ by rounding; values closer than this count as equal."""


def relative_value_iteration(
    model: Table, rewards: Table, v: Table, change: Table, chosen: NDArray[np.int64], precision: float, sweeps: int
) -> None:
    """Find a policy of the model P[s, a, s'] and r[s, a] whose average reward is within ``precision`` of the best.

    Iterate from the values ``v`` until the spread of the changes is less than ``precision``, or for ``sweeps`` sweeps.
    Write the values (the least is 0) to ``v``, their last changes, whose :func:`middle` is the gain, to ``change``, and
    the action of each state to ``chosen``.
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
    """Find max_a r(s, a) + sum P(s'|s, a) v(s') for each state, its distance from v(s), and the first such action."""
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


def arrange(order: NDArray[np.int64], v: Table) -> None:
    """Sort states from the best value to the worst, by insertion, since little changes from sweep to sweep."""
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
    """Lower all values so that the least is 0; this changes no policy and keeps them from growing without bound."""
    least, _ = extremes(v)
    for s in range(len(v)):
        v[s] -= least
