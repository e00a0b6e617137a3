"""The lemma on learning rates (Appendix C.2): it holds for a fixed horizon, and its part (c) for no growing one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.agents.growing_horizon import step_size
from everlearn.agents.schedule import smooth

ROUNDING = 1e-10

horizons = st.one_of(st.integers(1, 200).map(float), st.floats(1, 200))


def weights(k: int, tau: float) -> np.ndarray:
    """alpha_k^1, ..., alpha_k^k: what each of k updates weighs after the last."""
    alpha = np.array([step_size(i, tau) for i in range(1, k + 1)])
    remaining = np.append(np.cumprod((1 - alpha)[:0:-1])[::-1], 1.0)
    return alpha * remaining


def check_parts_a_and_b(tau: float, k: int) -> None:
    weight = weights(k, tau)
    bonus = float((weight / np.sqrt(np.arange(1, k + 1))).sum())
    assert 1 - ROUNDING <= bonus * np.sqrt(k) <= 2 + ROUNDING
    assert weight.max() <= 4 * tau / k + ROUNDING
    assert (weight**2).sum() <= 4 * tau / k + ROUNDING
    assert weight.sum() == pytest.approx(1, abs=ROUNDING)


@given(tau=horizons, k=st.integers(1, 400))
def test_parts_a_and_b(tau, k):
    check_parts_a_and_b(tau, k)


@pytest.mark.soak
@settings(max_examples=3000)
@given(tau=horizons, k=st.integers(1, 20_000))
def test_parts_a_and_b_for_long(tau, k):
    check_parts_a_and_b(tau, k)


def influence(i: int, terms: int, horizon: Callable[[int], float]) -> float:
    """alpha_i^i + ... + alpha_{i+terms}^i: what update i weighs, summed over the counts that follow."""
    weight = total = step_size(i, horizon(i))
    for k in range(i + 1, i + terms + 1):
        weight *= 1 - step_size(k, horizon(k))
        total += weight
    return total


def tail(i: int, terms: int, tau: float) -> float:
    """The rest of that sum, exact: alpha_i times the remainder of the telescoping sum with a = i, b = 2 tau + i."""
    j = np.arange(1, terms + 1)
    return step_size(i, tau) * i / (2 * tau) * float(np.prod((i + j) / (2 * tau + i + j)))


def check_part_c(tau: float, i: int, terms: int) -> None:
    total = influence(i, terms, lambda _: tau) + tail(i, terms, tau)
    assert total == pytest.approx(1 + 1 / (2 * tau), rel=ROUNDING)


@given(tau=horizons, i=st.integers(1, 300), terms=st.integers(0, 300))
def test_part_c(tau, i, terms):
    check_part_c(tau, i, terms)


@pytest.mark.soak
@settings(max_examples=3000)
@given(tau=horizons, i=st.integers(1, 10_000), terms=st.integers(0, 10_000))
def test_part_c_for_long(tau, i, terms):
    check_part_c(tau, i, terms)


@pytest.mark.parametrize(("i", "number"), [(1, 1.277725), (10, 1.165316), (100, 1.104264)])
def test_part_c_fails_where_the_horizon_grows_with_each_visit(i, number):
    horizon = smooth().horizon
    total = influence(i, 5000, horizon)  # what follows is below 1e-9: the weights fall like exp(-15 k^0.2)
    assert total == pytest.approx(number, abs=1e-6)
    assert total < 1 + 1 / (2 * horizon(i)) - 0.02


@pytest.mark.parametrize("tau", [1.0, 2.5, 10.0])
def test_first_step_size_is_one(tau):
    assert step_size(1, tau) == 1.0


def test_second_step_size_by_hand():
    assert step_size(2, 1.5) == 4 / 5
