"""How many steps are due."""

from __future__ import annotations

import math

import pytest

from everlearn.play.pace import FASTEST, FIRST, SECONDS_A_DECADE, SLICE, SPEEDS, Pace


@pytest.mark.parametrize("speed", [1, 3, 10, 30, 100, 1000])
def test_over_a_while_as_many_steps_are_taken_as_the_speed_says(speed):
    pace = Pace(speed, measured=1e6)
    taken = sum(pace.due(0, 0.0173) for _ in range(2000))
    assert taken == pytest.approx(speed * 0.0173 * 2000, abs=1)


def test_a_growing_speed_makes_a_decade_take_as_long_as_any_other():
    pace, t, seconds, reached = Pace(1, growing=True, measured=1e12), 10, 0.0, {}
    while t < 10**6:
        t += pace.due(t, 0.01)
        seconds += 0.01
        reached.setdefault(int(math.log10(t)), seconds)
    assert reached[5] - reached[4] == pytest.approx(SECONDS_A_DECADE, rel=0.02)
    assert reached[3] - reached[2] == pytest.approx(SECONDS_A_DECADE, rel=0.05)


def test_as_fast_as_it_goes_is_what_fits_into_a_slice():
    pace = Pace(FASTEST)
    assert pace.due(0, 1.0) == FIRST
    pace.took(10_000, 0.001)
    assert pace.due(0, 1.0) == 10_000_000 * SLICE


def test_what_cannot_be_kept_up_with_does_not_pile_up():
    pace = Pace(1_000_000, measured=1000.0)
    assert [pace.due(0, 1.0) for _ in range(3)] == [1000 * SLICE] * 3


def test_speeds_go_from_one_step_a_second_to_the_engine():
    assert (SPEEDS[0], SPEEDS[-1]) == (1, FASTEST)
    assert list(SPEEDS[:-1]) == sorted(SPEEDS[:-1])
