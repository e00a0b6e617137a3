"""What a page begins with: mistakes are raised before anything is served."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.always import always
from everlearn.agents.schedule import fixed
from everlearn.errors import EverlearnError, InputError, UnknownName, UserCodeError
from everlearn.page.configuration import label
from everlearn.page.start import open_workshop
from tests.refusal import has, refusal
from tests.worlds import pendulum, shop


def test_it_begins_as_the_command_does_without_arguments():
    assert open_workshop().start.query().startswith("task=service-station&seed=1&agent=growing-horizon&schedule=")


def test_registered_names_are_configured_and_nothing_more_is_offered():
    workshop = open_workshop(
        "riverswim", schedule="smooth", parameters={"task.states": 8, "schedule.horizon_scale": 3}, seed=4
    )
    assert workshop.offer.own == {}
    query = "task=riverswim&task.states=8&seed=4&agent=growing-horizon&schedule=smooth&schedule.horizon_scale=3"
    assert workshop.start.query().startswith(query)


def test_things_themselves_are_shown_under_their_own_names():
    workshop = open_workshop(shop(), always(), schedule=None)
    assert (workshop.start.task.given, label(workshop.start.agents[0])) == ("serve", "always (yours)")
    with_schedule = open_workshop(shop, schedule=replace(fixed(horizon=5.0), name="steady"))
    assert label(with_schedule.start.agents[0]) == "growing-horizon, steady"
    race = with_schedule.race(with_schedule.start)
    assert race.runs[0].now.horizon == 5.0


def test_a_race_of_ones_own_is_the_run_of_it():
    workshop = open_workshop(shop(), seed=3)
    race = workshop.race(workshop.start)
    race.advance(500)
    assert race.runs[0].recorded()[1] == el.run(shop(), "growing-horizon", steps=500, seed=3).average_reward.tolist()


def test_a_task_without_a_model_is_watched_in_the_reference_loop():
    workshop = open_workshop(pendulum())
    race = workshop.race(workshop.start)
    assert race.remark.startswith("the task 'pendulum' has no model; it runs in the reference engine")
    race.advance(500)
    assert race.runs[0].recorded()[1] == el.run(pendulum(), steps=500, seed=1).average_reward.tolist()
    assert "has no model" in workshop.facts(workshop.start.task).refusal


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"task": "riverswin"}, UnknownName),
        ({"agent": "growing"}, UnknownName),
        ({"schedule": "smoth"}, UnknownName),
        ({"task": "no_such_module:task"}, InputError),
        ({"agent": "always", "schedule": "smooth"}, InputError),
        ({"parameters": {"window": 3}}, InputError),
        ({"parameters": {"task.widow": 3}}, InputError),
        ({"seed": -1}, InputError),
        ({"task": 3}, InputError),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_before_anything_is_served(arguments, error):
    with pytest.raises(error):
        open_workshop(**arguments)


def dividing(memory, action):
    yield "seen", 1 / (memory - 2), memory + 1


def test_an_exception_in_a_users_dynamics_is_one_line_before_anything_is_served():
    task = el.task(actions=["go"], observations=["seen"], memory=1)(dividing)
    task.reward(lambda s, action, observation: 0.0)
    with pytest.raises(EverlearnError) as refused:
        open_workshop(task)
    assert "\n" not in str(refused.value)


def inspect(knowledge, now):
    return {"Q": np.array([1.0])[knowledge.missing]}


@pytest.mark.soak
def test_an_exception_in_what_the_page_alone_calls_is_told_as_the_users():
    with pytest.raises(UserCodeError, check=has(function="agent 'curious': inspect")):
        open_workshop(shop(), replace(always(), inspect=inspect, name="curious"))


def test_a_running_event_loop_is_refused_in_one_line():
    async def inside():
        el.play(shop())

    with pytest.raises(InputError, check=refusal("play")):
        asyncio.run(inside())
