"""The reward averaging time against its definition, by brute force over T."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.policies import policy_table
from everlearn.theory import averaging
from everlearn.theory.averaging import averaging_time
from everlearn.theory.pairs import tabulate
from tests.few import few
from tests.theory.dense import alternation, block_diagonal, chain, cycle, limit, random_policy, station, under
from tests.worlds import random_mdp


def brute_force(P, r, steps: int) -> float:
    """The greatest |sum of T expected rewards - T gain| over starts, and over T up to ``steps``."""
    excess = r - limit(P) @ r
    total, greatest = np.zeros(len(r)), 0.0
    for _ in range(steps):
        total, excess = total + excess, P @ excess
        greatest = max(greatest, np.abs(total).max())
    return greatest


def only_action(P, r, start: int = 0):
    return tabulate(el.mdp([P], np.array(r, dtype=float)[:, None], start=start))


def of_only_action(P, r, start: int = 0):
    pairs = only_action(P, r, start)
    return averaging_time(pairs.chain(np.ones((pairs.size, 1))))


@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0.15, 3))
@settings(max_examples=40)
def test_brute_force_over_random_chains(seed, size, evenness):
    random = np.random.default_rng(seed)
    P = 0.95 * random.dirichlet(np.full(size, evenness), size=size) + 0.05 / size
    found, expected = averaging_time(chain(P, r := random.random(size))), brute_force(P, r, 1500)
    assert found.value - 1e-10 <= expected <= found.value + found.error + 1e-10
    assert found.error < 1e-9


@pytest.mark.parametrize("seed", few(range(6), range(2)))
def test_brute_force_over_random_tasks_and_policies(seed):
    pairs = tabulate(random_mdp(seed, scale=5, low=-2))
    policy = random_policy(seed, pairs.size, 3)
    assert averaging_time(pairs.chain(policy)).value == pytest.approx(
        brute_force(*under(pairs, policy), 3000), abs=1e-9
    )


@pytest.mark.parametrize("seed", few(range(6), range(2)))
def test_brute_force_over_periodic_chains_behind_transient_ones(seed):
    """Four transient states lead into a cycle of three with random rewards."""
    random = np.random.default_rng(seed)
    P = np.zeros((7, 7))
    P[:4] = random.dirichlet(np.ones(7), size=4)
    P[4:, 4:] = cycle(3)
    r = random.random(7)
    assert of_only_action(P, r).value == pytest.approx(brute_force(P, r, 2000), abs=1e-10)


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [([1, 0], 1 / 2), ([1, 0, 0], 2 / 3), ([1, 1, 0, 0], 1), ([1, 0, 1, 0], 1 / 2), ([3, 3, 3], 0)],
    ids=["two", "three", "four", "two-twice", "constant"],
)
def test_cycles_by_hand(rewards, expected):
    found = of_only_action(cycle(len(rewards)), rewards)
    assert found.value == pytest.approx(expected, abs=1e-11)
    assert found.error <= 1e-11


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.9, 0.8), (1e-3, 3e-3)], ids=str)
def test_two_states_by_hand(p, q):
    """x_T is, from either start, its share of (1 - (1 - p - q)^T) / (p + q): greatest at T = 1 or in the limit."""
    expected = max(p, q) / (p + q) ** 2 * max(1.0, p + q)
    found = of_only_action([[1 - p, p], [q, 1 - q]], [1, 0])
    assert found.value <= expected + 1e-9
    assert found.value + found.error >= expected - 1e-9


def test_a_path_that_pays_late_by_hand():
    """Five steps for nothing before a reward of 1 for ever: all five are missed."""
    P = np.eye(6, k=1)
    P[5, 5] = 1
    assert of_only_action(P, [0, 0, 0, 0, 0, 1]) == pytest.approx((5.0, 0.0), abs=1e-12)


def test_a_transient_start_that_waits_by_hand():
    """Nothing while waiting, two steps on average; then 1 for ever."""
    found = of_only_action([[0.5, 0.5], [0, 1]], [0, 1])
    assert found.value == pytest.approx(2, abs=1e-11)
    assert found.value + found.error >= 2 - 1e-12


def test_it_is_infinite_where_the_average_depends_on_the_start():
    assert of_only_action([[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]], [0, 0, 1]).value == np.inf


def test_it_is_infinite_where_some_history_leads_to_another_average():
    """The policy never leaves state 0, but a history can."""
    pairs = tabulate(el.mdp([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], [[1, 0], [0, 0]]))
    assert averaging_time(pairs.chain(np.array([[1.0, 0.0], [1.0, 0.0]]))).value == np.inf
    assert averaging_time(pairs.chain(np.array([[0.0, 1.0], [1.0, 0.0]]))).value == pytest.approx(0, abs=1e-12)


def test_classes_with_one_gain_and_different_periods():
    """Cycles of 2 and 4 that both pay half the time, reached from one start."""
    P = np.zeros((7, 7))
    P[0, [1, 3]] = 0.5
    P[1:, 1:] = block_diagonal(cycle(2), cycle(4))
    r = np.array([0.5, 1, 0, 1, 1, 0, 0])
    assert of_only_action(P, r).value == pytest.approx(brute_force(P, r, 100), abs=1e-12) == 1.0


@pytest.mark.parametrize("scale", [0.1, 7.0])
def test_it_scales_with_rewards_and_ignores_a_shift(scale):
    P, r = np.random.default_rng(5).dirichlet(np.ones(4), size=4), np.array([0.0, 0.2, 0.9, 0.4])
    base = of_only_action(P, r).value
    assert of_only_action(P, scale * r - 3).value == pytest.approx(scale * base, rel=1e-9)


def test_a_slow_chain_within_its_error():
    """Switching with probability 1/1,000 a step, 1 against 0: 250 in the limit."""
    found = of_only_action([[0.999, 0.001], [0.001, 0.999]], [1, 0])
    assert found.value <= 250 + 1e-8
    assert found.value + found.error >= 250 - 1e-8


def test_too_few_steps_leave_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr(averaging, "STEPS", 5)
    found = averaging_time(chain([[0.99, 0.01], [0.01, 0.99]], [1.0, 0.0]))
    assert found.value < 25 - 1
    assert found.value + found.error >= 25 - 1e-9


def test_a_cycle_longer_than_the_steps_allowed_leaves_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr(averaging, "STEPS", 5)
    found = averaging_time(chain(cycle(30), [1.0] * 15 + [0.0] * 15))
    assert found.value + found.error >= 7.5


@pytest.mark.soak
def test_always_fast_at_the_station():
    pairs = station()
    found = averaging_time(pairs.chain(pairs.policy(policy_table(pairs.task, "fast"))))
    assert found.value == pytest.approx(54.45, abs=0.005)
    assert found.error < 1e-6


def swum(states: int) -> tuple[Fraction, Fraction]:
    """The span of the bias of always swimming right, and its averaging time, in fractions.

    In balance, what goes up between two neighbours goes down: that gives the weights x and the gain g.  The bias rises
    by d_0 = g / up_0 at the left end and by d_s = (g + down_s d_{s-1}) / up_s after it.  From the left end P^T h only
    rises, to its mean x h; that is the furthest from any h, so that the averaging time is x h - h_0.
    """
    up = [Fraction(3, 5)] + [Fraction(7, 20)] * (states - 2)
    down = [Fraction(1, 20)] * (states - 2) + [Fraction(2, 5)]
    weights = [Fraction(1)]
    for rise, fall in zip(up, down, strict=True):
        weights.append(weights[-1] * rise / fall)
    total = sum(weights)
    gain, values, rise = weights[-1] / total, [Fraction(0)], Fraction(0)
    for state in range(states - 1):
        rise = (gain + (down[state - 1] * rise if state else 0)) / up[state]
        values.append(values[-1] + rise)
    mean = sum(weight * value for weight, value in zip(weights, values, strict=True)) / total
    return values[-1], mean


@pytest.mark.parametrize("states", [6, 20, 50, 200])
def test_a_long_river_in_fractions(states):
    """From 20 states on, the left end is visited once in more steps than doubles can count."""
    span, limit_time = swum(states)
    theory = el.Theory("riverswim", {"states": states})
    found = theory.averaging_time("right")
    assert theory.optimum.certified
    assert theory.optimum.span == pytest.approx(float(span), rel=1e-11)
    assert abs(Fraction(found.value) - limit_time) <= Fraction(found.error)
    assert found.error <= 1e-12 * states**2


def test_randomised_doors_against_brute_force():
    pairs = tabulate(alternation(0.5))
    policy = pairs.policy(np.array([[0.7, 0.3]]))
    assert averaging_time(pairs.chain(policy)).value == pytest.approx(
        brute_force(*under(pairs, policy), 2000), abs=1e-10
    )
