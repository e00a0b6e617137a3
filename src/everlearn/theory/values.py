"""Discounted values on pairs (Section 3): V_pi, Q_pi, V_* and Q_*, with certified errors.

For a discount gamma in [0, 1), writing P_a, rbar_a over pairs instead of histories:

- V_pi solves V = rbar_pi + gamma P_pi V, and Q_pi(., a) = rbar_a + gamma P_a V_pi.  (The definition in Section 3 lacks
  the factor gamma; the proposition below it has it.)
- V_* and Q_* are the unique bounded solutions of V = max_a Q(., a), Q(., a) = rbar_a + gamma P_a V (``lemma:bellman``).
- The Bellman operator T V = max_a (rbar_a + gamma P_a V) is a contraction: |V - V_*| <= |T V - V| / (1 - gamma).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.theory.linear import solve_discounted
from everlearn.theory.pairs import Pairs

IMPROVEMENTS = 1_000


class Values(NamedTuple):
    """Values on pairs, with a bound on how far any may be off."""

    V: Table
    Q: Table
    """A row for each action."""
    policy: Table
    """The policy of which these are the values: a row for each pair."""
    error: float


def discount_of(horizon: float) -> float:
    """Return gamma = 1 - 1 / tau.

    Examples
    --------
    >>> discount_of(10)
    0.9

    """
    require(1 <= horizon < np.inf, "horizon", horizon, "give a finite number of at least 1")
    return 1 - 1 / horizon


def action_values(pairs: Pairs, V: Table, discount: float) -> Table:
    """Return Q(., a) = rbar_a + gamma P_a V, a row for each action."""
    following = [transition @ V for transition in pairs.transitions]
    return np.asarray(pairs.rewards + discount * np.array(following))


def bellman(pairs: Pairs, V: Table, discount: float) -> Table:
    """Return T V, the Bellman operator of optimality."""
    return np.asarray(action_values(pairs, V, discount).max(axis=0))


def policy_values(pairs: Pairs, policy: Table, discount: float) -> Values:
    """Return V_pi and Q_pi of a policy over pairs.

    Examples
    --------
    >>> from everlearn.tasks.arrays import mdp
    >>> from everlearn.theory.pairs import tabulate
    >>> pairs = tabulate(mdp([[[0, 1], [1, 0]]], [[1], [0]]))
    >>> policy_values(pairs, np.ones((2, 1)), 0.5).V.round(12).tolist()
    [1.333333333333, 0.666666666667]

    """
    V, error = solve_discounted(*pairs.under(policy), discount)
    return Values(V, action_values(pairs, V, discount), policy, error)


def optimal_values(pairs: Pairs, discount: float, near: Table | None = None) -> Values:
    """Return V_* and Q_*, by policy iteration, which is quicker from a policy ``near`` an optimal one.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> from everlearn.theory.pairs import tabulate
    >>> pairs = tabulate(service_station(cap=3))
    >>> round(float(optimal_values(pairs, 0.9).V[pairs.start]), 6)
    5.5

    """
    choice = pairs.rewards.argmax(axis=0) if near is None else near.argmax(axis=1)
    for _ in range(IMPROVEMENTS):
        policy = np.eye(len(pairs.transitions))[choice]
        found = policy_values(pairs, policy, discount)
        margin = 1e-12 * max(1.0, float(np.abs(found.Q).max()))
        better = found.Q.max(axis=0) > found.Q[choice, np.arange(pairs.size)] + margin
        if not better.any():
            break
        choice = np.where(better, found.Q.argmax(axis=0), choice)
    residual = float(np.abs(found.Q.max(axis=0) - found.V).max())
    return found._replace(error=found.error + residual / (1 - discount))


def value_iteration(pairs: Pairs, discount: float, tolerance: float = 1e-12) -> Table:
    """Return V_* by iterating the Bellman operator: slower, and independent of policy iteration."""
    V = np.zeros(pairs.size)
    while True:
        following = bellman(pairs, V, discount)
        if float(np.abs(following - V).max()) <= tolerance * (1 - discount):
            return following
        V = following


def linear_program(pairs: Pairs, discount: float) -> Table:
    """Return V_* as the least V with V >= rbar_a + gamma P_a V for all a: independent of both iterations."""
    from scipy.optimize import linprog
    from scipy.sparse import identity, vstack

    constraints = vstack([discount * transition - identity(pairs.size) for transition in pairs.transitions])
    found = linprog(
        np.ones(pairs.size), A_ub=constraints, b_ub=-pairs.rewards.ravel(), bounds=(None, None), method="highs"
    )
    require(found.success, "linear program", found.message, "was not solved")
    return np.asarray(found.x)
