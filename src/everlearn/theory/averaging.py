"""The reward averaging time tau_pi (Section 2.2.1).

tau_pi is the least tau with |lambda_pi(h, T) - lambda_pi| <= tau / T for every history h that can happen and every
T >= 1, where lambda_pi(h, T) is the expected average reward over T steps from h: the supremum over pairs and T of

    |x_T|,   x_T = sum_{k < T} P_pi^k (rbar_pi - lambda_pi).

Where some reachable pair has another gain than the empty history, x_T grows without bound, and tau_pi is infinite.
Otherwise, with the bias h, x_T = h - P_pi^T h: so once P^T h has stopped moving, everything later is known, up to what
it still moves.

What is certified is the sum of three errors: of the bias (see :mod:`everlearn.theory.chains`), of rounding in P^T h,
and of what is still to come.  It takes for granted that gains of several classes that cannot be told apart are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table
from everlearn.theory.chains import DISTINCT, Chain
from everlearn.theory.linear import rounding
from everlearn.theory.pairs import Pairs

STEPS = 200_000


class AveragingTime(NamedTuple):
    """tau_pi, and how far it may be off, certified; infinite where the average depends on the start."""

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
    >>> found = averaging_time(cycle, np.ones((2, 1)))
    >>> found.value, found.error < 1e-12
    (0.5, True)

    """
    return averaging_time_of(Chain(*pairs.under(policy)))


def averaging_time_of(chain: Chain) -> AveragingTime:
    """Return the reward averaging time of the policy that makes this chain of the pairs."""
    if np.ptp(chain.gain) > DISTINCT * max(1.0, float(np.abs(chain.gain).max())):
        return AveragingTime(np.inf, 0.0)
    return supremum(chain)


def supremum(chain: Chain) -> AveragingTime:
    """Return the supremum of |x_T| for a chain with one gain.

    P^T h comes ever closer to a cycle, whose length is a multiple of every period.  It is followed until it hardly
    moves any more over that many steps.
    """
    bias, length = chain.bias, int(np.lcm.reduce([one.period for one in chain.classes]))
    ahead, before, left = bias, bias, np.inf
    highest = 0.0
    for step in range(1, STEPS):
        ahead = chain.matrix @ ahead
        highest = max(highest, float(np.abs(bias - ahead).max()))
        if step % length == 0:
            moved = float(np.abs(ahead - before).max())
            if moved <= 1e-13 * max(1.0, highest) or step + length >= STEPS:
                left = _left(chain, before, moved, length)
                break
            before = ahead
    left = min(left, max(0.0, float(np.ptp(bias)) - highest))
    lost = rounding(chain.matrix) * float(np.abs(bias).max())
    return AveragingTime(highest, left + 2 * chain.bias_error + step * lost)


def _left(chain: Chain, before: Table, moved: float, length: int) -> float:
    """Return how far any later P^T h can be from that of the same phase in a cycle, which began ``before``.

    Among the states of a class that are visited in one phase, any later value is a mean of those now, and so no further
    than they are apart.  From a transient state, each cycle moves by at most ``moved``, until it is absorbed.
    """
    apart = max(_widest(before[one.members], one.phase) for one in chain.classes)
    if chain.transient.size:
        apart += moved * (chain.waiting / length + 1)
    return min(apart, float(np.ptp(before))) if length == 1 else apart


def _widest(values: Table, phase: NDArray[np.int64]) -> float:
    """Return how far values of one phase are apart at most."""
    high, low = np.full(int(phase.max()) + 1, -np.inf), np.full(int(phase.max()) + 1, np.inf)
    np.maximum.at(high, phase, values)
    np.minimum.at(low, phase, values)
    return float((high - low).max())
