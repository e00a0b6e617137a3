"""The best policy over aleatoric states: lambda_pi~, the supremum over the class P-tilde (Section 2.2.3).

The class contains randomised policies, and where the aleatoric state loses something they can be better than every
deterministic one.  Finding the best of either is a hard problem in general (it is that of memoryless control), so:

- deterministic policies are all evaluated where they are few, and that answer is exact; otherwise a local search from
  several starts gives the best that was found, and one that attains lambda_* is known to be the best;
- randomised policies are searched by local improvement from the best deterministic one and from other starts: the
  answer is the best that was found, never less than the deterministic one.

Either search evaluates a number of policies that falls with the number of pairs, and is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table
from everlearn.theory.chains import Chain
from everlearn.theory.optimum import Optimum, optimum
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import action_values

FEW = 256
"""Up to how many deterministic policies are all evaluated."""

STARTS = 4
TRIALS = 32
"""How many changes of a single state a local search tries in vain before it ends."""

ASCENTS = 20
BUDGET = 1_600_000
"""How many policies a search may evaluate, times how many pairs there are; an ascent, a quarter of that."""

LEAST = 12
"""How many it may evaluate however many pairs there are."""

SHARES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
"""How far an ascent tries to go towards what the gradient prefers."""

ATTAINED = 1e-9
"""How close to lambda_* a policy must come to count as optimal."""

GAINED = 1e-9
"""A randomised policy counts as better only beyond this."""


class Best(NamedTuple):
    """A policy over aleatoric states, its average reward from the empty history, and what was searched."""

    average_reward: float
    policy: Table
    exact: bool
    """Whether it is known to be the best deterministic one: every one was tried, or it attains lambda_*."""
    randomised: bool

    def __repr__(self) -> str:
        """Return one line: the average reward, and what was searched."""
        kind = ", randomised" if self.randomised else ""
        return f"Best(over aleatoric states: {self.average_reward:.10g}{kind}{'' if self.exact else ', by search'})"


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


def best_deterministic(pairs: Pairs, known: Optimum | None = None) -> Best:
    """Return the best deterministic policy over aleatoric states, or the best that a local search finds.

    ``known`` is the optimum over all policies, where it has been computed.
    """
    states, actions = len(pairs.task.states), len(pairs.task.actions)
    visited = sorted(set(pairs.states.tolist()))
    if actions ** min(len(visited), FEW) <= FEW:
        found = [_evaluated(pairs, visited, choice) for choice in product(range(actions), repeat=len(visited))]
        value, policy = max(found, key=lambda entry: entry[0])
        return Best(value, policy, exact=True, randomised=False)
    best = known or optimum(pairs)
    search = _Search(pairs, BUDGET)
    value, policy = _climb(search, visited, _projected(pairs, best))
    if attained(value, best):
        return Best(value, policy, exact=True, randomised=False)
    random = np.random.default_rng(0)
    starts = [np.full(states, action) for action in range(actions)]
    starts += [random.integers(0, actions, states) for _ in range(STARTS)]
    found = [_climb(search, visited, start) for start in starts if search.left > 0]
    value, policy = max([(value, policy), *found], key=itemgetter(0))
    return Best(value, policy, exact=False, randomised=False)


def attained(value: float, best: Optimum) -> bool:
    """Tell whether an average reward is the optimum, as far as that is certified."""
    return best.certified and value >= best.lower - ATTAINED * max(1.0, abs(best.lower))


def projected_average(pairs: Pairs, best: Optimum) -> float:
    """Return the average reward of doing in each aleatoric state what an optimal policy does there most of the time.

    Where the aleatoric state hides nothing, that is optimal.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> from everlearn.theory.pairs import tabulate
    >>> pairs = tabulate(service_station(cap=3))
    >>> round(projected_average(pairs, optimum(pairs)), 9)
    0.5

    """
    visited = sorted(set(pairs.states.tolist()))
    return average_reward(pairs, _deterministic(pairs, visited, _projected(pairs, best)))


def _projected(pairs: Pairs, best: Optimum) -> NDArray[np.int64]:
    """Return for each aleatoric state the action that an optimal policy takes there most of the time."""
    chain = Chain(*pairs.under(best.policy))
    shares = np.full(pairs.size, 1e-12 / pairs.size)
    for one in chain.classes:
        shares[one.members] += one.stationary
    weights = np.zeros((len(pairs.task.states), len(pairs.task.actions)))
    np.add.at(weights, pairs.states, best.policy * shares[:, None])
    return np.asarray(weights.argmax(axis=1))


def _evaluated(pairs: Pairs, visited: list[int], choice: tuple[int, ...]) -> tuple[float, Table]:
    everywhere = np.zeros(len(pairs.task.states), dtype=np.int64)
    everywhere[visited] = choice
    policy = _deterministic(pairs, visited, everywhere)
    return average_reward(pairs, policy), policy


def _deterministic(pairs: Pairs, visited: list[int], choice: NDArray[np.int64]) -> Table:
    """Return a policy as a table: uniform in states that are never visited."""
    policy = np.full((len(pairs.task.states), len(pairs.task.actions)), 1 / len(pairs.task.actions))
    policy[visited] = np.eye(len(pairs.task.actions))[choice[visited]]
    return policy


class _Search:
    """Evaluates policies, and counts how many it may still evaluate."""

    def __init__(self, pairs: Pairs, budget: int) -> None:
        self.pairs = pairs
        self.left = max(LEAST, budget // pairs.size)

    def evaluate(self, policy: Table) -> tuple[float, Table]:
        """Return the average reward of a policy and its gradient."""
        self.left -= 1
        return _gradient(self.pairs, policy)


def _climb(search: _Search, visited: list[int], start: NDArray[np.int64]) -> tuple[float, Table]:
    """Change the action of as many states at a time as helps, those first for which the gradient promises most."""
    pairs, choice = search.pairs, start.copy()
    value, gradient = search.evaluate(_deterministic(pairs, visited, choice))
    while True:
        promised = gradient - gradient[np.arange(len(choice)), choice][:, None]
        wanted = [state for state in visited if promised[state].max() > 0]
        wanted.sort(key=lambda state: -promised[state].max())
        for changed in islice(_subsets(wanted), max(0, search.left)):
            trial = choice.copy()
            trial[changed] = promised[changed].argmax(axis=1)
            found, slope = search.evaluate(_deterministic(pairs, visited, trial))
            if found > value + GAINED:
                value, gradient, choice = found, slope, trial
                break
        else:
            return value, _deterministic(pairs, visited, choice)


def _subsets(wanted: list[int]) -> Iterator[list[int]]:
    """Yield all of a list, its first half, and so on, then its first entries one by one."""
    number = len(wanted)
    while number > 1:
        yield wanted[:number]
        number //= 2
    yield from ([one] for one in wanted[:TRIALS])


def best_randomised(pairs: Pairs, deterministic: Best, known: Optimum | None = None) -> Best:
    """Return the best policy over aleatoric states that was found, randomised ones included.

    It climbs the exact gradient of the average reward, from the best deterministic policy and from the uniform one, in
    the manner of Frank and Wolfe: towards the policy that the gradient prefers, as far as that helps.
    """
    best = deterministic
    if known is not None and attained(best.average_reward, known):
        return best
    uniform = np.full_like(deterministic.policy, 1 / deterministic.policy.shape[1])
    for start in (deterministic.policy, uniform):
        value, policy = _ascend(_Search(pairs, BUDGET // 4), start)
        if value > best.average_reward + GAINED:
            best = Best(value, policy, exact=False, randomised=True)
    return best


def _ascend(search: _Search, policy: Table) -> tuple[float, Table]:
    value, gradient = search.evaluate(policy)
    for _ in range(ASCENTS):
        target = np.eye(policy.shape[1])[gradient.argmax(axis=1)]
        expected = float((gradient * (target - policy)).sum())
        if expected <= GAINED:
            break
        for share in SHARES[: max(0, search.left)]:
            trial = (1 - share) * policy + share * target
            found, slope = search.evaluate(trial)
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
