"""The optimal average reward lambda_* over all policies, with a certificate, and what goes with it.

For any vector h over pairs, and every policy, the gain from every start is at most max over pairs of
max_a (rbar_a + P_a h) - h: follow the policy, add up, and the h cancel.  A policy's own gain is a lower bound.
Relative value iteration, on the lazy chain (which has the same gains and no period), closes the two if the optimal gain
is the same from every start, as it is if every pair can be reached from every other.  If it is not, policy iteration
for multichain problems (Howard, 1960; Puterman, 1994, Section 9.2) finds a gain for each start.

Other bounds of the literature need three more quantities:

- the *span* is the range of an optimal bias h;
- the *gap* of an action in a pair is lambda_* + h - (rbar_a + P_a h): what taking it once costs;
- the *diameter* (Jaksch, Ortner and Auer, 2010) is the greatest, over ordered pairs of states, of the least expected
  time from the one to the other under any policy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import InputError
from everlearn.protocol import Table
from everlearn.theory.chains import Chain
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import action_values

SWEEPS = 2_000  # the sweeps of value iteration after which policy iteration takes over, if the policy has settled
SETTLED = 500  # the sweeps for which a settled policy has stayed the same
ACROSS = 10  # the most sweeps per pair if it has not settled: news of a distant reward travels one pair per sweep
WORK = 500_000_000  # the most products of all sweeps
IMPROVEMENTS = 1_000  # the most improvements of policy iteration
CLOSED = 1e-10  # how close the bounds must come
DIAMETER_PAIRS = 500  # the most pairs of which the diameter is computed: it takes a shortest-path problem for each


class Optimum(NamedTuple):
    """lambda_* from the empty history, between certified bounds, and a policy over pairs that attains the lower one."""

    average_reward: float
    lower: float
    upper: float
    policy: Table
    gain: Table  # the gain of that policy from each start
    bias: Table  # the bias of that policy

    def __repr__(self) -> str:
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
    """Return the optimal average reward of a task."""
    scale = float(np.abs(pairs.rewards).max(initial=0.0)) or 1.0  # the margins here are meant for rewards of at most 1
    unit = replace(pairs, rewards=pairs.rewards / scale)
    policy, chain = _howard(unit, _relative_value_iteration(unit))
    upper = float((action_values(unit, chain.bias).max(axis=0) - chain.bias).max())
    lower = float(chain.gain[pairs.start])
    if upper - lower > CLOSED:
        upper = min(upper, lower + _multichain_excess(unit, chain))
    bounds = scale * (lower - chain.error), scale * (max(upper, lower) + chain.error)
    return Optimum(scale * lower, *bounds, policy, scale * chain.gain, scale * chain.bias)


def _relative_value_iteration(pairs: Pairs) -> NDArray[np.int64]:
    """Return the policy, one action per pair, with which relative value iteration ends."""
    V, before = np.zeros(pairs.size), np.full(pairs.size, -1)
    products = sum(transition.nnz for transition in pairs.transitions)
    for sweep in range(max(SWEEPS, min(ACROSS * pairs.size, WORK // products))):
        values = action_values(pairs, V)
        change = values.max(axis=0) - V
        if np.ptp(change) <= CLOSED:
            break
        if sweep >= SWEEPS - SETTLED and sweep % SETTLED == 0:
            settled, before = before, values.argmax(axis=0)
            if np.array_equal(before, settled):
                break
        V += 0.5 * change
        V -= V[0]
    return np.asarray(action_values(pairs, V).argmax(axis=0))


def _howard(pairs: Pairs, choice: NDArray[np.int64]) -> tuple[Table, Chain]:
    """Improve first the gain, then the bias, until neither can be improved; return the policy and its chain."""
    seen: set[int] = set()
    while len(seen) < IMPROVEMENTS:
        policy: Table = np.eye(len(pairs.transitions))[choice]
        chain = pairs.chain(policy)
        following = _improve(pairs, chain, choice)
        if following is None:
            return policy, chain
        seen.add(hash(choice.tobytes()))
        choice = following
        if hash(choice.tobytes()) in seen:  # improvements never return to a policy, except by rounding
            break
    remedy = "did not end: some chances or values are too far apart for double precision; give a smaller task"
    raise InputError("policy iteration", f"{len(seen):,} improvements", remedy)


def _improve(pairs: Pairs, chain: Chain, choice: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return a better policy than the one with this chain; None if there is none."""
    everywhere = np.arange(pairs.size)
    gains = np.array([transition @ chain.gain for transition in pairs.transitions])
    better = gains.max(axis=0) > gains[choice, everywhere] + 1e-9
    if better.any():
        return np.where(better, gains.argmax(axis=0), choice)
    values = np.where(gains >= gains.max(axis=0) - 1e-9, action_values(pairs, chain.bias), -np.inf)
    margin = 1e-9 * max(1.0, float(np.abs(chain.bias).max()))
    better = values.max(axis=0) > values[choice, everywhere] + margin
    return np.where(better, values.argmax(axis=0), choice) if better.any() else None


def _multichain_excess(pairs: Pairs, chain: Chain) -> float:
    """Return by how much the optimality equations are violated; zero certifies the gain of every start.

    A pair (g, h) with P_a g <= g and rbar_a + P_a h <= g + h + M (g - P_a g) for all a and some M bounds every gain by
    g (Puterman, 1994, Theorem 9.1.2).
    """
    loss = np.array([chain.gain - transition @ chain.gain for transition in pairs.transitions])
    excess = action_values(pairs, chain.bias) - chain.gain - chain.bias
    if float(loss.min()) < -1e-9:
        return np.inf
    return max(0.0, float(excess[loss <= 1e-9].max(initial=0.0)))


def gaps(pairs: Pairs, best: Optimum) -> Table:
    """Return the gap of each action in each pair, one row per action; zero for optimal actions."""
    return np.asarray(np.maximum(best.gain + best.bias - action_values(pairs, best.bias), 0.0))


def diameter(pairs: Pairs) -> float:
    """Return the diameter over pairs; infinite if some pair cannot be reached from another."""
    if pairs.size > DIAMETER_PAIRS:
        raise InputError("pairs", pairs.size, f"the diameter is computed for at most {DIAMETER_PAIRS} pairs")
    from scipy.sparse.csgraph import connected_components

    if connected_components(sum(pairs.transitions), directed=True, connection="strong")[0] > 1:
        return np.inf
    return max(float(_least_times(pairs, target).max()) for target in range(pairs.size))


def _least_times(pairs: Pairs, target: int) -> Table:
    """Return the least expected time to a pair from each, by policy iteration on the shortest-path problem."""
    matrices = np.array([transition.toarray() for transition in pairs.transitions])
    choice = _approach(matrices, target)
    everywhere = np.arange(pairs.size)
    while True:
        chosen = matrices[choice, everywhere]
        chosen[target] = 0.0
        chosen[:, target] = 0.0
        times = np.linalg.solve(np.eye(pairs.size) - chosen, np.ones(pairs.size))
        times[target] = 0.0
        ahead = np.array([matrix @ times for matrix in matrices])
        better = ahead.min(axis=0) < ahead[choice, everywhere] - 1e-9 * max(1.0, float(times.max()))
        better[target] = False
        if not better.any():
            return times
        choice = np.where(better, ahead.argmin(axis=0), choice)


def _approach(matrices: Table, target: int) -> NDArray[np.int64]:
    """Return actions that reach the target for certain: each comes a step nearer with positive probability."""
    choice = np.zeros(matrices.shape[1], dtype=np.int64)
    near = np.arange(len(choice)) == target
    while not near.all():
        reaches = matrices[:, :, near].sum(axis=2) > 0
        reached = reaches.any(axis=0) & ~near
        last = len(matrices) - 1 - reaches[::-1].argmax(axis=0)
        choice[reached] = last[reached]
        near |= reached
    return choice
