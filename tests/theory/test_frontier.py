"""The frontier: every policy lies under its upper bound, every point is attained, and the two meet at the optimum."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import everlearn as el
from tests.few import few
from tests.worlds import random_mdp


@pytest.fixture(scope="module")
def river() -> el.Theory:
    return el.Theory("riverswim")


def random_policies(theory: el.Theory, number: int, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    shape = len(theory.task.states), len(theory.task.actions)
    mixed = [random.dirichlet(np.full(shape[1], 0.3), size=shape[0]) for _ in range(number // 2)]
    return mixed + [np.eye(shape[1])[random.integers(shape[1], size=shape[0])] for _ in range(number - number // 2)]


@pytest.mark.parametrize("seed", few(range(20), [0, 1]))
def test_no_policy_exceeds_the_upper_bound(seed):
    theory = el.Theory(random_mdp(seed, states=3, actions=2))
    for policy in random_policies(theory, 20, seed):
        found = theory.policy(policy)
        tau = found.averaging_time
        assert found.average_reward <= theory.frontier.at(tau.value + tau.error).upper + found.error


def test_every_point_is_a_policy_and_they_rise(river):
    points = river.frontier.points
    for point in points:
        assert river.average_reward(point.policy) == point.average_reward
        assert river.frontier.at(point.averaging_time + point.error).lower == point.average_reward
        assert river.averaging_time(point.policy).value == point.averaging_time
    assert [p.average_reward for p in points] == sorted(p.average_reward for p in points)
    assert [p.averaging_time for p in points] == sorted(p.averaging_time for p in points)


def test_the_bracket_grows_with_tau_and_closes_at_the_optimum(river):
    brackets = [river.frontier.at(tau) for tau in np.linspace(0, 8, 40)]
    assert all(bracket.lower <= bracket.upper for bracket in brackets)
    for one, other in pairwise(brackets):
        assert one.lower <= other.lower
        assert one.upper <= other.upper
    tau = river.optimal_averaging_time
    closed = river.frontier.at(tau.value + tau.error)
    assert closed.upper - closed.lower < 1e-8
    assert closed.lower == pytest.approx(river.optimal_average_reward, abs=1e-9)


def test_it_is_the_best_of_all_deterministic_policies_at_least(river):
    for tau in (0.5, 3.0, 5.2):
        best = max(policy.average_reward for policy in river.reference_class(tau).values())
        assert river.frontier.at(tau).lower >= best - 1e-12


def test_with_many_policies_the_class_is_not_empty():
    theory = el.Theory("garnet", {"states": 8, "actions": 3, "seed": 1})
    assert len(theory.reference_class(1e9)) > 3
    tau = theory.optimal_averaging_time
    lower, upper = theory.frontier.at(tau.value + tau.error)
    assert lower == pytest.approx(theory.optimal_average_reward, abs=1e-8)
    assert upper - lower < 1e-8


@pytest.mark.soak
def test_a_hidden_task_starts_from_the_empty_history():
    theory = el.Theory("t-maze", {"window": 1, "length": 2})
    lower, upper = theory.frontier.at(10.0)
    assert lower <= theory.clairvoyant.upper
    assert lower <= upper


def test_it_is_json_in_both_units():
    rows = el.Theory("service-station", {"cap": 2}).frontier_to_list()
    keys = ["averaging_time", "error", "lower", "upper", "policy", "randomised", "distortion", "learner"]
    assert all(list(row) == keys for row in rows)
    for row in rows:
        assert row["learner"]["averaging_time"] == pytest.approx(row["averaging_time"] / 1.5)
        assert row["learner"]["lower"] == pytest.approx((row["lower"] + 0.5) / 1.5)
