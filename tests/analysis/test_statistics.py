"""Intervals, bands and tables, against SciPy's other functions and closed forms."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from everlearn.analysis.measures import MEASURES
from everlearn.analysis.statistics import bands, interval, regret_table, summary
from everlearn.errors import InputError, UnknownName
from everlearn.results.arm import Arm
from tests.analysis.arms import made
from tests.few import few
from tests.refusal import refusal


def test_on_normal_data_it_agrees_with_student():
    values = np.random.default_rng(1).normal(3.0, 2.0, size=300)
    found = interval(values)
    expected = stats.t.interval(0.95, 299, values.mean(), stats.sem(values))
    # Within a tenth of the half-width.
    assert found == pytest.approx(expected, abs=0.1 * (expected[1] - expected[0]) / 2)


@pytest.mark.parametrize("confidence", few([0.8, 0.95], [0.95]))
def test_it_covers_the_mean_as_often_as_it_says(confidence):
    generator = np.random.default_rng(2)
    found = [interval(generator.normal(size=40), confidence) for _ in range(300)]
    share = np.mean([low <= 0 <= high for low, high in found])
    # Four standard errors of a share over 300, and 0.02 for the few units.
    assert abs(share - confidence) < 4 * math.sqrt(confidence * (1 - confidence) / 300) + 0.02


def test_skew_moves_it_to_the_side_of_the_tail():
    values = np.random.default_rng(3).exponential(size=60)
    low, high = interval(values)
    assert high - values.mean() > values.mean() - low


def test_the_same_data_give_the_same_interval_and_no_global_generator_is_touched():
    values = np.random.default_rng(4).normal(size=25)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - the one that must not be touched
    assert interval(values) == interval(values.copy())
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_one_unit_tells_nothing():
    assert all(map(math.isnan, interval(np.array([3.0]))))


def test_equal_units_have_no_width():
    assert interval(np.full(7, 0.1)) == (0.1, 0.1)


def test_where_bca_is_not_defined_ends_are_percentiles():
    values = np.array([1.0, 1.0 + 2e-16, 1.0])
    assert interval(values) == pytest.approx((1.0, 1.0))


def test_it_grows_with_confidence():
    values = np.random.default_rng(5).normal(size=30)
    narrow, wide = interval(values, 0.5), interval(values, 0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_a_confidence_that_is_none(confidence):
    with pytest.raises(InputError, check=refusal("confidence")):
        interval(np.arange(3.0), confidence)
    with pytest.raises(InputError, check=refusal("confidence")):
        bands(np.ones((2, 2)), confidence)


def test_bands_agree_with_the_percentile_bootstrap_of_scipy():
    table = np.random.default_rng(6).normal(size=(50, 3)) * [1.0, 2.0, 10.0]
    found = bands(table)
    for time, error in enumerate(stats.sem(table)):
        drawn = stats.bootstrap((table[:, time],), np.mean, method="percentile", rng=np.random.default_rng(0))
        expected = drawn.confidence_interval
        # The ends of 2,000 resamples differ by less than a fifth of a standard error.
        assert (found.low[time], found.high[time]) == pytest.approx(tuple(expected), abs=0.2 * error)


def test_the_same_units_are_drawn_at_all_times():
    column = np.random.default_rng(7).normal(size=(20, 1))
    low, high = bands(np.hstack([column, column, 2 * column + 1]))
    assert (low[0], high[0]) == (low[1], high[1])
    assert (low[2], high[2]) == pytest.approx((2 * low[0] + 1, 2 * high[0] + 1))


def test_bands_do_not_depend_on_how_many_resamples_are_held_at_a_time(monkeypatch):
    table = np.random.default_rng(8).normal(size=(20, 4))
    whole = bands(table)
    monkeypatch.setattr("everlearn.analysis.statistics.MOST_NUMBERS", 20 * 300)
    assert np.allclose(bands(table), whole, rtol=0, atol=1e-12)


def test_one_unit_has_no_band():
    assert np.isnan(bands(np.ones((1, 4)))).all()


KEYS = [
    *("task", "agent", "settings", "unit", "units", "steps", "measure"),
    *("mean", "standard_error", "low", "high", "confidence", "mean_upper"),
    *("min", "q05", "q25", "median", "q75", "q95", "max", "optimum", "optimum_upper"),
]


def test_a_summary_has_a_row_for_each_arm_and_measure():
    rates = np.random.default_rng(9).uniform(size=30)
    rows = summary([made(rates), made(rates + 1, agent="other", settings={"agent.phase": 2}, optimum=None)])
    assert [(row["agent"], row["measure"]) for row in rows] == [
        *(("smooth", name) for name in MEASURES),
        *(("other", name) for name in ("final", "late", "anytime")),
    ]
    assert all(list(row) == KEYS for row in rows)
    first = rows[0]
    assert first["mean"] == pytest.approx(rates.mean())
    assert first["standard_error"] == pytest.approx(stats.sem(rates))
    assert first["median"] == pytest.approx(np.median(rates))
    assert (first["min"], first["max"]) == pytest.approx((rates.min(), rates.max()))
    assert (first["low"], first["high"]) == interval(made(rates).average_reward[:, -1])
    assert (first["steps"], first["units"], first["optimum"], rows[-1]["optimum"]) == (1000, 30, 1.0, None)


def test_a_summary_is_what_json_can_hold():
    (row,) = summary([made([0.5])], ["final"])
    assert row["standard_error"] is row["low"] is row["high"] is None
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_a_summary_of_an_unknown_measure():
    with pytest.raises(UnknownName):
        summary([made([0.5])], ["best"])
    assert summary([]) == []


def test_regret_is_tabled_at_powers_of_ten_and_at_the_end():
    arm = made([0.5, 0.75], steps=2500)
    rows = regret_table([arm, made([1.0], optimum=None)])
    assert [row["time"] for row in rows] == [1, 10, 100, 1000, 2500]
    assert [row["mean"] for row in rows] == pytest.approx([0.375 * time for time in (1, 10, 100, 1000, 2500)])
    assert (rows[1]["low"], rows[1]["high"]) == pytest.approx((2.5, 5.0))


def test_regret_at_times_of_ones_own():
    arm = made([0.5, 0.75], steps=2500)
    assert [row["time"] for row in regret_table([arm], [100, 2])] == [100, 2]
    with pytest.raises(InputError, check=refusal("times", 12345)):
        regret_table([arm], [12345])


def test_members_of_a_family_have_an_optimum_each():
    arm = Arm("family", "smooth", {}, np.array([10]), np.array([[5.0], [8.0]]), np.array([0.5, 1.0]), unit="member")
    (row,) = regret_table([arm])
    assert (row["unit"], row["mean"]) == ("member", 1.0)
    assert summary([arm], ["relative regret"])[0]["max"] == pytest.approx(0.2)


def test_regret_against_bounds_is_an_interval():
    arm = made([0.5, 0.75], optimum=1.0, upper=1.5)
    (row,) = summary([arm], ["regret"])
    assert (row["mean"], row["mean_upper"]) == pytest.approx((375, 875))
    assert (row["low"], row["high"]) == pytest.approx((250, 1000))
    assert (row["optimum"], row["optimum_upper"]) == (1.0, 1.5)
    (final,) = summary([arm], ["final"])
    assert final["mean_upper"] is None
    assert final["high"] == 0.75
    relative = summary([arm], ["relative regret"])[0]
    assert (relative["mean"], relative["mean_upper"]) == pytest.approx((0.375, 0.875 / 1.5))
    last = regret_table([arm])[-1]
    assert (last["mean"], last["mean_upper"], last["high"]) == pytest.approx((375, 875, 1000))
    assert summary([made([0.5])], ["regret"])[0]["mean_upper"] is None
