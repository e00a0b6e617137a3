"""The reward averaging time tau_pi (Section 2.2.1).

tau_pi is the least tau with |lambda_pi(h, T) - lambda_pi| <= tau / T for every history h that can happen and every
T >= 1, where lambda_pi(h, T) is the expected average reward over T steps from h: the supremum over pairs and T of

    |x_T|,   x_T = sum_{k < T} P_pi^k (rbar_pi - lambda_pi).

If some reachable pair has another gain than the empty history, x_T grows without bound, and tau_pi is infinite.
Otherwise, with the bias h, x_T = h - P_pi^T h.  P^T h approaches a cycle, whose length is a multiple of every period.
It is followed until it hardly moves over one cycle; what it still moves is part of the error.

The certified error is the sum of three: of the bias (see :mod:`everlearn.theory.chains`), of rounding in P^T h, and of
the steps not taken.  It assumes that gains of several classes are equal if they cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from everlearn.protocol import Table
from everlearn.theory.chains import DISTINCT, Chain, RecurrentClass
from everlearn.theory.linear import rounding

STEPS = 200_000  # ten times as many in blocks
SMALL = 256  # the most pairs for which steps are taken in blocks, by dense products
BLOCK = 32  # the most steps in a block


class AveragingTime(NamedTuple):
    """tau_pi and a certified bound on its error; infinite if the average depends on the start."""

    value: float
    error: float


def averaging_time(chain: Chain) -> AveragingTime:
    """Return the reward averaging time of the policy that makes this chain of the pairs."""
    if np.ptp(chain.gain) > DISTINCT * max(1.0, float(np.abs(chain.gain).max())):
        return AveragingTime(np.inf, 0.0)
    bias, length = chain.bias, int(np.lcm.reduce([recurrent.period for recurrent in chain.classes]))
    before, left, highest, step = bias, np.inf, 0.0, 0
    small = len(bias) <= SMALL and length <= BLOCK
    cycle, most = (length * (BLOCK // length), 10 * STEPS) if small else (length, STEPS)
    for ahead in _blocks(chain, cycle) if small else _single_steps(chain):
        step += ahead.shape[1]
        highest = max(highest, float(np.abs(bias[:, None] - ahead).max()))
        if step % cycle == 0:
            moved = float(np.abs(ahead[:, -1] - before).max())
            if moved <= 1e-13 * max(1.0, highest) or step + cycle >= most:
                left = _later_moves(chain, before, moved, cycle, length)
                break
            before = ahead[:, -1]
    left = min(left, max(0.0, float(np.ptp(bias)) - highest))
    lost = max(rounding(chain.matrix), np.finfo(float).eps * (len(bias) + 4) if small else 0.0)
    return AveragingTime(highest, left + 2 * chain.bias_error + step * lost * float(np.abs(bias).max()))


def _single_steps(chain: Chain) -> Iterator[Table]:
    """Yield P h, P^2 h, ..., each as one column."""
    ahead = chain.bias
    while True:
        ahead = chain.matrix @ ahead
        yield ahead[:, None]


def _blocks(chain: Chain, cycle: int) -> Iterator[Table]:
    """Yield P h to P^cycle h as columns, then the next as many, and so on: fewer and larger products."""
    matrix, columns = chain.matrix.toarray(), [chain.bias]
    for _ in range(cycle):
        columns.append(matrix @ columns[-1])
    ahead, power = np.stack(columns[1:], axis=1), np.linalg.matrix_power(matrix, cycle)
    while True:
        yield ahead
        ahead = power @ ahead


def _later_moves(chain: Chain, before: Table, moved: float, cycle: int, length: int) -> float:
    """Bound how far any later P^T h can be from that of the same phase in the cycle that began ``before``.

    Among the states of a class in one phase, any later value is a mean of the present ones.  So it is no further away
    than their range.  From a transient state, each cycle moves by at most ``moved``, until absorption.
    """
    apart = max(_range_in_phase(before[recurrent.members], recurrent) for recurrent in chain.classes)
    if chain.transient.size:
        apart += moved * (chain.waiting / cycle + 1)
    return min(apart, float(np.ptp(before))) if length == 1 else apart


def _range_in_phase(values: Table, recurrent: RecurrentClass) -> float:
    """Return the greatest range of values among the states of one phase."""
    high, low = np.full(recurrent.period, -np.inf), np.full(recurrent.period, np.inf)
    np.maximum.at(high, recurrent.phase, values)
    np.minimum.at(low, recurrent.phase, values)
    return float((high - low).max())
