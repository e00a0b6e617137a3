"""Catch and puckworld as tasks: agents with features see more than a table could hold."""

from __future__ import annotations

import dataclasses
import math

import pytest

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.tasks.catch import catch, lowest
from everlearn.tasks.puckworld import puckworld
from everlearn.tasks.registry import make_task
from tests.worlds import environment_stream


def test_with_two_columns_every_ball_can_be_caught():
    for states in ("memory", "natural"):
        task = make_task("catch", {"rows": 4, "columns": 2, "spawn": 0.3, "aleatoric": states})
        assert el.Theory(task).optimal_average_reward == pytest.approx(0.3)


@pytest.mark.parametrize("name", ["catch", "puckworld"])
def test_tables_see_little_and_features_see_all(name):
    task = make_task(name)
    assert len(make_design("growing-horizon").seen(task).states) <= 4096
    assert len(make_design("linear").seen(task).states) > 10**7
    agent = el.Agent(task, "q-lambda", seed=1)
    for _ in range(3):
        agent.observe(task.step(agent_world(task), agent.act()))
    assert agent.t == 3


def agent_world(task):
    world = task.start(environment_stream(1))
    world.step(task.actions[0])
    return world


def test_who_chooses_an_aleatoric_state_gets_it_whatever_the_agent():
    task = make_task("catch", {"rows": 3, "columns": 2, "aleatoric": "window:1"})
    assert task.fine is task


@pytest.mark.parametrize("name", ["catch", "puckworld"])
def test_who_replaces_an_aleatoric_state_gets_it_too(name):
    task = make_task(name, {"rows": 3, "columns": 2} if name == "catch" else {})
    seen = dataclasses.replace(task, aleatoric=el.AleatoricState(0, lambda s, a, o: 0, (0,)))
    assert seen.fine.states == (0,)
    if task.model is not None:  # by which the states of a view are found
        assert el.seen_through(task, el.window(1)).fine.states != task.fine.states


def test_after_a_history_features_begin_where_tables_do():
    task = make_task("catch", {"rows": 3, "columns": 3, "spawn": 1.0})
    world = task.start(environment_stream(1))
    history = [("left", world.step("left")) for _ in range(2)]
    later = task.after(history)
    assert later.fine.aleatoric.start == later.model.memory
    assert later.aleatoric.start == lowest(later.model.memory)


def test_the_reward_of_puckworld_is_the_distance():
    task = puckworld(interval=5)
    world = task.start(environment_stream(2))
    for t in range(200):
        observation = world.step(task.actions[t * t % 7 % 4])
        exact = math.dist(world.place, world.goal)
        assert task.reward(task.aleatoric.start, "up", observation) == pytest.approx(-exact, abs=0.03)


def test_rows_of_balls_are_told_apart_exactly():
    # Coordinates without an order are not shifted: one feature for each and one for each pair.
    agent = el.Agent(catch(), "linear", seed=1)
    assert agent.knowledge.parts.shape[1] == 10 + 45
