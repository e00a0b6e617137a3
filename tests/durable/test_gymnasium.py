"""Durable agents of Gymnasium environments without a discretiser: what the environment returned is observed."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import gymnasium
from gymnasium import spaces

import everlearn as el
from everlearn.durable.checking import check
from everlearn.errors import InputError, ObservationError
from tests.durable.worlds import whole
from tests.few import few
from tests.refusal import refusal

BAD = [[math.nan, 0.01], [-0.5], ["a", 0.01], [-0.5, 9.0], "go", None, np.array([math.nan, 0.0])]

CAR = {"task.rewards": "-1", "task.termination_reward": 1, "task.time_limit": None}


def drive(agent: el.Live, steps: int) -> None:
    """Show an agent points of a car, which depend on step and action alone."""
    while agent.step < steps:
        draw = np.random.default_rng([agent.step, agent.act()])
        agent.observe(draw.uniform([-1.2, -0.07], [0.6, 0.07]))


@pytest.mark.parametrize("name", few(["linear", "q-lambda", "differential-sarsa", "network"], ["linear"]))
def test_a_gymnasium_environment_without_a_discretiser(tmp_path, name):
    states = []
    for interruption in (40, 17):
        place = tmp_path / str(interruption)
        with el.live(place, "gymnasium:MountainCar-v0", agent=name, parameters=CAR, seed=1, snapshot_every=9) as agent:
            drive(agent, interruption)
        with el.live(place) as agent:
            drive(agent, 40)
            states.append(whole(agent.core))
        assert check(place).sound
    assert states[0] == states[1]


def test_what_a_gymnasium_environment_returned_is_observed_as_it_is(tmp_path):
    task = el.from_gymnasium("MountainCar-v0", rewards=-1, termination_reward=1, discretiser="fine")
    with el.live(tmp_path, task, agent="linear") as agent:
        assert agent.observe([-0.5, 0.01], 0) == -1.0
        assert agent.observe((np.array([-0.5, 0.01], dtype=np.float32), -1.0, ""), 0) == -1.0
        assert agent.observe([[-0.5, 0.01], "-1", "terminated"], 0) == 0.0
        assert agent.observe(task.label([-0.5, 0.01], -1.0, False, False), 0) == -1.0
        assert {tuple(row["next_state"]) for row in agent.journal()} == {(-0.4995, 0.01005)}
        for bad in (*BAD, [[-0.5, 0.01], -1, "over"], [[-0.5], -1, ""], [[-0.5, 0.01], -7, ""]):
            with pytest.raises(InputError, check=lambda error: error.argument in ("observation", "reward")):
                agent.observe(bad, 0)
        assert agent.step == 4


def test_a_point_alone_is_not_enough_if_there_are_several_rewards(tmp_path):
    parameters = {"task.rewards": "-1,0", "task.termination_reward": 1, "task.discretiser": "fine"}
    with el.live(tmp_path, "gymnasium:Acrobot-v1", agent="linear", parameters=parameters) as agent:
        point = [1.0, 0.0, 1.0, 0.0, 0.5, -0.5]
        with pytest.raises(ObservationError, check=refusal("observation")):
            agent.observe(point, 0)
        assert agent.observe((point, 0.0, "terminated"), 0) == 1.0


def test_dictionaries_of_a_gymnasium_environment(tmp_path):
    class Robot(gymnasium.Env):
        observation_space = spaces.Dict({"battery": spaces.Discrete(5, start=1), "place": spaces.Box(0, 10, (2,))})
        action_space = spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return {"battery": 3, "place": np.zeros(2, dtype=np.float32)}, {}

        def step(self, action):
            return {"battery": 3, "place": np.ones(2, dtype=np.float32)}, 1.0, False, False, {}

    task = el.from_gymnasium(Robot, rewards="0,1", discretiser="fine")
    with el.live(tmp_path, task, agent="linear") as agent:
        seen = {"battery": 4, "place": np.array([2.5, 7.5])}
        assert agent.observe((seen, 1.0, ""), 0) == 1.0
        assert agent.aleatoric_state == (4, 2.5049, 7.5049)
        assert agent.observe((agent.aleatoric_state, 1, ""), 0) == 1.0
        for bad in ({"battery": 4}, {"battery": 9, "place": [1, 1]}, {"battery": 3.5, "place": [1, 1]}):
            with pytest.raises(ObservationError, check=refusal("observation")):
                agent.observe((bad, 1, ""), 0)
