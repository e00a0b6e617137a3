"""Exponents of regret: of curves whose exponent is known, and of runs."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.paper import rates
from everlearn.paper.rates import exponent, rate, steepest
from tests.few import few

TIMES = np.geomspace(1e3, 1e6, 30)


@pytest.mark.parametrize("power", few([0.0, 0.5, 2 / 3, 0.8, 1.0], [0.0, 0.5]))
def test_a_known_exponent_lies_in_its_interval(power):
    random = np.random.default_rng(1)
    fitted = exponent(TIMES, 5 * TIMES**power * random.lognormal(0, 0.1, (20, 1)))
    assert fitted.exponent == pytest.approx(power, abs=1e-9)
    noisy = exponent(TIMES, 5 * TIMES**power * random.lognormal(0, 0.3, (20, 30)))
    assert noisy.low <= noisy.exponent <= noisy.high
    assert noisy.exponent == pytest.approx(power, abs=0.1)


def test_regret_below_one_has_its_exponent_too():
    times = np.geomspace(1e3, 1e6, 20)
    assert exponent(times, 1e-3 * times[None] ** 0.6).exponent == pytest.approx(0.6)


def test_times_without_regret_are_left_out():
    times = np.geomspace(1e3, 1e6, 20)
    regret = times**0.6
    regret[:5] = -1.0
    assert exponent(times, regret[None]).exponent == pytest.approx(0.6)
    assert exponent(times, -regret[None]).exponent == 0.0


def test_one_run_has_no_interval():
    fitted = exponent(TIMES, TIMES[None, :] ** 0.5)
    assert fitted.low == fitted.high == fitted.exponent
    assert np.isnan(fitted.standard_error)


def test_a_fixed_policy_that_is_not_optimal_has_linear_regret():
    fitted = rate("riverswim", "always", steps=20_000, runs=3, seed=1)
    assert fitted.exponent == pytest.approx(1.0, abs=0.05)


def test_a_search_without_time_tries_one_world():
    ((world, fitted),) = steepest("always", seconds=0, steps=2000, runs=2, seed=1)
    assert set(world) == {"states", "actions", "seed", "branching"}
    assert np.isfinite(fitted.exponent)


def test_the_fit_begins_at_the_step_that_is_asked_for(monkeypatch):
    """Regret grows as T up to step 1,000 and as the square root of T from there on."""
    times = np.geomspace(1, 1e5, 51)
    bent = np.where(times < 1000, times, np.sqrt(1000 * times))
    monkeypatch.setattr(rates, "regret_curves", lambda *_a, **_k: (times, bent[None, :]))
    assert rate("", steps=10**5, runs=1, seed=0, since=1000).exponent == pytest.approx(0.5)
    assert rate("", steps=10**5, runs=1, seed=0, since=1).exponent > 0.7
