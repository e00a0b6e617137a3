"""The same quantities by dense linear algebra and brute force, and the small worlds on which to compare them."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

import everlearn as el
from everlearn.tasks.service_station import service_station
from everlearn.theory.chains import Chain
from everlearn.theory.pairs import Pairs, tabulate


def chain(P, r) -> Chain:
    return Chain(csr_array(np.array(P, dtype=float)), np.array(r, dtype=float))


def cycle(length: int) -> np.ndarray:
    """0 to 1 to 2 ... and back to 0."""
    return np.roll(np.eye(length), 1, axis=1)


def block_diagonal(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    matrix = np.zeros((len(first) + len(second),) * 2)
    matrix[: len(first), : len(first)] = first
    matrix[len(first) :, len(first) :] = second
    return matrix


def limit(P: np.ndarray) -> np.ndarray:
    """The Cesaro limit of the powers of P: the limit of the powers of the lazy chain, by repeated squaring."""
    power = (np.eye(len(P)) + P) / 2
    for _ in range(60):
        power = power @ power
        power /= power.sum(axis=1, keepdims=True)
    return power


def bias(P: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The deviation matrix applied to r."""
    far = limit(P)
    return np.linalg.solve(np.eye(len(P)) - P + far, r - far @ r)


def matrices(pairs: Pairs) -> np.ndarray:
    return np.array([transition.toarray() for transition in pairs.transitions])


def under(pairs: Pairs, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.einsum("pa,apq->pq", policy, matrices(pairs)), np.einsum("pa,ap->p", policy, pairs.rewards)


def values(pairs: Pairs, policy: np.ndarray, discount: float) -> np.ndarray:
    P, r = under(pairs, policy)
    return np.linalg.solve(np.eye(pairs.size) - discount * P, r)


def deterministic(rows: int, actions: int):
    """Every deterministic policy."""
    for choice in product(range(actions), repeat=rows):
        yield np.eye(actions)[list(choice)]


def best_values(pairs: Pairs, discount: float) -> np.ndarray:
    """V_*, as the greatest values of any deterministic policy."""
    policies = deterministic(pairs.size, len(pairs.transitions))
    return np.max([values(pairs, policy, discount) for policy in policies], axis=0)


def bellman(pairs: Pairs, V: np.ndarray, discount: float) -> np.ndarray:
    """T V, the Bellman operator of optimality."""
    return (pairs.rewards + discount * (matrices(pairs) @ V)).max(axis=0)


def value_iteration(pairs: Pairs, discount: float, tolerance: float = 1e-12) -> np.ndarray:
    """V_* by iterating the Bellman operator."""
    V = np.zeros(pairs.size)
    while True:
        following = bellman(pairs, V, discount)
        if np.abs(following - V).max() <= tolerance * (1 - discount):
            return following
        V = following


def linear_program(pairs: Pairs, discount: float) -> np.ndarray:
    """V_* as the least V with V >= rbar_a + gamma P_a V for all a."""
    constraints = np.concatenate([discount * matrix - np.eye(pairs.size) for matrix in matrices(pairs)])
    solution = linprog(
        np.ones(pairs.size), A_ub=constraints, b_ub=-pairs.rewards.ravel(), bounds=(None, None), method="highs"
    )
    assert solution.success
    return solution.x


def best_gain(pairs: Pairs) -> np.ndarray:
    """The greatest gain of any deterministic policy, from each start."""
    found = []
    for policy in deterministic(pairs.size, len(pairs.transitions)):
        P, r = under(pairs, policy)
        found.append(limit(P) @ r)
    return np.max(found, axis=0)


def random_policy(seed: int, rows: int, actions: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(actions), size=rows)


def coarse(P, R, groups) -> el.Task:
    """A task whose observations are its memories, and whose aleatoric state is the group of the last.

    Rewards R[group, action, next memory] lie in [0, 1].
    """
    P, R, actions = np.array(P, dtype=float), np.array(R, dtype=float), tuple(range(len(P)))
    aleatoric = el.AleatoricState(groups[0], lambda _s, _a, o: groups[o], tuple(sorted(set(groups))))

    @el.task(actions=actions, observations=tuple(range(len(groups))), memory=0, aleatoric=aleatoric)
    def aggregated(memory, action):
        """Wander, and tell only the group."""
        for following in np.flatnonzero(P[action, memory]).tolist():
            yield following, float(P[action, memory, following]), following

    aggregated.reward(lambda s, a, o: float(R[s, a, o]))
    return aggregated.finish()


def random_coarse(seed: int, memories: int = 4, groups: int = 2, actions: int = 2) -> el.Task:
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.full(memories, 0.4), size=(actions, memories))
    R = random.random((groups, actions, memories))
    return coarse(P, R, [memory % groups for memory in range(memories)])


def alternation(success: float = 1.0) -> el.Task:
    """One aleatoric state, two memories: the action named like the memory earns 1 and leads to the other.

    In memory 1 it succeeds only with probability ``success``; every failure earns nothing and stays.
    """
    alone = el.AleatoricState("all", lambda _s, _a, _o: "all")

    @el.task(actions=[0, 1], observations=["stuck", "through"], memory=0, aleatoric=alone)
    def doors(memory, action):
        """Go through two doors in turn."""
        chance = (memory == action) * (success if memory == 1 else 1.0)
        if chance > 0:
            yield "through", chance, 1 - memory
        if chance < 1:
            yield "stuck", 1 - chance, memory

    doors.reward(lambda _s, _a, observation: float(observation == "through"))
    return doors.finish()


@lru_cache
def station(cap: int | None = None) -> Pairs:
    return tabulate(service_station() if cap is None else service_station(cap=cap))
