"""Timelines: what compiled code says of a schedule is what the interpreter says, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.clock import Carry, evaluate
from everlearn.agents.registry import make_schedule
from everlearn.engine.timeline import Timeline, stretches
from everlearn.errors import ScheduleError
from tests.refusal import refusal

SCHEDULES = {
    "smooth": ("smooth", {}),
    "smooth with other powers": ("smooth", {"horizon_power": 0.37, "optimism_power": 0.11}),
    "change points": ("change-points", {}),
    "change points that are not whole": ("change-points", {"first": 7, "growth": 1.37}),
    "fixed": ("fixed", {"horizon": 7.3}),
}


def own() -> el.Schedule:
    return el.Schedule(lambda t: 2 + t**0.25, lambda t: 1 / t, lambda t: 0.3 / t, lambda t: 0.0 if t % 97 == 0 else 0.9)


def evaluated(timeline, lengths):
    """Return copies of blocks, each made once the next block is evaluated, which is when the engine reads it."""
    copies, current = [], timeline.next(lengths[0])
    for length in [*lengths[1:], 1]:
        following = timeline.next(length)
        copies.append(current._replace(**{name: getattr(current, name).copy() for name in current._fields[1:]}))
        current = following
    return copies


@pytest.mark.parametrize("name", [*SCHEDULES, "own"])
@pytest.mark.parametrize("lengths", [(5000,), (1, 4095, 904), (900, 64, 4000, 36), (37,) * 135 + (5,)])
def test_blocks_of_any_length_say_what_the_interpreter_says(name, lengths):
    schedule = own() if name == "own" else make_schedule(*SCHEDULES[name])
    expected, _ = evaluate(schedule, range(1, 5001), Carry())
    blocks = evaluated(Timeline(schedule), lengths)
    for field in expected._fields[1:]:
        found = np.concatenate([getattr(block, field) for block in blocks])
        assert np.array_equal(found, getattr(expected, field)), field


@given(first=st.integers(1, 10**12), name=st.sampled_from(sorted(SCHEDULES)))
def test_far_in_the_future_too(first, name):
    schedule = make_schedule(*SCHEDULES[name])
    timeline = Timeline(schedule)
    timeline.t = first - 1
    expected, _ = evaluate(schedule, range(first, first + 8), Carry())
    found = timeline.next(8)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_the_first_step_outside_the_domain_is_named():
    shrinking = make_schedule("smooth", {"horizon_scale": 10, "horizon_power": -0.5})
    with pytest.raises(ScheduleError, check=refusal("horizon at t = 101")):
        Timeline(shrinking).next(1000)


def test_without_a_schedule_time_passes_all_the_same():
    timeline = Timeline(None)
    timeline.next(10)
    block = timeline.next(5)
    assert (block.first, len(block.horizon)) == (11, 5)


@given(steps=st.integers(1, 10**6), at_most=st.integers(1, 10**5))
def test_stretches_make_up_the_steps(steps, at_most):
    lengths = list(stretches(steps, max(at_most, 1024)))
    assert sum(lengths) == steps
    assert max(lengths) <= max(at_most, 1024)
