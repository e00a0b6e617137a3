"""Distortion against optimal values by brute force, and its supremum over horizons."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.theory.distortion import distortion, distortion_limit, distortion_sup, spread
from everlearn.theory.pairs import tabulate
from tests.few import few
from tests.theory.dense import alternation, best_values, coarse, cycle, matrices, random_coarse, station
from tests.worlds import random_mdp

HORIZONS = [1, 1.5, 4, 30, 1000]


def brute_force(pairs, horizon: float) -> float:
    """The greatest difference of optimal action values between any two pairs with one aleatoric state."""
    Q = pairs.rewards + (1 - 1 / horizon) * matrices(pairs) @ best_values(pairs, 1 - 1 / horizon)
    same = pairs.states[:, None] == pairs.states[None, :]
    return float(max((np.abs(row[:, None] - row[None, :]) * same).max() for row in Q))


def action_value(pairs, horizon: float, memory, action) -> float:
    place = [number for number, label in enumerate(pairs.labels) if label[0] == memory]
    Q = pairs.rewards + (1 - 1 / horizon) * matrices(pairs) @ best_values(pairs, 1 - 1 / horizon)
    return float(Q[pairs.task.actions.index(action), place[0]])


def two_speeds(chance: float) -> el.Task:
    """One aleatoric state over two memories, which change with a given chance; arriving at 1 pays."""
    P = [[[1 - chance, chance], [chance, 1 - chance]]]
    return coarse(P, [[[0.0, 1.0]]], [0, 0])


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("seed", few(range(5), range(2)))
def test_it_is_the_greatest_difference_of_optimal_values(seed, horizon):
    pairs = tabulate(random_coarse(seed, memories=6))
    found, expected = distortion(pairs, horizon), brute_force(pairs, horizon)
    assert abs(found.value - expected) <= found.error + 1e-9
    assert expected > 0
    assert found.error < 1e-8


@pytest.mark.parametrize("seed", few(range(5), range(2)))
def test_the_memories_named_attain_it(seed):
    pairs = tabulate(random_coarse(seed))
    found = distortion(pairs, 20)
    high, low = (action_value(pairs, 20, memory, found.action) for memory in found.memories)
    assert high - low == pytest.approx(found.value, abs=1e-9)
    assert all((memory, found.aleatoric_state) in pairs.labels for memory in found.memories)


@pytest.mark.parametrize("horizon", HORIZONS)
def test_it_is_nothing_where_the_aleatoric_state_is_the_memory(horizon):
    pairs = tabulate(random_mdp(3))
    assert distortion(pairs, horizon).value == 0
    assert distortion_sup(pairs, horizon)[:1] == (0,)
    assert distortion_sup(pairs, horizon).certified


@pytest.mark.parametrize("horizon", [1, 2, 10, 100])
def test_two_speeds_by_hand(horizon):
    """Q differs by d = (1 - 2c) + gamma (1 - 2c) d."""
    pairs = tabulate(two_speeds(0.1))
    assert distortion(pairs, horizon).value == pytest.approx(0.8 / (1 - 0.8 * (1 - 1 / horizon)), abs=1e-12)


def test_two_speeds_have_their_supremum_in_the_limit():
    found = distortion_sup(tabulate(two_speeds(0.1)), 1)
    assert found.value == pytest.approx(4, abs=1e-4)
    assert found.limit == pytest.approx(4, abs=1e-4)


def test_an_action_paid_by_memory_is_off_by_all_its_pay_at_a_horizon_of_one():
    """Opening the right door pays 1, and the aleatoric state does not tell which that is."""
    found = distortion(tabulate(alternation()), 1)
    assert found.value == 1
    assert set(found.memories) == {0, 1}


@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_the_supremum_does_not_increase_with_the_horizon_and_exceeds_what_comes_later(seed):
    pairs = tabulate(random_coarse(seed))
    sups = [distortion_sup(pairs, horizon).value for horizon in (1, 8, 50)]
    assert (np.diff(sups) <= 1e-6).all()
    for horizon in np.geomspace(1, 1e5, 60):
        assert distortion(pairs, horizon).value <= sups[0] + 1e-4


def hump() -> el.Task:
    """Two memories alike to the agent: one pays at once, the other the same two steps later; then all is alike."""
    P = np.zeros((1, 6, 6))
    P[0, 0, [1, 2]] = 0.5
    P[0, 1, 3] = P[0, 2, 4] = P[0, 3, 5] = P[0, 4, 5] = P[0, 5, 0] = 1
    R = np.zeros((4, 1, 6))
    R[1, 0, 3], R[3, 0, 5] = 0.5, 1.0
    return coarse(P, R, [0, 1, 1, 2, 3, 0])


def test_the_supremum_is_found_where_brute_force_over_horizons_finds_it():
    """Memories 1 and 2 differ by 1/2 - gamma at once, and the limit is 1/2."""
    pairs = tabulate(hump())
    grid = [brute_force(pairs, horizon) for horizon in np.geomspace(1, 1e4, 200)]
    assert distortion_sup(pairs, 1).value == pytest.approx(max(grid), abs=1e-3)
    assert distortion_sup(pairs, 1).limit == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_the_limit_is_where_long_horizons_lead(seed):
    pairs = tabulate(random_coarse(seed))
    assert distortion_limit(pairs) == pytest.approx(brute_force(pairs, 1e5), abs=1e-3)


def two_ends(groups, pay: float) -> el.Task:
    """From 0, unpaid, to either of two ends: one pays 1/2 for ever, the other that and ``pay``."""
    P = [[[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]]]
    R = np.zeros((max(groups) + 1, 1, 3))
    R[1:, 0, 1], R[1:, 0, 2] = 0.5, 0.5 + pay
    return coarse(P, R, groups)


@pytest.mark.parametrize("pay", few([0.5, 1e-3, 1e-4], [1e-3]), ids=str)
def test_the_limit_is_infinite_where_gains_differ_within_an_aleatoric_state(pay):
    pairs = tabulate(two_ends([0, 1, 1], pay))
    assert distortion(pairs, 100).value == pytest.approx(100 * pay, rel=1e-9)
    assert distortion_limit(pairs) == np.inf
    assert distortion_sup(pairs, 1).value == np.inf


@pytest.mark.parametrize("pay", [0.5, 1e-4], ids=str)
def test_gains_that_the_aleatoric_state_tells_apart_distort_nothing(pay):
    pairs = tabulate(two_ends([0, 1, 2], pay))
    assert distortion(pairs, 1e5).value == 0
    assert distortion_limit(pairs) == 0
    assert distortion_sup(pairs, 1).value == 0


@pytest.mark.parametrize("chance", [1e-2, 1e-4], ids=str)
def test_the_limit_of_a_slow_chain_is_large_but_finite(chance):
    """It is (1 - 2c) / 2c."""
    assert distortion_limit(tabulate(two_speeds(chance))) == pytest.approx((1 - 2 * chance) / (2 * chance), rel=1e-2)


@pytest.mark.parametrize("horizon", [1, 1e3, 1e6, 1e8], ids=str)
def test_rounding_at_long_horizons_does_not_raise_the_supremum(horizon):
    """It is 4 from any horizon on, and never attained."""
    assert distortion_sup(tabulate(two_speeds(0.1)), horizon).value == pytest.approx(4, abs=2e-6)


def test_spread_looks_within_aleatoric_states_only():
    pairs = tabulate(coarse([cycle(4)], np.zeros((2, 1, 4)), [0, 1, 0, 1]))
    by_memory = dict(zip((label[0] for label in pairs.labels), range(4), strict=True))
    Q = np.zeros((1, 4))
    Q[0, [by_memory[memory] for memory in range(4)]] = [0.0, 10.0, 3.0, 11.0]
    assert spread(pairs, Q) == (3.0, 0, 0, by_memory[2], by_memory[0])


def test_the_station_at_a_horizon_of_ten():
    found = distortion(station(), 10)
    assert found.value == pytest.approx(4.57562979, abs=1e-8)
    assert found.error < 1e-9
    assert distortion(station(3), 10).value == pytest.approx(4.57562979, abs=3e-8)
