"""The optimal reward per unit of time under a limit of the average cost: a linear programme over occupancy measures.

With r, c and d the expected reward, cost and duration of a pair p and an action a, and x(p, a) how often per unit of
time a is taken in p,

    maximise sum x r   subject to   sum x d = 1,   sum x c <= l,   sum_a x(q, a) = sum x(p, a) P_a(p, q),   x >= 0

(Manne, 1960; Altman, *Constrained Markov Decision Processes*, 1999).  Without durations d = 1; without a limit this is
the optimum of a semi-Markov decision process.  For any h over pairs and any multiplier lambda >= 0, no policy that
meets the limit earns more than max over (p, a) of (r - lambda (c - l d) + P_a h - h) / d: follow the policy, add up,
and the h cancel.  The dual solution yields h and lambda, so that the bound is a certificate whatever the solver did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from everlearn.aleatoric.reward import LARGEST, Reward
from everlearn.errors import InputError, require
from everlearn.protocol import Table
from everlearn.theory.pairs import Pairs, tabulate

Measure = Callable[[Any, Any, Any], float]
"""A function of (aleatoric state, action, observation), like a reward."""


class Constrained(NamedTuple):
    """The constrained optimum over all policies, and a policy over pairs that attains it.

    It is the optimum from the best start; if every pair can be reached from every other, that is every start.
    """

    average_reward: float  # per unit of time, if there are durations
    upper: float  # a certified bound: no policy that meets the limit earns more
    average_cost: float | None
    multiplier: float  # what one more unit of cost per unit of time would earn
    policy: Table  # one row of action probabilities per pair; uniform where it never comes
    occupancy: Table  # how often each action is taken in each pair, per unit of time

    @property
    def gap(self) -> float:
        """The distance between the bound and what the policy earns."""
        return self.upper - self.average_reward


def constrained(
    pairs: Pairs, cost: Measure | None = None, limit: float | None = None, duration: Measure | None = None
) -> Constrained:
    """Return the constrained optimum of a task."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack, vstack

    together = (cost is None) == (limit is None)
    require(together, "limit", limit, "a cost and its limit go together; give both, or neither")
    r = pairs.rewards.ravel()
    d = np.ones_like(r) if duration is None else _expected(pairs, duration)
    require(bool((d > 0).all()), "duration", float(d.min()), "give durations above 0")
    flow = hstack([transition.T - eye_array(pairs.size) for transition in pairs.transitions], format="csr")
    equal = vstack([flow, d[None, :]], format="csr")
    c = np.zeros_like(r) if cost is None else _expected(pairs, cost)
    most = {} if limit is None else {"A_ub": c[None, :], "b_ub": [limit]}
    solved = linprog(-r, A_eq=equal, b_eq=[*np.zeros(pairs.size), 1.0], method="highs", **most)
    if solved.x is None:
        raise InputError("limit", limit, "no policy meets it; raise it")
    h = solved.eqlin.marginals[:-1]
    multiplier = 0.0 if limit is None else max(0.0, -float(solved.ineqlin.marginals[0]))
    excess = c - (limit or 0.0) * d
    upper = float(((r - multiplier * excess + h @ flow) / d).max())
    x = np.maximum(solved.x, 0.0)
    x /= x @ d
    share = x.reshape(-1, pairs.size)
    total = share.sum(axis=0)
    policy = np.where(total > 0, share / np.where(total > 0, total, 1.0), 1.0 / len(share)).T
    spent = None if cost is None else float(x @ c)
    return Constrained(float(x @ r), upper, spent, multiplier, policy, share.T)


def _expected(pairs: Pairs, measure: Measure) -> Table:
    """Return the expectation of a measure by action and pair: that of the reward of another task."""
    other = tabulate(replace(pairs.task, arrays=None, reward=Reward(measure, -LARGEST, LARGEST)), pairs.size)
    places = {label: place for place, label in enumerate(other.labels)}  # a task made from arrays has another order
    return other.rewards[:, [places[label] for label in pairs.labels]].ravel()
