"""Discounted values on pairs (Section 3): V_pi, Q_pi, V_* and Q_*, with certified errors.

For a discount gamma in [0, 1), with P_a, rbar_a over pairs instead of histories:

- V_pi solves V = rbar_pi + gamma P_pi V, and Q_pi(., a) = rbar_a + gamma P_a V_pi.  (The definition in Section 3 lacks
  the factor gamma; the proposition below it has it.)
- V_* and Q_* are the unique bounded solutions of V = max_a Q(., a), Q(., a) = rbar_a + gamma P_a V (Proposition 1).
- The Bellman operator T V = max_a (rbar_a + gamma P_a V) is a contraction: |V - V_*| <= |T V - V| / (1 - gamma).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.theory.linear import solve_discounted
from everlearn.theory.pairs import Pairs

IMPROVEMENTS = 1_000  # the most improvements of policy iteration


class Values(NamedTuple):
    """Values on pairs, with a bound on the error of any of them."""

    V: Table
    Q: Table  # one row per action
    policy: Table  # the policy whose values these are: one row per pair
    error: float


def discount_of(horizon: float) -> float:
    """Return gamma = 1 - 1 / tau."""
    require(1 <= horizon < np.inf, "horizon", horizon, "give a finite number of at least 1")
    return 1 - 1 / horizon


def action_values(pairs: Pairs, V: Table, discount: float = 1.0) -> Table:
    """Return Q(., a) = rbar_a + gamma P_a V, one row per action."""
    following = [transition @ V for transition in pairs.transitions]
    return np.asarray(pairs.rewards + discount * np.array(following))


def policy_values(pairs: Pairs, policy: Table, discount: float) -> Values:
    """Return V_pi and Q_pi of a policy over pairs."""
    V, error = solve_discounted(*pairs.under(policy), discount)
    return Values(V, action_values(pairs, V, discount), policy, error)


def optimal_values(pairs: Pairs, discount: float, near: Table | None = None) -> Values:
    """Return V_* and Q_*, by policy iteration, which is faster from a policy ``near`` an optimal one."""
    choice = pairs.rewards.argmax(axis=0) if near is None else near.argmax(axis=1)
    for _ in range(IMPROVEMENTS):
        values = policy_values(pairs, np.eye(len(pairs.transitions))[choice], discount)
        margin = 1e-12 * max(1.0, float(np.abs(values.Q).max()))
        better = values.Q.max(axis=0) > values.Q[choice, np.arange(pairs.size)] + margin
        if not better.any():
            break
        choice = np.where(better, values.Q.argmax(axis=0), choice)
    residual = float(np.abs(values.Q.max(axis=0) - values.V).max())
    return values._replace(error=values.error + residual / (1 - discount))
