"""The reward averaging time tau_pi (Section 2.2.1).

tau_pi is the least tau with |lambda_pi(h, T) - lambda_pi| <= tau / T for every history h that can happen and every
T >= 1, where lambda_pi(h, T) is the expected average reward over T steps from h: the supremum over pairs and T of

    |x_T|,   x_T = sum_{k < T} P_pi^k (rbar_pi - lambda_pi).

Where some reachable pair has another gain than the empty history, x_T grows without bound, and tau_pi is infinite.
Otherwise, with the bias h, x_T = h - P_pi^T h: so once P^T h has stopped moving, everything later is known, up to what
it still moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everlearn.protocol import Table
from everlearn.theory.chains import DISTINCT, Chain
from everlearn.theory.pairs import Pairs

STEPS = 200_000


class AveragingTime(NamedTuple):
    """tau_pi, and what it may exceed that by, rounding apart; infinite where the average depends on the start."""

    value: float
    error: float


def averaging_time(pairs: Pairs, policy: Table) -> AveragingTime:
    """Return the reward averaging time of a policy over pairs.

    Examples
    --------
    A cycle of two, paid every other step: after one step the average is off by a half.

    >>> from everlearn.tasks.arrays import mdp
    >>> from everlearn.theory.pairs import tabulate
    >>> cycle = tabulate(mdp([[[0, 1], [1, 0]]], [[1], [0]]))
    >>> averaging_time(cycle, np.ones((2, 1)))
    AveragingTime(value=0.5, error=0.0)

    """
    chain = Chain(*pairs.under(policy))
    if np.ptp(chain.gain) > DISTINCT * max(1.0, float(np.abs(chain.gain).max())):
        return AveragingTime(np.inf, 0.0)
    return supremum(chain)


def supremum(chain: Chain) -> AveragingTime:
    """Return the supremum of |x_T| for a chain with one gain.

    P^T h comes ever closer to a cycle, whose length is a multiple of every period.  ``moved`` is how far it still moves
    over that many steps.  Were that to shrink no further, nothing could be said; it shrinks geometrically, and what is
    left to come is bounded by what the last factor gives.
    """
    bias, length = chain.bias, int(np.lcm.reduce([one.period for one in chain.classes]))
    ahead = bias.copy()
    highest, before, factor, moved = 0.0, bias.copy(), 0.0, np.inf
    for step in range(1, STEPS):
        ahead = chain.matrix @ ahead
        highest = max(highest, float(np.abs(bias - ahead).max()))
        if step % length == 0:
            last, moved = moved, float(np.abs(ahead - before).max())
            factor = max(moved / last, factor * 0.5) if 0 < last < np.inf else 0.0
            before = ahead.copy()
            if moved <= 1e-13 * max(1.0, highest):
                return AveragingTime(highest, _left(moved, factor))
    return AveragingTime(highest, _left(moved, factor))


def _left(moved: float, factor: float) -> float:
    """Return what a sequence that moved so much, by this factor less each time, can still move."""
    if moved == 0.0:
        return 0.0
    return moved * factor / (1 - factor) if factor < 1 and np.isfinite(moved) else np.inf
