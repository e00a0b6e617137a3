"""The schedules of Sections 4.2 and 4.3, against numbers computed by hand to 40 digits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.schedule import change_points, fixed, smooth
from everlearn.errors import InputError
from tests.refusal import refusal

TWENTY, FORTY = 1.820564203026080264, 2.091279105182546461
"""20^(1/5) and 40^(1/5)."""


def close(number: float):
    return pytest.approx(number, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize(
    ("t", "foo1", "foo2", "foo3", "foo4"),
    [
        (1, 1, 3.330218444630791025, 0, 1),
        (2, 1, 3.330218444630791025, 0, 1),
        (19, 1, 3.330218444630791025, 0, 1),
        (20, TWENTY, 25.404291261465598909, 0.820564203026080264, 0),
        (21, TWENTY, 25.404291261465598909, 0, 1),
        (39, TWENTY, 25.404291261465598909, 0, 1),
        (40, FORTY, 34.366803182297593298, 0.270714902156466197, 0),
        (41, FORTY, 34.366803182297593298, 0, 1),
    ],
)
def test_change_points_by_hand(t, foo1, foo2, foo3, foo4):
    schedule = change_points()
    assert schedule.horizon(t) == close(foo1)
    assert schedule.optimism(t) == close(foo2)
    assert schedule.value_shift(t) == close(foo3)
    assert schedule.count_scale(t) == foo4


def test_change_points_are_twenty_times_powers_of_two():
    count_scale = change_points().count_scale
    changes = [t for t in range(1, 50_000) if count_scale(t) == 0]
    assert changes == [20 * 2**k for k in range(12)]
    assert {count_scale(t) for t in range(1, 50_000)} == {0.0, 1.0}


@pytest.mark.parametrize("k", range(34))
def test_change_points_are_exact_far_out(k):
    point = 20 * 2**k
    schedule = change_points()
    assert [schedule.count_scale(t) for t in (point - 1, point, point + 1)] == [1, 0, 1]
    assert schedule.horizon(point) == close(point**0.2)
    assert schedule.horizon(point - 1) < schedule.horizon(point)


def test_change_points_elsewhere():
    schedule = change_points(first=10, growth=1.5)
    assert [t for t in range(1, 80) if schedule.count_scale(t) == 0] == [10, 15, 23, 34, 51, 76]
    assert schedule.horizon(23) == close(22.5**0.2)


@pytest.mark.parametrize(
    ("t", "foo1", "foo2", "foo3"),
    [
        (1, 1.5, 0.366324028909387013, 1.5),
        (2, 1.723047532495552510, 0.781151071946009707, 0.223047532495552510),
        (32, 3.0, 3.436423996797204920, 0.018988868003313062),
        (10**6, 23.773397886916702278, 147.751282599066658893, 4.754681479256312533e-6),
    ],
)
def test_smooth_by_hand(t, foo1, foo2, foo3):
    schedule = smooth()
    assert schedule.horizon(t) == close(foo1)
    assert schedule.optimism(t) == close(foo2)
    assert schedule.value_shift(t) == pytest.approx(foo3, rel=1e-8)
    assert schedule.count_scale(t) == 1.0


def test_fixed_by_hand():
    schedule = fixed(horizon=8.0, optimism=0.25)
    assert [schedule.horizon(t) for t in (1, 9)] == [8, 8]
    assert [schedule.optimism(t) for t in (1, 9)] == [0.25, 0.25]
    assert [schedule.value_shift(t) for t in (1, 2, 9)] == [7, 0, 0]
    assert [schedule.count_scale(t) for t in (1, 9)] == [1, 1]


def ceiling_by_summing(schedule: el.Schedule, t: int) -> float:
    return schedule.horizon(t) - math.fsum([1.0, *(schedule.value_shift(i) for i in range(1, t + 1))])


scales = st.floats(1, 20)


@given(scale=scales, power=st.floats(0, 0.9), t=st.integers(1, 300))
def test_the_declared_ceiling_of_smooth_is_what_foo3_adds_up_to(scale, power, t):
    schedule = smooth(horizon_scale=scale, horizon_power=power)
    assert schedule.ceiling == pytest.approx(ceiling_by_summing(schedule, t), abs=1e-9)


@given(
    first=st.integers(2, 50),
    growth=st.floats(1.05, 5),
    scale=scales,
    power=st.floats(0, 0.9),
    t=st.integers(1, 300),
)
def test_the_declared_ceiling_of_change_points_is_what_foo3_adds_up_to(first, growth, scale, power, t):
    schedule = change_points(first=first, growth=growth, horizon_scale=scale, horizon_power=power)
    assert schedule.ceiling == pytest.approx(ceiling_by_summing(schedule, t), abs=1e-9)


@given(horizon=st.floats(1, 1000), t=st.integers(1, 100))
def test_the_declared_ceiling_of_fixed_is_what_foo3_adds_up_to(horizon, t):
    schedule = fixed(horizon=horizon)
    assert schedule.ceiling == pytest.approx(ceiling_by_summing(schedule, t), abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"first": 1}, ("schedule.first", 1)),
        ({"growth": 1.0}, ("schedule.growth", 1.0)),
    ],
)
def test_change_points_refuse(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        change_points(**arguments)
