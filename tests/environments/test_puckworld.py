"""Puckworld: pushes, friction, walls and goals."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.environments.puckworld import SPEED, Puckworld
from everlearn.errors import LabelError
from tests.refusal import refusal
from tests.worlds import environment_stream


def started(interval: int = 300) -> Puckworld:
    world = Puckworld(interval)
    world.start(environment_stream(1))
    return world


def test_one_tick_after_the_other_follows_the_published_formula():
    world = started()
    world.step("right")
    place, velocity = 2.5, 0.0
    for _ in range(4):
        velocity += (0.1 - 0.5 * velocity) * 0.05
        place += velocity * 0.05
    assert (world.place, world.velocity) == ([place, 2.5], [velocity, 0.0])


def test_speed_stays_below_its_bound_and_walls_reverse_half_of_it():
    world, before, speeds = started(), 0.0, []
    while not speeds or world.velocity[0] > 0:
        before = world.velocity[0]
        world.step("right")
        speeds.append(world.velocity[0])
    assert 0.99 * SPEED < max(speeds) < SPEED
    assert world.place[0] == 4.5
    assert speeds[-1] == pytest.approx(-before / 2, rel=0.01)


def test_the_goal_moves_at_its_interval_and_anywhere():
    world, goals = started(interval=3), []
    for _ in range(600):
        world.step("up")
        goals.append(tuple(world.goal))
    assert goals[0] == goals[2] != goals[3] == goals[5]
    drawn = np.array(goals[::3]) / 5.0
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 0.1
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.25


def test_it_is_saved_and_resumed_exactly():
    world, other = started(interval=2), Puckworld(interval=2)
    for action in ("left", "up", "right"):
        world.step(action)
    other.restore(world.snapshot())
    assert [world.step("down") for _ in range(9)] == [other.step("down") for _ in range(9)]
    assert world.snapshot() == other.snapshot()


def test_other_actions_are_refused():
    with pytest.raises(LabelError, check=refusal("action", "north")):
        started().step("north")
