"""Laws that every schedule with a name obeys."""

from __future__ import annotations

import math

import pytest

import everlearn as el
from everlearn.agents.clock import Clock
from everlearn.agents.registry import make_schedule
from everlearn.registry import locate, parameters, summary

TIMES = [*range(1, 100), 4095, 4096, 4097, 10_000, 20_000]


def test_it_says_what_it_is(schedule_name):
    factory = locate(schedule_name, el.SCHEDULES, "schedule")
    assert summary(factory)
    assert all(name in factory.__doc__ for name in parameters(factory))


def test_it_stays_in_its_domain(schedule_name):
    schedule = make_schedule(schedule_name)
    for t in [*TIMES, 10**6, 10**9, 10**12]:
        assert 1 <= schedule.horizon(t) < math.inf
        assert 0 <= schedule.optimism(t) < math.inf
        assert math.isfinite(schedule.value_shift(t))
        assert 0 <= schedule.count_scale(t) < math.inf


def test_its_clock_tells_the_same(schedule_name):
    schedule = make_schedule(schedule_name)
    clock = Clock(schedule)
    for t in TIMES:
        now = clock.at(t)
        assert (now.horizon, now.optimism) == (schedule.horizon(t), schedule.optimism(t))


def test_its_ceiling_is_what_foo3_adds_up_to(schedule_name):
    schedule = make_schedule(schedule_name)
    clock, level = Clock(schedule), [1.0]
    for t in range(1, 5000):
        level.append(schedule.value_shift(t))
        if t in TIMES:
            assert clock.at(t).ceiling == pytest.approx(schedule.horizon(t) - math.fsum(level), abs=1e-10)


def test_an_agent_follows_it(schedule_name):
    agent = el.Agent("service-station", schedule=schedule_name)
    agent.observe("arrival", executed="slow")
    assert agent.now.horizon == make_schedule(schedule_name).horizon(1)
