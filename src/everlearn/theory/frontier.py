"""The frontier: the supremum of lambda over policies with averaging time at most tau, as a function of tau.

It says what Corollary 5 promises to compete with at each tau.  The class P_tau is not convex and contains randomised
policies, so the supremum is given by a certified bracket:

- *at least*: the average reward of a policy whose averaging time was computed and is at most tau;
- *at most*: for every policy with tau_pi <= tau, every history h and every T >= 1, the definition of tau_pi gives

      lambda_pi <= lambda_pi(h, T) + tau / T <= (W_T(h) + tau) / T,

  where W_T(h) is the most that any policy can expect over T steps from h.  So lambda_pi is at most the least of these
  over h and T, and at most lambda_*.  This holds for all policies of history, not only for those over aleatoric states.

If the memory is hidden, a history does not determine the pair, and h is the empty history only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from everlearn.protocol import Table
from everlearn.theory.aleatoric import FEW, count_policies
from everlearn.theory.beliefs import Interval
from everlearn.theory.linear import rounding
from everlearn.theory.values import action_values

if TYPE_CHECKING:
    from everlearn.theory.report import Theory

WORK = 400_000  # policies that are evaluated, times pairs
LEAST = 12  # the policies that are evaluated however many pairs there are
SWEEPS = 2_000  # the longest T of an upper bound
PRODUCTS = 200_000_000  # the most products over all T
ROUNDING = 1e-9  # more than the relative error of an upper bound
SHARES = (0.5, 0.1, 0.9, 0.02, 0.98, 0.25, 0.75)  # how much of one policy a mixture of two takes, in this order


@dataclass(frozen=True)
class Point:
    """A policy over aleatoric states, with its averaging time and average reward, in the task's units."""

    averaging_time: float
    error: float  # of the averaging time
    average_reward: float
    policy: Table


@dataclass(frozen=True)
class Frontier:
    """The bracket of the supremum at every tau.

    Examples
    --------
    >>> from everlearn.theory.report import Theory
    >>> river = Theory("riverswim").frontier
    >>> [tuple(round(bound, 4) for bound in river.at(tau)) for tau in (0.5, 3.0, 6.0)]
    [(0.005, 0.0765), (0.0606, 0.3064), (0.4286, 0.4286)]

    """

    points: tuple[Point, ...]
    """The policies that are better than every one with a smaller averaging time, by averaging time."""
    tried: int
    least: Table
    """For T = 1, 2, ... the least over histories of the most that can be expected over T steps."""
    optimum: float
    """An upper bound of lambda_*."""

    def at(self, tau: float) -> Interval:
        """Return bounds of the supremum of lambda over policies with averaging time at most tau."""
        within = [point.average_reward for point in self.points if point.averaging_time + point.error <= tau]
        lower = max(within, default=-np.inf)
        lengths = np.arange(1, len(self.least) + 1)
        upper = min(self.optimum, float(((self.least + tau) / lengths).min()))
        return Interval(lower, upper + ROUNDING * max(1.0, abs(upper)))


def frontier(theory: Theory) -> Frontier:
    """Return the frontier of a task."""
    points = [_point(theory, policy) for policy in candidates(theory)]
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.averaging_time, -point.average_reward)):
        if np.isfinite(point.averaging_time) and (not best or point.average_reward > best[-1].average_reward + 1e-12):
            best.append(point)
    optimum = min(theory.clairvoyant.upper, theory.optimum.upper)
    return Frontier(tuple(best), len(points), _most_over_steps(theory), optimum)


def candidates(theory: Theory) -> list[Table]:
    """Return the policies that are evaluated: deterministic ones, all if they are few, and mixtures of two of them."""
    tried: dict[bytes, Table] = {}
    most = max(LEAST, WORK // theory.pairs.size)
    for policy in _proposals(theory):
        tried.setdefault(policy.tobytes(), policy)
        if len(tried) >= most:
            break
    return list(tried.values())


def _proposals(theory: Theory) -> Iterator[Table]:
    states, actions = len(theory.task.states), len(theory.task.actions)
    constant = [np.tile(np.eye(actions)[action], (states, 1)) for action in range(actions)]
    searched = [theory.best_deterministic.policy, theory.best_aleatoric.policy]
    uniform = np.full((states, actions), 1 / actions)
    yield from (*constant, *searched, uniform)
    if count_policies(states, actions) <= FEW:
        yield from (np.eye(actions)[list(choice)] for choice in product(range(actions), repeat=states))
    for share, (policy, other) in product(SHARES, combinations([*searched[:1], *constant, uniform], 2)):
        yield share * policy + (1 - share) * other


def _point(theory: Theory, policy: Table) -> Point:
    solved = theory.policy(policy)
    time = solved.averaging_time
    return Point(time.value, time.error, solved.average_reward, policy)


def _most_over_steps(theory: Theory) -> Table:
    """Return for T = 1, 2, ... the least over histories of the most that can be expected, rounded upwards."""
    pairs = theory.pairs
    products = sum(matrix.nnz for matrix in pairs.transitions)
    lost = max(rounding(matrix) for matrix in pairs.transitions)
    W, error, least = np.zeros(pairs.size), 0.0, []
    for _ in range(max(1, min(SWEEPS, PRODUCTS // products))):
        W = action_values(pairs, W).max(axis=0)
        error += lost * max(1.0, float(np.abs(W).max()))
        least.append(float(W[pairs.start] if theory.task.hidden else W.min()) + error)
    return np.array(least)
