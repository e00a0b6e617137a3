"""Planning, against exact theory, against linear programs, and against all policies one by one."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog

import everlearn as el
from everlearn.agents.counts import REWARD, VISITS
from everlearn.agents.planning import arrange, middle, relative_value_iteration
from everlearn.agents.ucrl2 import NUMBERS, RADIUS, Plausible, plan_episode, sweep_plausible
from tests.few import few

PRECISION = 1e-8


def planned(P, R, precision=PRECISION, sweeps=100_000):
    """Gain, policy and values of a known model."""
    v, change, chosen = np.zeros(len(R)), np.zeros(len(R)), np.zeros(len(R), dtype=np.int64)
    relative_value_iteration(P, R, v, change, chosen, precision, sweeps)
    return middle(change), chosen, v


def plausible(counts, rewards, radius, sweeps=100_000):
    """What UCRL2 knows before it plans."""
    states, actions = rewards.shape
    pairs = np.zeros((states, actions, states + NUMBERS))
    pairs[:, :, :states], pairs[:, :, VISITS] = counts, counts.sum(axis=2)
    pairs[:, :, REWARD], pairs[:, :, RADIUS] = rewards, radius
    return Plausible(pairs, np.zeros((2, states)), np.zeros(2 * states + 1, dtype=np.int64), 0.1, 1.0, 1.0, sweeps)


def hoped(counts, rewards, radius):
    """Gain and policy of the best model within bounds."""
    knowledge = plausible(counts, rewards, radius)
    plan_episode(knowledge, PRECISION)
    return middle(knowledge.values[1]), knowledge.plan[: len(counts)]


def random_model(seed, states, actions, sparse=False):
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.full(states, 0.2 if sparse else 1.0), size=(states, actions))
    return P, random.random((states, actions))


@pytest.mark.parametrize("seed", few(range(8), range(4)))
@pytest.mark.parametrize(("states", "actions"), [(1, 1), (3, 3), (8, 2)])
def test_gain_and_policy_of_a_known_model_are_those_of_theory(seed, states, actions):
    P, R = random_model(seed, states, actions)
    theory = el.Theory(el.mdp(P.swapaxes(0, 1), R, reward_range=(0, 1)))
    gain, chosen, _ = planned(P, R)
    assert gain == pytest.approx(theory.optimal_average_reward, abs=PRECISION)
    assert theory.average_reward(np.eye(actions)[chosen]) == pytest.approx(theory.optimal_average_reward, abs=PRECISION)


def test_values_solve_the_equation_of_the_average_reward():
    P, R = random_model(20, 5, 3)
    gain, _, v = planned(P, R)
    assert (R + P @ v).max(axis=1) == pytest.approx(gain + v, abs=1e-7)
    assert v.min() == 0


def test_a_periodic_model_does_not_oscillate():
    there_and_back = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])
    gain, _, v = planned(there_and_back, np.array([[0.0], [1.0]]), sweeps=1000)
    assert gain == pytest.approx(0.5, abs=PRECISION)
    assert v.tolist() == pytest.approx([0, 0.5])


def test_it_stops_after_so_many_sweeps():
    apart = np.eye(2)[:, None, :]
    gain, _, v = planned(apart, np.array([[0.0], [1.0]]), sweeps=10)
    assert gain == 0.5
    assert v.tolist() == pytest.approx([0, 9])  # ten sweeps of 0.9


@pytest.mark.parametrize("precision", [0.5, 0.1, 1e-3])
def test_the_policy_is_within_the_precision(precision):
    for seed in range(10):
        P, R = random_model(seed, 6, 3, sparse=True)
        theory = el.Theory(el.mdp(P.swapaxes(0, 1), R, reward_range=(0, 1)))
        gain, chosen, _ = planned(P, R, precision)
        best = theory.optimal_average_reward
        assert best - precision < theory.average_reward(np.eye(3)[chosen]) <= best + 1e-9
        assert abs(gain - best) <= precision / 2


def best_row(p, radius, v):
    """Maximise q v over distributions q with |q - p| <= radius, as a linear program: q = p + up - down."""
    n = len(p)
    split = np.concatenate([v, -v])
    bounds = [(0, 1)] * n + [(0, float(one)) for one in p]
    solved = linprog(
        -split,
        A_ub=np.ones((1, 2 * n)),
        b_ub=[radius],
        A_eq=np.concatenate([np.ones(n), -np.ones(n)])[None],
        b_eq=[0.0],
        bounds=bounds,
    )
    return p @ v - solved.fun


@pytest.mark.parametrize("seed", few(range(12), range(4)))
def test_the_most_favourable_row_is_that_of_a_linear_program(seed):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 6, size=(4, 2, 4)).astype(float)
    counts[..., 0] += 1
    rewards, radius, v = random.random((4, 2)), 2.5 * random.random((4, 2)), 3 * random.random(4)
    knowledge, order = plausible(counts, rewards, radius), np.arange(4)
    knowledge.values[0] = v
    arrange(order, v)
    sweep_plausible(knowledge, order)
    frequencies = counts / counts.sum(axis=2, keepdims=True)
    q = [[rewards[s, a] + best_row(frequencies[s, a], radius[s, a], v) for a in range(2)] for s in range(4)]
    assert knowledge.values[1] + v == pytest.approx(np.max(q, axis=1), abs=1e-9)
    assert knowledge.plan[:4].tolist() == np.argmax(q, axis=1).tolist()


def vertices(p, radius):
    """The vertices of the rows within the radius that can be best: for each order of the states one."""
    for order in permutations(range(len(p))):
        row = p.copy()
        row[order[0]] = min(1.0, p[order[0]] + radius / 2)
        for worst in reversed(order[1:]):
            row[worst] = max(0.0, row[worst] - max(0.0, row.sum() - 1))
        yield row


def stationary_average(P, r):
    """The average reward of a chain with one recurrent class."""
    n = len(r)
    equations = np.vstack([P.T - np.eye(n), np.ones(n)])
    return np.linalg.lstsq(equations, np.append(np.zeros(n), 1.0), rcond=None)[0] @ r


@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_the_optimistic_gain_is_the_best_over_all_policies_and_vertices(seed):
    # All rows stay positive, so that every model has one recurrent class.
    random = np.random.default_rng(seed)
    counts = random.integers(20, 40, size=(3, 2, 3)).astype(float)
    rewards, radius = random.random((3, 2)), 0.2 * random.random((3, 2))
    frequencies = counts / counts.sum(axis=2, keepdims=True)
    rows = [
        [(row, rewards[s, a]) for a in range(2) for row in vertices(frequencies[s, a], radius[s, a])] for s in range(3)
    ]
    best = max(
        stationary_average(np.array([row for row, _ in model]), np.array([r for _, r in model]))
        for model in product(*rows)
    )
    assert hoped(counts, rewards, radius)[0] == pytest.approx(best, abs=PRECISION)


def test_with_a_radius_of_zero_it_is_the_known_model():
    counts = np.random.default_rng(3).integers(1, 9, size=(5, 2, 5)).astype(float)
    rewards = np.random.default_rng(4).random((5, 2))
    gain, chosen = hoped(counts, rewards, np.zeros((5, 2)))
    known, same, _ = planned(counts / counts.sum(axis=2, keepdims=True), rewards)
    assert gain == pytest.approx(known, abs=2 * PRECISION)
    assert chosen.tolist() == same.tolist()


def test_a_pair_never_visited_may_lead_anywhere():
    counts, rewards = np.zeros((3, 2, 3)), np.array([[0.1, 0.2], [0.3, 0.1], [0.9, 0.8]])
    counts[:, 0] = np.eye(3)
    gain, chosen = hoped(counts, rewards, np.zeros((3, 2)))
    assert gain == pytest.approx(0.9, abs=PRECISION)
    assert chosen.tolist() == [1, 1, 0]


def test_ties_go_to_what_was_visited_least():
    counts = np.zeros((1, 3, 1))
    counts[0, :, 0] = [4, 2, 2]
    assert hoped(counts, np.ones((1, 3)), np.ones((1, 3)))[1].tolist() == [1]


def test_arranging_sorts():
    for seed in range(20):
        v = np.random.default_rng(seed).integers(0, 9, size=12) / 4
        order = np.random.default_rng(seed).permutation(12)
        arrange(order, v)
        assert v[order].tolist() == sorted(v, reverse=True)
        assert sorted(order) == list(range(12))
