"""Diameter and gaps, by hand and by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.theory.diameter import diameter, gaps
from everlearn.theory.optimum import optimum
from everlearn.theory.pairs import Pairs, tabulate
from tests.worlds import random_mdp


def brute_force(pairs: Pairs) -> float:
    """The greatest over targets and starts of the least expected time, over all deterministic policies."""
    matrices, worst = [transition.toarray() for transition in pairs.transitions], 0.0
    for target in range(pairs.size):
        least = np.full(pairs.size, np.inf)
        for choice in product(range(len(matrices)), repeat=pairs.size):
            chosen = np.array([matrices[action][pair] for pair, action in enumerate(choice)])
            chosen[target] = chosen[:, target] = 0.0
            times = np.linalg.solve(np.eye(pairs.size) - chosen, np.ones(pairs.size))
            least = np.minimum(least, np.delete(np.append(times, 0.0), -1))
        worst = max(worst, float(np.delete(least, target).max()))
    return worst


@pytest.mark.parametrize("seed", range(4))
def test_the_diameter_is_that_of_brute_force(seed):
    pairs = tabulate(random_mdp(seed, states=4, actions=2))
    assert diameter(pairs) == pytest.approx(brute_force(pairs), rel=1e-9)


def test_a_corridor_is_as_wide_as_it_is_long():
    right, left = np.eye(5, k=1), np.eye(5, k=-1)
    right[4, 4] = left[0, 0] = 1
    assert diameter(tabulate(el.mdp([left, right], np.zeros((5, 2)), reward_range=(0, 1)))) == pytest.approx(4)


def test_what_cannot_be_reached_is_infinitely_far():
    trap = [[0.0, 1.0], [0.0, 1.0]]
    assert diameter(tabulate(el.mdp([trap], [[0], [1]]))) == np.inf


def test_large_tasks_are_refused():
    with pytest.raises(InputError, match="at most 500 pairs"):
        diameter(tabulate(el.mdp([np.roll(np.eye(600), 1, axis=1)], np.zeros((600, 1)), reward_range=(0, 1))))


@pytest.mark.parametrize("seed", range(4))
def test_gaps_are_what_an_action_costs(seed):
    pairs = tabulate(random_mdp(seed, states=6, actions=3))
    best = optimum(pairs)
    found = gaps(pairs, best)
    assert found.min(axis=0) == pytest.approx(np.zeros(pairs.size), abs=1e-9)
    for action, transition in enumerate(pairs.transitions):
        expected = best.average_reward + best.bias - pairs.rewards[action] - transition @ best.bias
        assert found[action] == pytest.approx(expected, abs=1e-8)
