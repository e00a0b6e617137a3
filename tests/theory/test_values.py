"""Discounted values by three methods and by dense solves, and the lemmas that the paper proves about them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import InputError
from everlearn.theory.averaging import averaging_time
from everlearn.theory.pairs import tabulate
from everlearn.theory.values import action_values, discount_of, optimal_values, policy_values
from tests.refusal import refusal
from tests.theory.dense import (
    bellman,
    best_values,
    linear_program,
    matrices,
    random_coarse,
    random_policy,
    station,
    value_iteration,
    values,
)
from tests.worlds import random_mdp

DISCOUNTS = [0.0, 0.5, 0.95, 0.999]
WORLDS = {
    "mdp": lambda: random_mdp(1),
    "negative": lambda: random_mdp(2, scale=4.0, low=-3.0),
    "coarse": lambda: random_coarse(4),
    "periodic": lambda: el.mdp([[[0, 1], [1, 0]], [[0, 1], [1, 0]]], [[0, 0.3], [1, 0.2]]),
    "multichain": lambda: el.mdp([[[0, 1, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1], [0, 1, 0], [0, 0, 1]]], [[1, 0]] * 3),
}
worlds = pytest.mark.parametrize("world", WORLDS)
discounts = pytest.mark.parametrize("discount", DISCOUNTS)


def random_pairs(seed: int):
    return tabulate(random_mdp(seed) if seed % 2 else random_coarse(seed))


@worlds
@discounts
def test_values_of_a_policy_agree_with_a_dense_solve(world, discount):
    pairs = tabulate(WORLDS[world]())
    policy = random_policy(3, pairs.size, len(pairs.transitions))
    found, truth = policy_values(pairs, policy, discount), values(pairs, policy, discount)
    slack = 1e-13 / (1 - discount) ** 2
    assert np.abs(found.V - truth).max() <= found.error + slack
    np.testing.assert_allclose(found.Q, pairs.rewards + discount * matrices(pairs) @ truth, atol=found.error + slack)
    np.testing.assert_allclose((policy.T * found.Q).sum(axis=0), found.V, atol=2 * found.error)


@worlds
@discounts
def test_optimal_values_are_the_greatest_of_any_policy(world, discount):
    pairs = tabulate(WORLDS[world]())
    found, truth = optimal_values(pairs, discount), best_values(pairs, discount)
    slack = 1e-13 / (1 - discount) ** 2
    assert np.abs(found.V - truth).max() <= found.error + slack
    assert found.error <= 1e-8
    np.testing.assert_allclose(found.Q, pairs.rewards + discount * matrices(pairs) @ truth, atol=1e-8)
    np.testing.assert_allclose(values(pairs, found.policy, discount), truth, atol=1e-8)


@worlds
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.98])
def test_three_methods_agree(world, discount):
    pairs = tabulate(WORLDS[world]())
    found = optimal_values(pairs, discount)
    np.testing.assert_allclose(value_iteration(pairs, discount), found.V, atol=1e-9)
    np.testing.assert_allclose(linear_program(pairs, discount), found.V, rtol=1e-6, atol=1e-6)


@discounts
def test_optimal_values_are_a_fixed_point_and_the_only_one(discount):
    """From anywhere, iteration leads to the same values (``lemma:bellman``)."""
    pairs = tabulate(random_mdp(6))
    found = optimal_values(pairs, discount)
    np.testing.assert_allclose(bellman(pairs, found.V, discount), found.V, atol=found.error + 1e-12)
    far = found.V + 100 * np.random.default_rng(1).normal(size=pairs.size)
    for _ in range(200):
        before, far = np.abs(far - found.V).max(), bellman(pairs, far, discount)
        assert np.abs(far - found.V).max() <= discount * before + 1e-9
    assert np.abs(far - found.V).max() <= 400 * discount**200 + 1e-8


@given(st.integers(0, 10**4), st.floats(0, 0.999), st.floats(-5, 5))
@settings(max_examples=40)
def test_the_bellman_operator_is_monotone_and_shifts(seed, discount, shift):
    pairs, random = random_pairs(seed), np.random.default_rng(seed)
    low = random.normal(size=pairs.size)
    high = low + random.random(pairs.size) * (random.random(pairs.size) < 0.5)
    assert (bellman(pairs, high, discount) >= bellman(pairs, low, discount) - 1e-14).all()
    shifted = bellman(pairs, low + shift, discount)
    np.testing.assert_allclose(shifted, bellman(pairs, low, discount) + discount * shift, atol=1e-12)


@given(st.integers(0, 10**4), st.sampled_from([0.0, 0.3, 0.9, 0.99, 0.9999]))
@settings(max_examples=40)
def test_values_are_within_the_averaging_time_of_the_average(seed, discount):
    """|V_pi - lambda_pi / (1 - gamma)| <= tau_pi from every pair (``lemma:mixing-time``)."""
    pairs = random_pairs(seed)
    policy = random_policy(seed, pairs.size, len(pairs.transitions))
    chain = pairs.chain(policy)
    tau, gain = averaging_time(chain), chain.gain[pairs.start]
    gap = np.abs(values(pairs, policy, discount) - gain / (1 - discount)).max()
    assert gap <= tau.value + tau.error + 1e-11 / (1 - discount)


@given(st.integers(0, 10**4), st.floats(0, 0.995), st.floats(0, 0.995))
@settings(max_examples=40)
def test_optimistic_values_stay_so_as_the_horizon_grows(seed, one, other):
    """Q_* - 1 / (1 - gamma) does not increase in gamma, for rewards in [0, 1] (``lemma:q-init-condition``)."""
    pairs, (short, long) = random_pairs(seed), sorted((one, other))
    before = optimal_values(pairs, short).Q - 1 / (1 - short)
    after = optimal_values(pairs, long).Q - 1 / (1 - long)
    assert (before >= after - 1e-9).all()


def test_optimism_may_be_lost_where_rewards_exceed_one():
    """So the lemma before is about [0, 1], and the test of it can fail."""
    pairs = tabulate(random_mdp(1, low=1.0))
    before, after = optimal_values(pairs, 0.5).Q - 2, optimal_values(pairs, 0.9).Q - 10
    assert (before < after).all()


@pytest.mark.parametrize(("horizon", "discount"), [(1, 0.0), (2, 0.5), (10, 0.9), (1e6, 1 - 1e-6)], ids=str)
def test_the_discount_of_a_horizon(horizon, discount):
    assert discount_of(horizon) == pytest.approx(discount, abs=1e-16)


@pytest.mark.parametrize("horizon", [0.5, -1, np.inf, np.nan], ids=str)
def test_a_horizon_of_less_than_one_or_without_end_is_refused(horizon):
    with pytest.raises(InputError, check=refusal("horizon")):
        discount_of(horizon)


def test_stay_or_go_by_hand():
    """Going from 0 to 1 costs a step without reward; staying at 1 earns 1: V = (gamma, 1) / (1 - gamma)."""
    pairs = tabulate(el.mdp([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0.05, 0], [1, 0]], reward_range=(0, 1)))
    found = optimal_values(pairs, 0.9)
    np.testing.assert_allclose(found.V, [9, 10], atol=1e-11)
    np.testing.assert_allclose(found.Q, [[0.05 + 8.1, 10], [9, 8.1]], atol=1e-11)
    assert found.policy.tolist() == [[0, 1], [1, 0]]


def test_values_of_no_future_are_rewards():
    pairs = tabulate(random_mdp(2))
    np.testing.assert_array_equal(action_values(pairs, np.full(pairs.size, 1e9), 0.0), pairs.rewards)


def test_two_methods_agree_at_the_station():
    pairs = station(3)
    found = optimal_values(pairs, 0.9)
    np.testing.assert_allclose(value_iteration(pairs, 0.9), found.V, atol=1e-10)
    assert found.V[pairs.start] == pytest.approx(5.5, abs=1e-6)
