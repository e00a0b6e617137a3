"""The closed forms of Appendix B, against 40-digit arithmetic and beside the exact averages, which they are not."""

from __future__ import annotations

import pytest
from mpmath import diff, exp, mp, mpf

import everlearn as el
from everlearn.paper.appendix_b import (
    closed_form_average,
    closed_form_derivative,
    closed_form_half_second_derivative,
    law_of_longest_service,
    mean_arrival_probability,
)

mp.dps = 40


def law(w: int, epsilon):
    return (1 - ((1 - epsilon) / 2) ** w) ** 12


def mean_arrival(epsilon):
    return sum(
        (law(w, epsilon) - law(w - 1, epsilon)) * (mpf("0.1") + mpf("0.9") * exp(-10 * (w - 1))) for w in range(1, 150)
    )


def average(epsilon):
    return mean_arrival(epsilon) / ((1 - epsilon) * mean_arrival(epsilon) + 1 + epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_they_are_what_the_formulas_give_in_40_digits(epsilon):
    assert mean_arrival_probability(epsilon) == pytest.approx(float(mean_arrival(mpf(epsilon))), rel=1e-14)
    assert closed_form_average(epsilon) == pytest.approx(float(average(mpf(epsilon))), rel=1e-14)
    assert law_of_longest_service(3, epsilon) == pytest.approx(float(law(3, mpf(epsilon))), rel=1e-14)


def test_both_derivatives():
    assert closed_form_derivative() == pytest.approx(float(diff(average, mpf(0))), rel=1e-12)
    assert closed_form_half_second_derivative() == pytest.approx(float(diff(average, mpf(0), 2)) / 2, rel=1e-7)
    assert closed_form_derivative() < -0.072
    assert closed_form_half_second_derivative() < 0.0716


def test_they_are_not_the_average_reward():
    station = el.Theory("service-station")
    assert closed_form_average(0.0) - station.average_reward("slow") == pytest.approx(
        0.0910917081 - 0.0909364893, abs=2e-10
    )
    half = station.average_reward("0=slow,1=fast:0.5")
    assert closed_form_average(0.5) - half == pytest.approx(0.0821640907 - 0.0667843929, abs=2e-10)


def test_at_one_both_are_a_half():
    assert closed_form_average(1.0) == pytest.approx(0.5)
    assert el.Theory("service-station").average_reward("0=slow,1=fast") == pytest.approx(0.5)
