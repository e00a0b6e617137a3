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
"""After how many sweeps of value iteration policy iteration takes over, where the policy has settled."""
SETTLED = 500
"""For how many sweeps it must have stayed the same."""
ACROSS = 10
"""For how many sweeps a pair they go on at most where it has not: what is far takes long to be heard of."""
WORK = 500_000_000
"""How many products they may take in all."""
IMPROVEMENTS = 1_000
"""How many improvements policy iteration may take."""
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

    def __repr__(self) -> str:
        """Return one line: the average reward and its bounds."""
        return f"Optimum(over all policies: {self.average_reward:.10g}, from {self.lower:.12g} to {self.upper:.12g})"

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
    V, before = np.zeros(pairs.size), np.full(pairs.size, -1)
    products = sum(transition.nnz for transition in pairs.transitions)
    for sweep in range(max(SWEEPS, min(ACROSS * pairs.size, WORK // products))):
        values = action_values(pairs, V, 1.0)
        change = values.max(axis=0) - V
        if np.ptp(change) <= CLOSED:
            break
        if sweep >= SWEEPS - SETTLED and sweep % SETTLED == 0:
            settled, before = before, values.argmax(axis=0)
            if np.array_equal(before, settled):
                break
        V += 0.5 * change
        V -= V[0]
    return np.asarray(action_values(pairs, V, 1.0).argmax(axis=0))


def _howard(pairs: Pairs, choice: NDArray[np.int64]) -> tuple[Table, Chain]:
    """Improve first the gain, then the bias, until neither can be; return the policy and its chain."""
    seen: set[int] = set()
    while len(seen) < IMPROVEMENTS:
        policy: Table = np.eye(len(pairs.transitions))[choice]
        chain = Chain(*pairs.under(policy))
        following = _improved(pairs, chain, choice)
        if following is None:
            return policy, chain
        seen.add(hash(choice.tobytes()))
        choice = following
        if hash(choice.tobytes()) in seen:  # an improvement cannot come back, unless it is of rounding
            break
    remedy = "did not end: some chances or values are too far apart for double precision; give a smaller task"
    require(False, "policy iteration", f"{len(seen):,} improvements", remedy)
    return policy, chain


def _improved(pairs: Pairs, chain: Chain, choice: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return what is better than a policy with this chain; None where nothing is."""
    everywhere = np.arange(pairs.size)
    gains = np.array([transition @ chain.gain for transition in pairs.transitions])
    better = gains.max(axis=0) > gains[choice, everywhere] + 1e-9
    if better.any():
        return np.where(better, gains.argmax(axis=0), choice)
    values = action_values(pairs, chain.bias, 1.0)
    values = np.where(gains >= gains.max(axis=0) - 1e-9, values, -np.inf)
    margin = 1e-9 * max(1.0, float(np.abs(chain.bias).max()))
    better = values.max(axis=0) > values[choice, everywhere] + margin
    return np.where(better, values.argmax(axis=0), choice) if better.any() else None


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
