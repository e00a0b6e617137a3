"""The curve of regret is that of el.regret, with an interval that contains both bounds of the optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from everlearn.figures.regret import band
from everlearn.results.references import AT_LEAST, AT_MOST, References
from tests.refusal import refusal


def result(references: dict[str, float], runs: int = 3) -> el.Result:
    found = el.run("service-station", steps=200, runs=runs, seed=1, engine="reference")
    return replace(found, references=References(references))


BOUNDS = {AT_LEAST: 0.6, AT_MOST: 0.7}


def interval(axes) -> np.ndarray:
    return axes.collections[0].get_paths()[0].vertices[:, 1]


def test_the_curve_is_the_regret_at_the_recorded_times():
    found = result({"optimum": 2.0})
    curve = found.plot("regret").get_lines()[0]
    regret = el.regret(found)
    assert regret.times.tolist() == curve.get_xdata().tolist() == found.times.tolist()
    assert curve.get_ydata().tolist() == pytest.approx(regret.mean.tolist())


def test_its_band_is_two_standard_errors():
    found = result({"optimum": 0.9})
    axes, regret = found.plot("regret"), el.regret(found)
    assert interval(axes).max() == pytest.approx((regret.mean + 2 * regret.standard_error).max())
    assert axes.get_yscale() == "log"


@pytest.mark.parametrize("runs", [1, 3])
def test_an_interval_of_the_optimum_makes_an_interval_of_regret(runs):
    found = result(BOUNDS, runs)
    axes, regret = found.plot("regret"), el.regret(found)
    lower, upper = axes.get_lines()
    assert upper.get_ydata()[-1] - lower.get_ydata()[-1] == pytest.approx(0.1 * 200)
    low, high = band(regret)
    assert (low <= regret.mean).all()
    assert (high >= regret.mean_upper).all()
    assert interval(axes).max() == pytest.approx(high.max())


def test_regret_that_is_not_positive_is_drawn_too():
    axes = result({}).plot("regret", reference=0.0)
    assert axes.get_yscale() == "linear"
    assert axes.get_lines()[0].get_ydata()[-1] < 0
    assert axes.get_ylabel() == "regret against 0"


def test_two_results_share_axes():
    axes = result({"optimum": 0.9}).plot("regret")
    result(BOUNDS).plot("regret", axes=axes)
    assert len({line.get_color() for line in axes.get_lines()}) == 2


def test_another_measure_is_refused():
    with pytest.raises(InputError, check=refusal("measure", "optimum")):
        result({}).plot("optimum")
