"""Scores and their intervals, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from everlearn.tuning.scores import difference, estimate, score

RANDOM = np.random.default_rng(5)
ONE, OTHER = RANDOM.normal(0.3, 0.1, 200), RANDOM.normal(0.5, 0.1, 200)


def half_width(values):
    return 1.959964 * values.std() / math.sqrt(values.size)


def test_of_one_task_it_is_the_interval_of_the_mean():
    found = estimate({"a": ONE}, "mean")
    assert found.mean == pytest.approx(ONE.mean(), abs=1e-15)
    # Of 200 values the normal approximation is good to a few percent, and 2,000 resamples are to some three.
    assert found.high - found.mean == pytest.approx(half_width(ONE), rel=0.12)
    assert found.mean - found.low == pytest.approx(half_width(ONE), rel=0.12)


def test_tasks_that_share_their_luck_are_resampled_together():
    # Were they taken for independent, the interval would be narrower by the square root of two.
    same = estimate({"a": ONE, "b": ONE}, "mean")
    assert (same.low, same.high) == pytest.approx(estimate({"a": ONE}, "mean")[1:], abs=1e-12)
    opposed = estimate({"a": ONE, "b": 1 - ONE}, "mean")
    assert opposed == pytest.approx((0.5, 0.5, 0.5), abs=1e-12)


def test_the_mean_over_tasks_weighs_tasks_and_not_units():
    assert score({"a": np.zeros(90), "b": np.ones(10)}, "mean") == 0.5
    found = estimate({"a": np.zeros(90), "b": np.array([0.0, 1.0] * 5)}, "mean")
    assert 0 <= found.low < 0.25 < found.high <= 0.5


def test_the_worst_task_counts():
    found = estimate({"a": ONE, "b": OTHER}, "worst")
    assert found.mean == OTHER.mean()
    # Forty standard errors apart, the larger mean is always that of b.
    assert found[1:] == estimate({"b": OTHER}, "mean")[1:]


def test_differences_are_of_pairs():
    assert difference({"a": ONE + 0.125}, {"a": ONE}, "mean") == pytest.approx((0.125, 0.125, 0.125), abs=1e-12)
    apart = difference({"a": ONE}, {"a": OTHER}, "mean")
    assert apart.high - apart.mean == pytest.approx(half_width(ONE - OTHER), rel=0.12)


def test_a_single_unit_has_no_interval():
    assert estimate({"a": ONE, "b": np.array([0.5])}, "mean")[1:] == (None, None)
    assert difference({"a": np.array([1.0])}, {"a": np.array([0.5])}, "mean") == (0.5, None, None)
