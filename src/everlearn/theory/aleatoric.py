"""The best policy over aleatoric states: lambda_pi~, the supremum over the class P-tilde (Section 2.2.3).

The class contains randomised policies, and where the aleatoric state loses something they can be better than every
deterministic one.  Finding the best of either is a hard problem in general (it is that of memoryless control), so:

- deterministic policies are all evaluated where they are few, and that answer is exact; otherwise a local search from
  several starts gives the best that was found;
- randomised policies are searched by local improvement from the best deterministic one and from other starts: the
  answer is the best that was found, never less than the deterministic one.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from everlearn.protocol import Table
from everlearn.theory.chains import Chain
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import action_values

FEW = 256
"""Up to how many deterministic policies are all evaluated."""

STARTS = 4
ASCENTS = 20
GAINED = 1e-9
"""A randomised policy counts as better only beyond this."""


class Best(NamedTuple):
    """A policy over aleatoric states, its average reward from the empty history, and what was searched."""

    average_reward: float
    policy: Table
    exact: bool
    """Whether every deterministic policy was tried."""
    randomised: bool


def average_reward(pairs: Pairs, policy: Table) -> float:
    """Return lambda_pi of a policy over aleatoric states, from the empty history.

    Examples
    --------
    >>> from everlearn.agents.policies import policy_table
    >>> from everlearn.tasks.service_station import service_station
    >>> from everlearn.theory.pairs import tabulate
    >>> task = service_station()
    >>> round(average_reward(tabulate(task), policy_table(task, "0=slow,1=fast:0.5")), 10)
    0.0667843929

    """
    return float(Chain(*pairs.under(pairs.policy(policy))).gain[pairs.start])


def best_deterministic(pairs: Pairs) -> Best:
    """Return the best deterministic policy over aleatoric states, or the best that a local search finds."""
    states, actions = len(pairs.task.states), len(pairs.task.actions)
    visited = sorted(set(pairs.states.tolist()))
    if actions ** len(visited) <= FEW:
        found = [_evaluated(pairs, visited, choice) for choice in product(range(actions), repeat=len(visited))]
        value, policy = max(found, key=lambda entry: entry[0])
        return Best(value, policy, exact=True, randomised=False)
    random = np.random.default_rng(0)
    starts = [np.full(states, action) for action in range(actions)]
    starts += [random.integers(0, actions, states) for _ in range(STARTS)]
    value, policy = max((_climb(pairs, visited, start) for start in starts), key=lambda entry: entry[0])
    return Best(value, policy, exact=False, randomised=False)


def _evaluated(pairs: Pairs, visited: list[int], choice: tuple[int, ...]) -> tuple[float, Table]:
    policy = np.full((len(pairs.task.states), len(pairs.task.actions)), 1 / len(pairs.task.actions))
    policy[visited] = np.eye(len(pairs.task.actions))[list(choice)]
    return average_reward(pairs, policy), policy


def _climb(pairs: Pairs, visited: list[int], choice: Table) -> tuple[float, Table]:
    """Change one state at a time, as long as that helps."""
    actions = len(pairs.task.actions)
    current = [int(choice[state]) for state in visited]
    value, policy = _evaluated(pairs, visited, tuple(current))
    improved = True
    while improved:
        improved = False
        for place, action in product(range(len(visited)), range(actions)):
            trial = [*current[:place], action, *current[place + 1 :]]
            found, table = _evaluated(pairs, visited, tuple(trial))
            if found > value + GAINED:
                value, policy, current, improved = found, table, trial, True
    return value, policy


def best_randomised(pairs: Pairs, deterministic: Best) -> Best:
    """Return the best policy over aleatoric states that was found, randomised ones included.

    It climbs the exact gradient of the average reward, from the best deterministic policy and from the uniform one, in
    the manner of Frank and Wolfe: towards the policy that the gradient prefers, as far as that helps.
    """
    uniform = np.full_like(deterministic.policy, 1 / deterministic.policy.shape[1])
    best = deterministic
    for start in (deterministic.policy, uniform):
        value, policy = _ascend(pairs, start)
        if value > best.average_reward + GAINED:
            best = Best(value, policy, exact=False, randomised=True)
    return best


def _ascend(pairs: Pairs, policy: Table) -> tuple[float, Table]:
    value, gradient = _gradient(pairs, policy)
    for _ in range(ASCENTS):
        target = np.eye(policy.shape[1])[gradient.argmax(axis=1)]
        expected = float((gradient * (target - policy)).sum())
        if expected <= GAINED:
            break
        for share in (1.0, 0.5, 0.25, 0.1, 0.03, 0.01):
            trial = (1 - share) * policy + share * target
            found, slope = _gradient(pairs, trial)
            if found > value + GAINED:
                value, policy, gradient = found, trial, slope
                break
        else:
            break
    return value, policy


def _gradient(pairs: Pairs, policy: Table) -> tuple[float, Table]:
    """Return the average reward from the empty history, and its gradient in the action probabilities of each state.

    For one recurrent class with stationary distribution x and bias h, the derivative in pi(a|s) is the sum over the
    pairs of s of x (rbar_a + P_a h).  With several classes, the derivatives of what is reached are left out: the climb
    is then a heuristic, and every step of it is checked by evaluation all the same.
    """
    chain = Chain(*pairs.under(pairs.policy(policy)))
    values = action_values(pairs, chain.bias, 1.0)
    gradient = np.zeros_like(policy)
    for one in chain.classes:
        np.add.at(gradient, pairs.states[one.members], (values[:, one.members] * one.stationary).T)
    return float(chain.gain[pairs.start]), gradient
