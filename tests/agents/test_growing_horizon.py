"""Algorithm 2 in offset form against its literal transcription, and what the offset form promises beyond it."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.growing_horizon import begin, inspect, scaled_count, scaled_counts
from tests.agents import literal
from tests.agents.literal import exact, fraction
from tests.agents.side_by_side import compare
from tests.few import few
from tests.worlds import environment_stream, random_mdp

FORGOTTEN = 700
"""My schedule forgets every so many steps."""


def my_schedule() -> el.Schedule:
    """One whose foo3 is not the growth of foo1, and whose foo4 shrinks, grows and forgets."""

    def foo4(t: int) -> float:
        if t % FORGOTTEN == 0:
            return 0.0
        return 1.0005 if t % 3 == 0 else 0.999

    return el.Schedule(lambda t: 2 + t**0.25, lambda t: 0.02 * t**0.2, lambda t: 0.6 / t, foo4)


def my_schedule_literally() -> literal.Schedules:
    def foo4(t: int) -> literal.Number:
        if t % FORGOTTEN == 0:
            return exact.mpf(0)
        return fraction(10005, 10000) if t % 3 == 0 else fraction(999, 1000)

    return literal.Schedules(
        lambda t: 2 + exact.power(t, fraction(1, 4)),
        lambda t: fraction(2, 100) * exact.power(t, fraction(1, 5)),
        lambda t: fraction(6, 10) / t,
        foo4,
    )


CASES = {
    "smooth": ("smooth", {}, literal.smooth),
    "change-points": ("change-points", {}, literal.change_points),
    "hardly-optimistic": (
        "change-points",
        {"schedule.optimism_scale": 0.04},
        lambda: literal.change_points(fraction(4, 100)),
    ),
    "my-own": (my_schedule(), {}, my_schedule_literally),
}

TASKS = {"service-station": lambda: "service-station", "mdp": lambda: random_mdp(5)}


def compare_with_the_literal_form(task: str, case: str, seed: int, steps: int) -> tuple[el.Agent, np.ndarray]:
    schedule, parameters, transcribed = CASES[case]
    agent = el.Agent(TASKS[task](), schedule=schedule, parameters=parameters, seed=seed)
    shape = agent.indexed.states, agent.indexed.actions
    other = literal.GrowingHorizon(*shape, agent.indexed.start, transcribed())
    return agent, compare(agent, other, seed, steps)


@pytest.mark.parametrize("case", few(CASES, ("smooth", "my-own")))
@pytest.mark.parametrize(("task", "seed"), few([("service-station", 1), ("mdp", 3)], [("mdp", 3)]))
def test_offset_form_is_the_literal_form(task, case, seed):
    _, visited = compare_with_the_literal_form(task, case, seed, steps=1000)
    assert visited.min() > 0  # nothing was left untried


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("seed", range(10, 15))
def test_offset_form_is_the_literal_form_for_long(task, case, seed):
    compare_with_the_literal_form(task, case, seed, steps=20_000)


def test_values_leave_the_clip_with_a_hundredth_of_the_optimism():
    agent, _ = compare_with_the_literal_form("service-station", "hardly-optimistic", seed=4, steps=500)
    assert (agent.inspect()["Q"] < agent.now.horizon - 0.1).any()


def test_values_stay_at_the_clip_with_the_optimism_of_the_theorem():
    agent, _ = compare_with_the_literal_form("service-station", "change-points", seed=4, steps=500)
    assert (agent.inspect()["Q"] == agent.now.horizon).all()


def tried_with_other_rewards_before(schedule: el.Schedule, first: float, second: float, then: float) -> el.Agent:
    """An agent that forgets at every step and looks no further, told first this and that of two actions, then the same.

    State 2 is where the rewards differ, state 1 where they do not; both are left for nothing.
    """
    R = np.zeros((3, 2, 3))
    R[0, :, 2], R[0, :, 1] = (first, second), then
    task = el.mdp(np.full((2, 3, 3), 1 / 3), R, reward_range=(0, 1))
    agent = el.Agent(task, schedule=schedule)
    for action, following in ((0, 2), (0, 0), (1, 2), (0, 0), (0, 1), (0, 0), (1, 1), (0, 0)):
        agent.observe(following, executed=action)
    return agent


@pytest.mark.soak
def test_step_size_one_forgets_the_value_exactly():
    # On paper the first visit after a change point makes Q the target, whatever it was before: two actions with the
    # same target tie.  Here they must too, or rounding chooses between them.
    schedule = el.Schedule(lambda _: 1.0, lambda _: 0.1, lambda _: 0.0, lambda _: 0.0)
    random = np.random.default_rng(1)
    for first, second, then in 0.8 * random.random((40, 3)):
        assert tried_with_other_rewards_before(schedule, first, second, then).policy[0].tolist() == [0.5, 0.5]


def step_for(agent: el.Agent, steps: int, seed: int = 0) -> el.Agent:
    environment = agent.task.start(environment_stream(seed))
    for _ in range(steps):
        agent.observe(environment.step(agent.act()))
    return agent


def test_unvisited_pairs_stay_one_above_the_clip_with_smooth():
    agent = el.Agent(random_mdp(1, states=40), schedule="smooth")
    step_for(agent, 60)
    unvisited = agent.inspect()["N"] == 0
    assert unvisited.any()
    assert not unvisited.all()
    assert (agent.inspect()["Q"][unvisited] == agent.now.horizon + 1).all()
    assert (agent.inspect()["Q"][~unvisited] <= agent.now.horizon + 1e-12).all()


def test_clipped_values_are_exactly_equal_whenever_they_were_clipped():
    for schedule in ("change-points", "smooth"):
        agent = step_for(el.Agent(random_mdp(1, states=2), schedule=schedule), 3000)
        values = agent.inspect()["Q"]
        clipped = values > agent.now.horizon - 1e-9
        assert clipped.sum() > 2
        assert len(set(values[clipped])) == 1


def test_it_begins_with_q_one_and_no_counts():
    begun = el.Agent("service-station", schedule="change-points").inspect()
    assert begun["Q"].tolist() == [[1, 1], [1, 1]]
    assert begun["N"].tolist() == [[0, 0], [0, 0]]


factors = st.one_of(
    st.sampled_from([0.0, 1.0, 1e-300, 5e-324, 1e300, 0.5, 2.0]),
    st.floats(0.5, 1.5),
    st.floats(1e-9, 1e9),
)


def check_lazy_counts(scales: list[float], visits: list[bool]) -> None:
    """A count kept lazily is the count multiplied at every step; beyond a double it is none of our business."""
    known = tuple(scales)
    schedule = el.Schedule(lambda _: 2.0, lambda _: 0.0, lambda _: 0.0, lambda t: (*known[t - 1 : t], 1.0)[0])
    agent, expected = el.Agent("service-station", schedule=schedule), Fraction(0)
    for factor, visit in zip(scales, visits, strict=False):
        expected *= Fraction(factor)
        if expected > 10**300:
            return
        agent.observe("nothing", executed="slow" if visit else "fast")
        expected += visit
        assert agent.inspect()["N"][0, 1] == pytest.approx(float(expected), rel=1e-12, abs=1e-290)


lists_of_factors = st.lists(factors, min_size=1, max_size=60)
lists_of_visits = st.lists(st.booleans(), min_size=60, max_size=60)


@settings(max_examples=20)
@given(scales=lists_of_factors, visits=lists_of_visits)
def test_lazy_counts_are_direct_products(scales, visits):
    check_lazy_counts(scales, visits)


@pytest.mark.soak
@settings(max_examples=5000)
@given(scales=lists_of_factors, visits=lists_of_visits)
def test_lazy_counts_are_direct_products_often(scales, visits):
    check_lazy_counts(scales, visits)


@pytest.mark.parametrize("scale", [0.5, 1.25, 2.0])
def test_an_agent_counts_under_a_constant_scale(scale):
    schedule = el.Schedule(lambda _: 5.0, lambda _: 1.0, lambda _: 0.0, lambda _: scale)
    agent = el.Agent("service-station", schedule=schedule)
    for _ in range(30):
        agent.observe("nothing", executed="slow")
    assert agent.inspect()["N"][0, 1] == pytest.approx(sum(scale**k for k in range(30)), rel=1e-12)


def test_a_forgotten_count_is_not_revived():
    schedule = el.Schedule(lambda _: 5.0, lambda _: 1.0, lambda _: 0.0, lambda t: (1.0, 0.0, 1e308)[min(t, 3) - 1])
    agent = el.Agent("service-station", schedule=schedule)
    agent.observe("nothing", executed="slow")
    for _ in range(1100):
        agent.observe("nothing", executed="fast")
    assert agent.inspect()["N"][0, 1] == 0.0


def test_counts_too_large_for_a_double_freeze_the_value():
    schedule = el.Schedule(lambda _: 5.0, lambda _: 1.0, lambda _: 0.0, lambda _: 1e200)
    agent = el.Agent("service-station", schedule=schedule)
    for _ in range(5):
        agent.observe("nothing", executed="slow")
    value = agent.inspect()["Q"][0, 1]
    agent.observe("nothing", executed="slow")
    assert agent.inspect()["N"][0, 1] == math.inf
    assert agent.inspect()["Q"][0, 1] == value


def test_policy_is_greedy_in_the_values():
    agent = step_for(el.Agent("service-station", schedule="smooth"), 500)
    best = agent.inspect()["Q"].argmax(axis=1)
    assert (agent.policy[[0, 1], best] > 0).all()
    assert (agent.policy.sum(axis=1) == 1).all()


POWERS = [0, 1, -1, 3, -3, 52, -53, 999, -1001, 1074, -1074, 2000, -2000, 2001, -2001, 2**26, -(2**26)]
COUNTS = [0.0, 1.0, 2.5, 1 / 3, 5e-324, 1e-300, 1e300, 1.7976931348623157e308]


@pytest.mark.parametrize("scale", [1.0, 0.7316, 1.9999999999999998, 0.5])
@pytest.mark.parametrize("exponent", [0.0, -17.0, 5.0, -(2.0**27)])
def test_a_table_of_counts_is_scaled_as_each_of_them(scale, exponent):
    drawn = np.random.default_rng(1).uniform(0, 1e6, 200)
    visits = np.array([*COUNTS, *drawn])[:, None] * np.ones(len(POWERS))
    stamps = exponent - np.array(POWERS, dtype=float) + np.zeros_like(visits)
    pairs = zip(visits.ravel().tolist(), stamps.ravel().tolist(), strict=True)
    each = np.array([scaled_count(count, stamp, scale, exponent) for count, stamp in pairs])
    assert scaled_counts(visits, stamps, scale, exponent).tobytes() == each.tobytes()


def test_counts_are_looked_at_without_a_loop_over_them():
    """A loop over a million counts would take seconds, for which a service would answer nobody."""
    agent = el.Agent("service-station", schedule="change-points", seed=1)
    now, calls = agent.now, []

    def profile(_frame, event, _argument):
        calls.append(event)

    def number_of_calls(rows):
        knowledge = begin(agent.design.schedule, rows, 2)
        calls.clear()
        sys.setprofile(profile)
        try:
            inspect(knowledge, now)
        finally:
            sys.setprofile(None)
        return len(calls)

    assert number_of_calls(3) == number_of_calls(300)
