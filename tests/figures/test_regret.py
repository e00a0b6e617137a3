"""Realized regret and bounds on one figure."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.figures.regret import regret_and_bounds
from everlearn.theory.bounds import discounted_regret


@pytest.fixture(scope="module")
def result() -> el.Result:
    return el.run("service-station", steps=2000, runs=3, seed=1)


def bound(steps: float):
    return discounted_regret(steps, pairs=4, horizon=2, averaging_time=1, distortion=0)


def test_it_draws_what_was_realized_what_is_promised_and_the_most_there_can_be(result):
    axes = regret_and_bounds(result, 0.5, {"theorem": bound}, width=1.5)
    realized, promised, most = (line.get_ydata() for line in axes.get_lines())
    assert realized[-1] == pytest.approx(el.regret(result, 0.5).mean[-1])
    assert promised[-1] == pytest.approx(bound(2000).value)
    assert most[-1] == pytest.approx(3000)


def test_what_is_not_positive_is_left_out(result):
    axes = regret_and_bounds(result, 0.0, {})
    assert np.isnan(axes.get_lines()[0].get_ydata()[-1])
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_one_run_has_no_band():
    axes = regret_and_bounds(el.run("service-station", steps=50), 0.5, {"theorem": bound})
    assert not axes.collections
