"""Estimate the average reward of one policy from transitions that other policies made, with an interval.

Let n(s, a) be the number of transitions from s by a.  The *empirical chain* of a policy pi draws an action from
pi(.|s), and then one of the n(s, a) transitions.  Its average reward lambda and its relative values h solve

    lambda + h(s) = sum_a pi(a|s) mean of (r + h(s')) over the transitions of (s, a),    h(now) = 0,

where now is the state in which the transitions end.  With its stationary distribution d and w(s, a) = d(s) pi(a|s), the
error of lambda is to first order

    sum over (s, a) of w / n times the sum of (r + h(s') - its expectation) over the transitions of (s, a).

This is a sum of martingale differences, whoever chose the actions.  So its variance is the sum of w^2 v / n, where v is
the variance of r + h(s') within (s, a).  The interval is Student's, with the degrees of freedom of Welch and
Satterthwaite.  Two effects of the order 1 / n are not in it: outcomes that were never seen, and the bias of data whose
collection depends on what they show, as when a learner abandons an action after bad luck.  The standard deviation that
half a transition to a random state beside each n would cause estimates their size; half of it widens the interval.

With tables, other estimators give the same number: fitted Q evaluation has this fixed point, weighting transitions
by the stationary density ratio d pi / (n / T) gives the sum of w r, and the doubly robust estimate adds a correction
that is zero.  All of them assume that the aleatoric state is a Markov state, and that the environment does not change.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.durable.transitions import Transitions
from everlearn.protocol import Table

RESTART = 1e-8
"""The probability that the empirical chain restarts from now, so that it has one recurrent class."""

ROUNDING = 1e-12
"""Deviations smaller than this, relative to the largest target, are rounding errors."""

UNSEEN = 0.5
"""How many transitions are imagined beside the n that were seen, to any state, when unseen outcomes are estimated."""


class Estimate(NamedTuple):
    """The average reward of a policy as transitions tell it, and how much they tell.

    Tables have one row per aleatoric state, and one column per action.
    """

    average: float
    half_width: float  # of the interval
    least_width: float  # what no half-width can be below
    freedom: float  # degrees of freedom: how many transitions determine the variance
    unseen: float  # by how much outcomes that were never seen could change the average
    visits: NDArray[np.int64]
    weights: Table  # the share of the steps of the policy
    variances: Table  # the parts of the variance of the average
    residuals: Table  # of each transition, r + h(s') minus its mean over the transitions of (s, a)
    classes: tuple[tuple[int, ...], ...] = ()  # the recurrent classes of the empirical chain: sets of states


def estimate(data: Transitions, policy: Table, confidence: float = 0.95, span: float | None = None) -> Estimate:
    """Return the estimate for a policy, a table of probabilities by aleatoric state and action.

    ``span`` is the width of the range of rewards, by default that of the data.  If an outcome is worth that much, and
    has the probability log(1 / 0.05) / T, then T transitions miss it in 5 percent of cases.  So no interval is
    narrower.

    Examples
    --------
    >>> following = np.array([0, 1] * 50)
    >>> data = Transitions(np.zeros(100, int), np.zeros(100, int), following, following * 1.0, np.zeros(100, int))
    >>> found = estimate(data, np.ones((1, 1)))
    >>> round(found.average, 9), round(found.half_width, 3)
    (0.5, 0.1)

    """
    from scipy.special import stdtrit

    chain = solve(data, policy)
    n, weights = np.maximum(chain.visits, 1), chain.stationary[:, None] * chain.played
    targets = data.rewards + chain.values[chain.following]
    residuals = chain.centred(targets)
    squares = chain.mean(residuals**2) * n
    variance = np.where(n > 1, squares / np.maximum(n - 1, 1), squares.sum() / max(1, int((n - 1).sum())))
    parts = weights**2 * variance / n
    total, spread = float(parts.sum()), float(np.ptp(chain.values[data.states]))
    freedom = total**2 / float(np.sum(parts**2 / np.maximum(n - 1, 1))) if total > 0 else float(len(residuals))
    unseen = math.sqrt(UNSEEN * float(np.sum((weights / n) ** 2 * distances(chain, chain))))
    half = float(stdtrit(max(freedom, 1.0), (1 + confidence) / 2)) * math.sqrt(total) + unseen / 2 + RESTART * spread
    least = (float(np.ptp(data.rewards)) if span is None else span) * -math.log(1 - confidence) / len(residuals)
    shares = chain.stationary[:, None] * policy
    sizes = max(half, least), least, freedom, unseen
    return Estimate(chain.average, *sizes, chain.visits, shares, parts, residuals, chain.classes())


class EmpiricalChain(NamedTuple):
    """The empirical chain of a policy, and its solution."""

    pairs: NDArray[np.int64]  # of each transition, its state and action as one number
    following: NDArray[np.int64]
    visits: NDArray[np.int64]
    played: Table  # the policy, as far as the data can follow it
    average: float
    stationary: Table
    values: Table

    def mean(self, numbers: Table) -> Table:
        """Return the mean of a number of each transition, by state and action; zero if there is none."""
        sums = np.bincount(self.pairs, numbers, self.visits.size).reshape(self.visits.shape)
        return np.asarray(sums / np.maximum(self.visits, 1))

    def centred(self, targets: Table) -> Table:
        """Return the deviations of targets from their mean over the transitions of (s, a)."""
        residuals = targets - self.mean(targets).ravel()[self.pairs]
        residuals[np.abs(residuals) <= ROUNDING * np.abs(targets).max()] = 0.0
        return np.asarray(residuals)

    def classes(self) -> tuple[tuple[int, ...], ...]:
        """Return the recurrent classes: sets of states that the policy never leaves, as far as the data show."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        size, actions = self.visits.shape
        moves = np.unique((self.pairs // actions * size + self.following)[self.played.ravel()[self.pairs] > 0])
        begins, ends = np.divmod(moves, size)
        graph = csr_array((np.ones(len(moves)), (begins, ends)), shape=(size, size))
        count, group = connected_components(graph, connection="strong")
        closed = np.zeros(count, dtype=bool)
        closed[group[begins]] = True  # of states that were visited
        closed[group[begins][group[begins] != group[ends]]] = False
        return tuple(tuple(np.flatnonzero(group == each).tolist()) for each in np.flatnonzero(closed))


def distances(chain: EmpiricalChain, other: EmpiricalChain) -> Table:
    """Return the mean squared distance, in value, of all states that were reached from those that (s, a) reached.

    If the values of two chains differ, it is the mean product of the two distances.
    """
    all_values, other_values = chain.values[chain.following], other.values[chain.following]
    mean, other_mean = chain.mean(all_values), chain.mean(other_values)
    product = (all_values * other_values).mean()
    return np.asarray(product - mean * other_values.mean() - other_mean * all_values.mean() + mean * other_mean)


def solve(data: Transitions, policy: Table) -> EmpiricalChain:
    """Return the empirical chain of a policy."""
    pairs = data.states * policy.shape[1] + data.actions
    visits = np.bincount(pairs, minlength=policy.size).reshape(policy.shape)
    left = visits.sum(axis=1) > 0
    now = int(data.following[-1] if left[data.following[-1]] else data.states[-1])
    following = np.where(left[data.following], data.following, now)  # from elsewhere no transition is known
    played = _played(policy, visits)
    share = (played / np.maximum(visits, 1)).ravel()[pairs]
    solution = _solve_linear(data._replace(following=following), share, left, now)
    return EmpiricalChain(pairs, following, visits, played, *solution)


def _played(policy: Table, visits: NDArray[np.int64]) -> Table:
    """Return the policy, with the actions that were taken there in the place of those that never were."""
    known = np.where(visits > 0, policy, 0.0)
    lost = 1 - known.sum(axis=1, keepdims=True)
    return np.asarray(known + lost * visits / np.maximum(visits.sum(axis=1, keepdims=True), 1))


def _solve_linear(data: Transitions, share: Table, left: NDArray[np.bool_], now: int) -> tuple[float, Table, Table]:
    """Return the average, the stationary distribution and the relative values of the empirical chain.

    The matrix is I - P with ones in the column of ``now``, whose unknown is the average, since its value is zero.  The
    transposed matrix determines the stationary distribution.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    size, every, moves = left.size, np.arange(left.size), data.following != now
    entries = np.concatenate([-(1 - RESTART) * share[moves], every != now, left])
    rows = np.concatenate([data.states[moves], every, every])
    columns = np.concatenate([data.following[moves], every, np.full(size, now)])
    matrix = csc_array((entries, (rows, columns)), shape=(size, size))
    matrix.eliminate_zeros()
    factors = splu(matrix)
    values = factors.solve(np.bincount(data.states, share * data.rewards, size))
    stationary = np.maximum(factors.solve(np.where(every == now, 1.0, 0.0), trans="T"), 0.0)
    average, values[now] = float(values[now]), 0.0
    return average, stationary, values
