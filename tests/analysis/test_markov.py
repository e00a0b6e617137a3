"""The tests of the Markov property: rarely wrong where it holds, and sure where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.analysis.markov import halves_test, previous_state_test
from everlearn.analysis.off_policy import estimate
from everlearn.durable.transitions import Transitions
from tests.analysis.logged import World, driven
from tests.worlds import random_mdp

HALF = np.full((2, 2), 0.5)


def followed(chance, steps: int = 3000, seed: int = 0) -> Transitions:
    """Transitions between two states by random actions; ``chance(step, before, state, action)`` is that of state 1."""
    random = np.random.default_rng(seed)
    before = state = 0
    rows = []
    for step in range(steps):
        action = int(random.integers(2))
        following = int(random.random() < chance(step, before, state, action))
        rows.append((state, action, following))
        before, state = state, following
    states, actions, ends = (np.array(column) for column in zip(*rows, strict=True))
    return Transitions(states, actions, ends, ends * 1.0, ends)


def p_values(data: Transitions, policy=HALF) -> tuple[float, float]:
    residuals = estimate(data, policy).residuals
    return previous_state_test(data, residuals), halves_test(data, residuals)


def test_p_values_are_uniform_where_the_property_holds():
    """Of 200 p-values a tenth are below 0.1; the margin is four standard errors, 8.5 percent."""
    found = np.array(
        [p_values(followed(lambda _t, _b, s, a: 0.2 + 0.3 * s + 0.3 * a, 500, seed)) for seed in range(100)]
    )
    assert np.mean(found < 0.1) == pytest.approx(0.1, abs=0.085)
    assert found.min() > 1e-5


def test_they_hold_for_data_of_a_learning_agent():
    task = random_mdp(1, states=3, actions=2)
    assert sorted(pair for pair in World(task).theory.pairs.states) == [0, 1, 2]
    for data in driven(task, 1000, 3):
        assert min(p_values(data, np.full((3, 2), 0.5))) > 0.001


def test_the_state_before_matters():
    first, second = p_values(followed(lambda _t, before, _s, _a: 0.3 + 0.4 * before))
    assert first < 1e-10
    assert second > 1e-5


def test_the_environment_changes():
    first, second = p_values(followed(lambda step, _b, _s, _a: 0.3 if step < 1500 else 0.6))
    assert second < 1e-10
    assert first > second


def test_a_jump_is_no_transition():
    """After an import the agent is elsewhere: what came before is not the state before."""
    data = followed(lambda _t, before, _s, _a: 0.3 + 0.4 * before)
    apart = data._replace(following=1 - data.following)
    assert previous_state_test(apart, estimate(data, HALF).residuals) == 1.0


def test_what_is_certain_or_rare_tells_nothing():
    certain = followed(lambda _t, _b, s, _a: 1 - s)
    assert p_values(certain) == (1.0, 1.0)
    assert p_values(followed(lambda _t, _b, _s, _a: 0.5, steps=12)) == (1.0, 1.0)
    assert p_values(followed(lambda _t, _b, _s, _a: 0.5, steps=1)) == (1.0, 1.0)
