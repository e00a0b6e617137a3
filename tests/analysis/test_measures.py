"""Measures against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.analysis.measures import MEASURES, measurable, measured
from everlearn.errors import InputError, UnknownName
from everlearn.results.arm import Arm
from tests.analysis.arms import made
from tests.refusal import refusal


@pytest.mark.parametrize("name", ["final", "late", "anytime"])
def test_constant_rewards_average_to_themselves(name):
    assert measured(made([0.25, -3.0]), name).tolist() == pytest.approx([0.25, -3.0])


def test_regret_is_what_the_optimum_would_have_earned_more():
    arm = made([0.25, 1.25], steps=1000, optimum=0.5)
    assert measured(arm, "regret").tolist() == [250.0, -750.0]
    assert measured(arm, "relative regret").tolist() == [0.5, -1.5]


def test_more_relative_regret_is_worse_also_where_the_optimum_is_negative():
    assert measured(made([-3.0, -2.0], optimum=-2.0), "relative regret").tolist() == [0.5, 0.0]


def test_late_forgets_what_came_before_a_tenth():
    times = np.array([1, 9, 11, 100])
    arm = Arm("shop", "smooth", {}, times, np.array([[0.0, 4.0, 5.0, 95.0]]))
    assert measured(arm, "late").tolist() == [91 / 91]


@pytest.mark.parametrize("times", [[20, 100], [100]])
def test_late_is_final_where_nothing_was_recorded_early(times):
    arm = Arm("shop", "smooth", {}, np.array(times), np.array([[7.0] * len(times)]))
    assert measured(arm, "late").tolist() == measured(arm, "final").tolist() == [0.07]


def test_anytime_is_the_area_over_logarithmic_time():
    # An average of log t has, over log t from 0 to log T, the mean log T / 2; trapezoids are exact on it.
    times = np.array([1, 2, 7, 50, 1000])
    arm = Arm("shop", "smooth", {}, times, (times * np.log(times))[None, :])
    assert measured(arm, "anytime").tolist() == pytest.approx([np.log(1000) / 2])


def test_anytime_of_one_time_is_its_average():
    arm = Arm("shop", "smooth", {}, np.array([10]), np.array([[5.0], [2.0]]))
    assert measured(arm, "anytime").tolist() == [0.5, 0.2]


def test_what_is_not_known_is_refused():
    with pytest.raises(InputError):
        measured(made([1.0], optimum=None), "regret")
    with pytest.raises(InputError):
        measured(made([1.0], optimum=0.0), "relative regret")


@pytest.mark.parametrize("optimum", [None, 0.0, 0.5])
@pytest.mark.parametrize("name", MEASURES)
def test_measurable_is_what_can_be_measured(name, optimum):
    arm = made([0.5, 1.0], optimum=optimum)
    if measurable(arm, name):
        assert measured(arm, name).shape == (2,)
    else:
        with pytest.raises(InputError):
            measured(arm, name)


@pytest.mark.parametrize("asked", [measured, measurable])
def test_an_unknown_measure(asked):
    with pytest.raises(UnknownName, check=refusal("measure", "regrets")):
        asked(made([1.0]), "regrets")


def test_measures_are_described():
    assert [name for name, measure in MEASURES.items() if measure.less_is_better] == ["regret", "relative regret"]
    assert all(len(measure.description) < 80 for measure in MEASURES.values())
