"""How many steps are due."""

from __future__ import annotations

import math

import pytest

from everlearn.page.pace import FASTEST, LEAST, LONGEST, SECONDS_A_DECADE, SPEEDS, Pace, describe


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
    assert pace.due(0, 1.0) == LEAST
    pace.took(10_000, 0.001)
    assert pace.due(0, 1.0) == 10_000_000 * LONGEST


def test_what_cannot_be_kept_up_with_does_not_pile_up():
    pace = Pace(1_000_000, measured=500_000.0)
    assert [pace.due(0, 1.0) for _ in range(3)] == [500_000 * LONGEST] * 3


def test_speeds_go_from_one_step_a_second_to_the_engine():
    assert (SPEEDS[0], SPEEDS[-1]) == (1, FASTEST)
    assert list(SPEEDS[:-1]) == sorted(SPEEDS[:-1])


def test_a_slow_start_is_not_taken_for_the_speed_of_the_engine():
    """Where a slice takes a millisecond whatever its length, and a microsecond a step: it comes to full slices soon."""
    pace = Pace(FASTEST)
    for _ in range(12):
        steps = pace.due(0, 1.0)
        pace.took(steps, 0.001 + 1e-6 * steps)
    assert pace.due(0, 1.0) > 0.9 * LONGEST / 1e-6


def test_speeds_are_said_in_words():
    assert [describe(speed) for speed in (1, 1000)] == ["1 step per second", "1,000 steps per second"]
    assert describe(FASTEST) == "as fast as it goes"


def test_what_a_speed_comes_to_takes_little_room():
    assert Pace(1).describe(0) == "1 step/s"
    assert Pace(1_000_000, growing=True).describe(0) == "1 M steps/s, then faster"
    assert Pace(100, growing=True, measured=7_812_345.0).describe(10**8) == "about 7.8 M steps/s"
    assert Pace(100, growing=True).describe(10**6) == "about 760,000 steps/s"


def test_what_is_left_of_a_step_is_kept_for_the_next_time():
    pace = Pace(speed=10)
    assert [pace.due(t=0, seconds=0.15) for _ in range(4)] == [1, 2, 1, 2]
