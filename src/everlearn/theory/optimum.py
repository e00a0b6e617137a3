"""The optimal average reward lambda_* over all policies, with a certificate.

For any vector h over pairs, and every policy, the gain from every start is at most max over pairs of
max_a (rbar_a + P_a h) - h: follow the policy, add up, and the h cancel.  And a policy's own gain is a lower bound.
Relative value iteration, on the lazy chain (which has the same gains and no period), drives the two together wherever
the optimal gain is the same from every start, as it is when every pair can be reached from every other.  Where it is
not, policy iteration for multichain problems (Howard, 1960; Puterman, 1994, Section 9.2) finds a gain for each start.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.theory.chains import Chain
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import action_values

SWEEPS = 2_000
"""After how many sweeps of value iteration policy iteration takes over."""
CLOSED = 1e-10
"""How close the bounds must come."""


class Optimum(NamedTuple):
    """lambda_* from the empty history, between certified bounds, and a policy over pairs that attains the lower one."""

    average_reward: float
    lower: float
    upper: float
    policy: Table
    gain: Table
    """The gain of that policy from each start."""
    bias: Table
    """Its bias; the span of an optimal one is the span that other bounds of the literature need."""

    @property
    def span(self) -> float:
        """The range of the bias."""
        return float(np.ptp(self.bias))

    @property
    def certified(self) -> bool:
        """Whether the bounds have closed."""
        return bool(self.upper - self.lower <= 1e-8 * max(abs(self.lower), abs(self.upper), self.span))


def optimum(pairs: Pairs) -> Optimum:
    """Return the optimal average reward of a task.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> from everlearn.theory.pairs import tabulate
    >>> found = optimum(tabulate(service_station(cap=3)))
    >>> round(found.average_reward, 9), found.certified
    (0.5, True)

    """
    scale = float(np.abs(pairs.rewards).max(initial=0.0)) or 1.0
    found = _unit_optimum(replace(pairs, rewards=pairs.rewards / scale))
    reward, lower, upper, policy, gain, bias = found
    return Optimum(scale * reward, scale * lower, scale * upper, policy, scale * gain, scale * bias)


def _unit_optimum(pairs: Pairs) -> Optimum:
    """Return the optimum for rewards of at most 1, for which the margins here are meant."""
    policy, chain = _howard(pairs, _relative_value_iteration(pairs))
    upper = float((action_values(pairs, chain.bias, 1.0).max(axis=0) - chain.bias).max())
    lower = float(chain.gain[pairs.start])
    if upper - lower > CLOSED:
        upper = min(upper, lower + _multichain_excess(pairs, chain))
    return Optimum(lower, lower - chain.error, max(upper, lower) + chain.error, policy, chain.gain, chain.bias)


def _relative_value_iteration(pairs: Pairs) -> NDArray[np.int64]:
    """Return a policy, one action a pair, that relative value iteration ends with."""
    V = np.zeros(pairs.size)
    for _ in range(SWEEPS):
        change = action_values(pairs, V, 1.0).max(axis=0) - V
        if np.ptp(change) <= CLOSED:
            break
        V += 0.5 * change
        V -= V[0]
    return np.asarray(action_values(pairs, V, 1.0).argmax(axis=0))


def _howard(pairs: Pairs, choice: NDArray[np.int64]) -> tuple[Table, Chain]:
    """Improve first the gain, then the bias, until neither can be; return the policy and its chain."""
    everywhere = np.arange(pairs.size)
    for _ in range(1_000):
        policy: Table = np.eye(len(pairs.transitions))[choice]
        chain = Chain(*pairs.under(policy))
        gains = np.array([transition @ chain.gain for transition in pairs.transitions])
        better = gains.max(axis=0) > gains[choice, everywhere] + 1e-9
        if better.any():
            choice = np.where(better, gains.argmax(axis=0), choice)
            continue
        values = action_values(pairs, chain.bias, 1.0)
        values = np.where(gains >= gains.max(axis=0) - 1e-9, values, -np.inf)
        margin = 1e-9 * max(1.0, float(np.abs(chain.bias).max()))
        better = values.max(axis=0) > values[choice, everywhere] + margin
        if not better.any():
            return policy, chain
        choice = np.where(better, values.argmax(axis=0), choice)
    require(False, "policy iteration", "1,000 improvements", "did not end; the task is too close to degenerate")
    return policy, chain


def _multichain_excess(pairs: Pairs, chain: Chain) -> float:
    """Return by how much the optimality equations are missed; zero certifies the gain of every start.

    A pair (g, h) with P_a g <= g and rbar_a + P_a h <= g + h + M (g - P_a g) for all a and some M bounds every gain by
    g (Puterman, 1994, Theorem 9.1.2).
    """
    gain, bias = chain.gain, chain.bias
    loss = np.array([gain - transition @ gain for transition in pairs.transitions])
    excess = action_values(pairs, bias, 1.0) - gain - bias
    if float(loss.min()) < -1e-9:
        return np.inf
    kept = loss <= 1e-9
    return max(0.0, float(excess[kept].max(initial=0.0)))
