"""The clock: blocks that begin at fixed places, what is carried between them, and schedules that are refused."""

from __future__ import annotations

import json
import math
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.clock import BLOCK, PORTION, ROWS, Carry, Clock, evaluate
from everlearn.agents.schedule import change_points, fixed, practical, smooth
from everlearn.errors import ScheduleError
from everlearn.protocol import ScheduleValues
from tests.few import few
from tests.laws import law
from tests.refusal import refusal


def wandering() -> el.Schedule:
    """A schedule in which everything accumulates, with rounding: 0.1 / t and 0.999 are not doubles."""
    return el.Schedule(
        lambda t: 2 + t**0.25,
        lambda t: 0.1 * t,
        lambda t: 0.1 / t - 0.05 * (t % 3 == 0),
        lambda t: 0.0 if t % 1000 == 0 else 0.999,
    )


SCHEDULES = {"smooth": smooth, "change-points": change_points, "wandering": wandering}


def test_blocks_begin_at_fixed_places():
    assert BLOCK == 4096
    clock, found = Clock(smooth()), []
    for t in (1, 4096, 4097, 8192, 8193):
        clock.at(t)
        found.append(clock.carry(t)[0])
    assert found == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("name", SCHEDULES)
def test_wound_to_the_block_of_a_step_it_tells_of_that_step_and_the_next(name):
    whole, again = Clock(SCHEDULES[name]()), Clock(SCHEDULES[name]())
    before, after = whole.at(2 * BLOCK), whole.at(2 * BLOCK + 1)
    index, carry = whole.carry(2 * BLOCK)
    assert index == 1
    again.start_at(index, carry)
    assert (again.at(2 * BLOCK), again.at(2 * BLOCK + 1)) == (before, after)


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("t", few([1, 2, 4095, 4096, 4097, 8192, 8193], [1, 4096, 4097]))
def test_the_clock_tells_what_the_schedule_says_across_blocks(name, t):
    schedule = SCHEDULES[name]()
    now = Clock(schedule).at(t)
    assert now.t == t
    assert now.horizon == schedule.horizon(t)
    assert now.optimism == schedule.optimism(t)
    assert now.discount == 1 - 1 / now.horizon
    assert now.unscale == 1 / now.scale
    assert 1 <= now.scale < 2


@pytest.mark.parametrize("name", SCHEDULES)
def test_drift_and_ceiling_are_those_of_the_sum(name):
    schedule, clock, shifts = SCHEDULES[name](), Clock(SCHEDULES[name]()), [1.0]
    for t in range(1, 2 * BLOCK + 10):
        shifts.append(schedule.value_shift(t))
        if t in (1, 2, 19, 20, 1000) or abs(t % BLOCK) < 2:
            level, now = math.fsum(shifts), clock.at(t)
            assert now.ceiling == pytest.approx(now.horizon - level, abs=1e-10)
            assert now.drift == pytest.approx(level / now.horizon, abs=1e-10)


shift_lists = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200)


def check_summed_ceiling(shifts: list[float]) -> None:
    """The running sum is as good as the exact one: half a unit in the last place of what enters it, or better."""
    added = dict(enumerate(shifts, start=1))
    schedule = el.Schedule(lambda _: 3.0, lambda _: 0.0, lambda t: added.get(t, 0.0), lambda _: 1.0)
    clock = Clock(schedule)
    for t in range(1, len(shifts) + 1):
        exact = float(Fraction(3) - 1 - sum(Fraction(shift) for shift in shifts[:t]))
        room = 2 * math.ulp(3.0 + abs(exact))
        assert abs(clock.at(t).ceiling - exact) <= room
        assert exact == pytest.approx(3.0 - math.fsum([1.0, *shifts[:t]]), abs=room)


@settings(max_examples=20)
@given(shifts=shift_lists)
def test_the_summed_ceiling_is_exact_to_rounding(shifts):
    check_summed_ceiling(shifts)


@pytest.mark.soak
@settings(max_examples=2000)
@given(shifts=shift_lists)
def test_the_summed_ceiling_is_exact_to_rounding_often(shifts):
    check_summed_ceiling(shifts)


def test_a_long_sum_stays_exact():
    schedule = el.Schedule(lambda _: 1.0, lambda _: 0.0, lambda _: 0.1, lambda _: 1.0)
    t = 20 * BLOCK
    assert Clock(schedule).at(t).ceiling == pytest.approx(-t * 0.1, rel=1e-15)


@law(
    20,
    factors=st.lists(
        st.one_of(st.floats(1e-300, 1e300), st.sampled_from([1.0, 5e-324, 0.999])), min_size=1, max_size=80
    ),
)
def test_the_product_of_count_scales_neither_vanishes_nor_overflows(factors):
    given_at = dict(enumerate(factors, start=1))
    schedule = el.Schedule(lambda _: 1.0, lambda _: 0.0, lambda _: 0.0, lambda t: given_at.get(t, 1.0))
    clock, product = Clock(schedule), Fraction(1)
    for t, factor in enumerate(factors, start=1):
        product *= Fraction(factor)
        now = clock.at(t)
        assert 1 <= now.scale < 2
        assert abs(Fraction(now.scale) * Fraction(2) ** int(now.exponent) / product - 1) < 1e-13


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("t", few([1, 4096, 4097, 12_289], [1, 4097]))
def test_a_wound_clock_tells_identical_rows(name, t):
    whole, resumed = Clock(SCHEDULES[name]()), Clock(SCHEDULES[name]())
    whole.at(t)
    index, carry = whole.carry(t)
    saved = json.loads(json.dumps({"index": index, **carry._asdict()}))
    resumed.start_at(saved.pop("index"), Carry(**saved))
    for later in (t, t + 1, t + BLOCK, t + 2 * BLOCK):
        assert resumed.at(later) == whole.at(later)


def test_a_clock_can_be_asked_about_the_past():
    clock = Clock(wandering())
    early = [clock.at(t) for t in (5, 4100)]
    clock.at(3 * BLOCK)
    assert [clock.at(t) for t in (5, 4100)] == early


def test_a_clock_without_a_schedule_tells_the_time_alone():
    clock = Clock(None)
    clock.start_at(0, Carry())
    assert clock.at(7).t == 7
    assert clock.at(7).optimism == 0.0


def never(t: int) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("field", "function", "refused", "t"),
    [
        ("horizon", lambda t: 4.0 - t, ("horizon at t = 4", 0.0), 4),
        ("horizon", lambda t: math.inf if t == 9 else 2.0, ("horizon at t = 9",), 9),
        ("optimism", lambda t: 3.0 - t, ("optimism at t = 4", -1.0), 4),
        ("optimism", lambda t: math.nan, ("optimism at t = 1",), 1),
        ("value_shift", lambda t: -math.inf, ("value shift at t = 1",), 1),
        ("count_scale", lambda t: 1.0 - (t >= 4000) * 2, ("count scale at t = 4000", -1.0), 4000),
        ("count_scale", lambda t: math.inf, ("count scale at t = 1",), 1),
        ("count_scale", lambda t: None, ("count scale at t = 1", None), 1),
        ("horizon", lambda t: "far" if t == 2 else 2, ("horizon at t = 2", "far"), 2),
        ("horizon", lambda t: [t], ("horizon at t = 1", [1]), 1),
    ],
)
def test_a_schedule_outside_its_domain_is_refused_at_the_first_step(field, function, refused, t):
    functions = dict.fromkeys(("horizon", "optimism", "value_shift", "count_scale"), never) | {field: function}
    with pytest.raises(ScheduleError, check=refusal(*refused)) as caught:
        Clock(el.Schedule(**functions)).at(1)
    assert caught.value.t == t


@pytest.mark.parametrize(
    ("schedule", "t"),
    [(el.Schedule(lambda t: 2**t, never, never, never), 1024), (smooth(horizon_power=400), 6)],
)
def test_a_horizon_too_large_for_a_double_is_refused(schedule, t):
    with pytest.raises(ScheduleError, check=refusal(f"horizon at t = {t}", math.inf)):
        Clock(schedule).at(1)


def test_the_first_step_at_which_anything_is_wrong_is_named():
    with pytest.raises(ScheduleError, check=refusal("optimism at t = 5", -1.0)):
        Clock(el.Schedule(lambda t: 100.0 - t, lambda t: 4.0 - t, never, never)).at(1)


def test_a_schedule_is_refused_in_the_block_in_which_it_goes_wrong():
    clock = Clock(el.Schedule(lambda t: 2.0 if t <= BLOCK else 0.5, never, never, never))
    assert clock.at(BLOCK).horizon == 2.0
    with pytest.raises(ScheduleError, check=refusal("horizon at t = 4097", 0.5)):
        clock.at(BLOCK + 1)


def test_schedules_may_return_numpy_numbers():
    schedule = el.Schedule(lambda t: np.float32(2), lambda t: np.int64(1), lambda t: np.float64(0.5), lambda t: True)
    assert Clock(schedule).at(2).ceiling == 2 - (1 + 0.5 + 0.5)


OURS = {
    "smooth": smooth(),
    "practical": practical(),
    "fixed": fixed(horizon=8),
    "change-points": change_points(),
    "many changes": change_points(first=2, growth=1.1),
}


@pytest.mark.parametrize("name", OURS)
def test_a_built_in_schedule_is_computed_to_the_bits_of_its_blocks(name):
    """Step by step, so that each block is checked ahead of its time; at once, where it is checked as it begins."""
    schedule, clock, following = OURS[name], Clock(OURS[name]), Carry()
    for index in range(3):
        steps, carry, started = range(index * BLOCK + 1, index * BLOCK + BLOCK + 1), following, Clock(schedule)
        started.start_at(index, carry)
        block, following = evaluate(schedule, steps, carry)
        rows = [ScheduleValues(*row) for row in zip(steps, *(column.tolist() for column in block[1:]), strict=True)]
        assert [clock.at(t) for t in steps] == rows
        assert [started.at(t) for t in steps] == rows
        assert clock.carry(steps[-1]) == started.carry(steps[-1]) == (index, carry)
    assert all(type(value) is float for value in clock.at(steps[-1])[1:])


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_clock_that_is_started_knows_the_step_before_without_going_back(name, monkeypatch):
    """An agent that has learned for 2^40 steps would wait for 2^28 blocks."""
    whole, started = Clock(SCHEDULES[name]()), Clock(SCHEDULES[name]())
    before, _ = whole.at(2 * BLOCK), whole.at(2 * BLOCK + 1)
    started.start_at(2, whole.carry(2 * BLOCK + 1)[1])
    monkeypatch.setattr(started, "start_at", None)
    assert started.at(2 * BLOCK) == whole.at(2 * BLOCK) == before


@pytest.fixture
def counted(monkeypatch):
    """A built-in schedule that counts its evaluations."""
    formula, schedule, evaluated = smooth().formula, smooth(horizon_scale=1.75), []

    def counting(t, constants):
        evaluated.append(t)
        return formula(t, constants)

    monkeypatch.setattr("everlearn.agents.clock.is_ours", lambda _formula: True)
    return replace(schedule, formula=counting, monotone=False), evaluated


def test_no_step_waits_for_a_block(counted):
    """Agents that were started together would all evaluate a block at the same step."""
    schedule, evaluated = counted
    clock = Clock(schedule)
    clock.at(1)
    for t in range(2, 3 * BLOCK):
        evaluated.clear()
        clock.at(t)
        assert len(evaluated) <= ROWS + PORTION


def test_a_block_of_a_monotone_schedule_is_checked_by_its_ends(counted):
    schedule, evaluated = counted
    clock = Clock(replace(schedule, monotone=True))
    for t in range(1, 2 * BLOCK + 1):
        clock.at(t)
    assert len(evaluated) == 2 * BLOCK + 2 * 2


@pytest.mark.parametrize(
    "settings_given", [{}, {"horizon_power": 0.0}, {"optimism_scale": 0.0}, {"optimism_power": 0.0}]
)
def test_built_in_schedules_that_say_so_are_monotone(settings_given):
    for schedule in (smooth(**settings_given), fixed(horizon=9.0, optimism=0.5)):
        assert schedule.monotone
        values = np.array([schedule.formula(t, schedule.constants) for t in (*range(1, 3000), 10**6, 10**9, 2**53)])
        changes = np.diff(values[:, :2], axis=0)
        assert ((changes >= -1e-12).all(axis=0) | (changes <= 1e-12).all(axis=0)).all()
        assert (values[:, 2] == 1.0).all()
    assert not smooth(optimism_power=-0.1).monotone


def test_agents_that_start_with_equal_schedules_check_a_block_once(counted):
    schedule, evaluated = counted
    Clock(schedule).at(1)
    evaluated.clear()
    Clock(replace(schedule, name="again")).at(1)
    assert len(evaluated) == ROWS
    Clock(replace(schedule, constants=(1.5, *schedule.constants[1:]))).at(1)
    assert len(evaluated) > BLOCK


def test_a_clock_of_a_built_in_schedule_stores_no_rows():
    """A service has thousands of them."""
    clocks = [Clock(smooth(horizon_scale=2 + number / 7)) for number in range(4)]
    tracemalloc.start()
    try:
        for clock in clocks:
            for t in range(1, BLOCK + 2 * ROWS * BLOCK // PORTION):
                clock.at(t)
        held = tracemalloc.get_traced_memory()[0] / len(clocks)
    finally:
        tracemalloc.stop()
    assert held < 10_000


def test_a_built_in_schedule_is_refused_in_the_block_in_which_it_goes_wrong():
    clock = Clock(smooth(horizon_power=84.0))
    rows = [clock.at(t) for t in range(1, BLOCK + 1)]
    for _ in range(2):
        with pytest.raises(ScheduleError, check=refusal("horizon at t = 4652", math.inf)):
            clock.at(BLOCK + 1)
    assert clock.at(BLOCK) == rows[-1]
    assert clock.carry(BLOCK) == (0, Carry())


def test_after_a_jump_that_failed_the_carry_is_that_of_the_rows():
    clock, fresh = Clock(smooth(horizon_power=75.0)), Clock(smooth(horizon_power=75.0))
    clock.at(5)
    with pytest.raises(ScheduleError):
        clock.at(6 * BLOCK)
    assert clock.at(6) == fresh.at(6)
    assert clock.carry(6) == fresh.carry(6)


def test_a_horizon_that_no_float_holds_is_refused():
    with pytest.raises(ScheduleError):
        Clock(fixed(horizon=10**400)).at(1)
