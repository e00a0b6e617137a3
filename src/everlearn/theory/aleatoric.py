"""The best policy over aleatoric states: lambda_pi~, the supremum over the class P-tilde (Section 2.2.3).

The class contains randomised policies, and if the aleatoric state loses information they can be better than every
deterministic one.  Finding the best of either is hard in general (it is the problem of memoryless control), so:

- deterministic policies are all evaluated if they are few, and that answer is exact; otherwise a local search from
  several starts returns the best it found, and a policy that attains lambda_* is known to be the best;
- randomised policies are searched by local improvement from the best deterministic one and from the uniform one: the
  answer is the best that was found, never less than the deterministic one.

Each search evaluates a number of policies that falls with the number of pairs, and is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table
from everlearn.theory.beliefs import Bracket
from everlearn.theory.network import NetworkOptimum
from everlearn.theory.optimum import Optimum, optimum
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import action_values

FEW = 256  # the most deterministic policies that are all evaluated
STARTS = 4  # the random starts of the local search
TRIALS = 32  # the changes of a single state that a local search tries in vain before it ends
ASCENTS = 20  # the most steps of an ascent
BUDGET = 1_600_000  # the most policies that a search evaluates, times the number of pairs; an ascent, a quarter of it
LEAST = 12  # the policies that it may evaluate however many pairs there are
SHARES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)  # the steps that an ascent tries towards what the gradient prefers
ATTAINED = 1e-9  # how close to lambda_* a policy must come to count as optimal
GAINED = 1e-9  # a policy counts as better only beyond this


class Best(NamedTuple):
    """A policy over aleatoric states, its average reward from the empty history, and what was searched."""

    average_reward: float
    policy: Table
    exact: bool  # whether it is known to be the best deterministic one: every one was tried, or it attains lambda_*
    randomised: bool

    def __repr__(self) -> str:
        kind = ", randomised" if self.randomised else ""
        return f"Best(over aleatoric states: {self.average_reward:.10g}{kind}{'' if self.exact else ', by search'})"


def average_reward(pairs: Pairs, policy: Table) -> float:
    """Return lambda_pi of a policy over aleatoric states, from the empty history."""
    return float(pairs.chain(pairs.policy(policy)).gain[pairs.start])


def attained(value: float, best: Optimum | Bracket | NetworkOptimum) -> bool:
    """Return whether an average reward is the optimum, as far as that is certified."""
    return best.certified and value >= best.lower - ATTAINED * max(1.0, abs(best.lower))


def count_policies(states: int, actions: int) -> int:
    """Return the number of deterministic policies, or a number beyond ``FEW`` if there are more."""
    return int(actions ** min(states, FEW))


def best_deterministic(pairs: Pairs, known: Optimum | None = None) -> Best:
    """Return the best deterministic policy over aleatoric states, or the best that a local search finds.

    ``known`` is the optimum over all policies, if it has been computed.
    """
    states, actions = len(pairs.task.states), len(pairs.task.actions)
    if count_policies(len(pairs.visited), actions) <= FEW:
        choices = product(range(actions), repeat=len(pairs.visited))
        policies = [_deterministic(pairs, np.array(choice)) for choice in choices]
        value, policy = max(((average_reward(pairs, policy), policy) for policy in policies), key=itemgetter(0))
        return Best(value, policy, exact=True, randomised=False)
    best = known or optimum(pairs)
    search = _Search(pairs, BUDGET)
    value, policy = search.climb(_project(pairs, best))
    if attained(value, best):
        return Best(value, policy, exact=True, randomised=False)
    random = np.random.default_rng(0)
    starts = [np.full(states, action) for action in range(actions)]
    starts += [random.integers(0, actions, states) for _ in range(STARTS)]
    climbed = [search.climb(start) for start in starts if search.left > 0]
    value, policy = max([(value, policy), *climbed], key=itemgetter(0))
    return Best(value, policy, exact=False, randomised=False)


def best_randomised(pairs: Pairs, deterministic: Best, known: Optimum | None = None) -> Best:
    """Return the best policy over aleatoric states that was found, randomised ones included.

    It climbs the exact gradient of the average reward, from the best deterministic policy and from the uniform one, by
    the method of Frank and Wolfe: towards the policy that the gradient prefers, as far as that helps.
    """
    best = deterministic
    if known is not None and attained(best.average_reward, known):
        return best
    uniform = np.full_like(deterministic.policy, 1 / deterministic.policy.shape[1])
    for start in (deterministic.policy, uniform):
        value, policy = _Search(pairs, BUDGET // 4).ascend(start)
        if value > best.average_reward + GAINED:
            best = Best(value, policy, exact=False, randomised=True)
    return best


def projected_average(pairs: Pairs, best: Optimum) -> float:
    """Return the average reward of doing in each aleatoric state what an optimal policy does there most often.

    If the aleatoric state hides nothing, that is optimal.
    """
    return average_reward(pairs, _deterministic(pairs, _project(pairs, best)[pairs.visited]))


def _project(pairs: Pairs, best: Optimum) -> NDArray[np.int64]:
    """Return for each aleatoric state the action that an optimal policy takes there most often."""
    shares = np.full(pairs.size, 1e-12 / pairs.size)
    for recurrent in pairs.chain(best.policy).classes:
        shares[recurrent.members] += recurrent.stationary
    weights = np.zeros((len(pairs.task.states), len(pairs.task.actions)))
    np.add.at(weights, pairs.states, best.policy * shares[:, None])
    return np.asarray(weights.argmax(axis=1))


def _deterministic(pairs: Pairs, choice: NDArray[np.int64]) -> Table:
    """Return the policy with these actions in the states that can be visited; it is uniform in the others."""
    policy = np.full((len(pairs.task.states), len(pairs.task.actions)), 1 / len(pairs.task.actions))
    policy[pairs.visited] = np.eye(len(pairs.task.actions))[choice]
    return policy


class _Search:
    """A local search that counts how many policies it may still evaluate."""

    def __init__(self, pairs: Pairs, budget: int) -> None:
        self.pairs = pairs
        self.left = max(LEAST, budget // pairs.size)

    def climb(self, choice: NDArray[np.int64]) -> tuple[float, Table]:
        """Change the actions of as many states at a time as helps, first those for which the gradient promises most."""
        value, policy, gradient = self._evaluate(_deterministic(self.pairs, choice[self.pairs.visited]))
        while True:
            promised = gradient - gradient[np.arange(len(choice)), choice][:, None]
            wanted = [state for state in self.pairs.visited.tolist() if promised[state].max() > 0]
            wanted.sort(key=lambda state: -promised[state].max())
            for changed in islice(_subsets(wanted), max(0, self.left)):
                trial = choice.copy()
                trial[changed] = promised[changed].argmax(axis=1)
                evaluated = self._evaluate(_deterministic(self.pairs, trial[self.pairs.visited]))
                if evaluated[0] > value + GAINED:
                    choice, (value, policy, gradient) = trial, evaluated
                    break
            else:
                return value, policy

    def ascend(self, policy: Table) -> tuple[float, Table]:
        """Move towards the policy that the gradient prefers, as long as that helps."""
        value, policy, gradient = self._evaluate(policy)
        for _ in range(ASCENTS):
            target = np.eye(policy.shape[1])[gradient.argmax(axis=1)]
            if float((gradient * (target - policy)).sum()) <= GAINED:
                break
            for share in SHARES[: max(0, self.left)]:
                evaluated = self._evaluate((1 - share) * policy + share * target)
                if evaluated[0] > value + GAINED:
                    value, policy, gradient = evaluated
                    break
            else:
                break
        return value, policy

    def _evaluate(self, policy: Table) -> tuple[float, Table, Table]:
        """Return the average reward of a policy, the policy and the gradient."""
        self.left -= 1
        value, gradient = _gradient(self.pairs, policy)
        return value, policy, gradient


def _subsets(states: list[int]) -> Iterator[list[int]]:
    """Yield all of a list, its first half, and so on, then its first entries one by one."""
    number = len(states)
    while number > 1:
        yield states[:number]
        number //= 2
    yield from ([state] for state in states[:TRIALS])


def _gradient(pairs: Pairs, policy: Table) -> tuple[float, Table]:
    """Return the average reward from the empty history, and its gradient in the action probabilities of each state.

    For one recurrent class with stationary distribution x and bias h, the derivative in pi(a|s) is the sum over the
    pairs of s of x (rbar_a + P_a h).  With several classes, it leaves out how the chance to reach each class changes:
    the climb is then a heuristic, and every step of it is still checked by evaluation.
    """
    chain = pairs.chain(pairs.policy(policy))
    values = action_values(pairs, chain.bias)
    gradient = np.zeros_like(policy)
    for recurrent in chain.classes:
        np.add.at(gradient, pairs.states[recurrent.members], (values[:, recurrent.members] * recurrent.stationary).T)
    return float(chain.gain[pairs.start]), gradient
