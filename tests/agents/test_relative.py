"""What differential Q-learning and R-learning share."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from tests.agents.learned import acted, learned
from tests.refusal import refusal
from tests.worlds import random_mdp

NAMES = ["differential-q", "r-learning"]


@pytest.mark.parametrize("name", NAMES)
def test_it_begins_as_it_is_told(name):
    parameters = {"agent.initial_value": 0.5, "agent.initial_average": 0.25}
    begun = el.Agent("service-station", name, parameters=parameters).inspect()
    assert begun["Q"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert begun["average"].tolist() == [0.25]


@pytest.mark.parametrize("name", NAMES)
def test_its_policy_is_epsilon_greedy_in_its_values(name):
    agent = acted(el.Agent(random_mdp(4), name, parameters={"agent.epsilon": 0.3}, seed=1), 200, seed=1)
    best = agent.inspect()["Q"].argmax(axis=1)
    np.testing.assert_allclose(agent.policy[np.arange(3), best], 0.8)
    np.testing.assert_allclose(np.sort(agent.policy, axis=1)[:, :2], 0.1)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_runs_side_by_side_keep_averages_of_their_own(name):
    task = random_mdp(6)
    together = learned(task, name, steps=300, runs=3, seed=2)
    for run in range(3):
        alone = el.Agent(task, name, seed=2, run=run)
        environment = task.start(np.random.Generator(np.random.SFC64(np.random.SeedSequence(2, spawn_key=(run, 0)))))
        for _ in range(300):
            alone.observe(environment.step(alone.act()))
        assert {key: table.tolist() for key, table in alone.inspect().items()} == {
            key: table.tolist() for key, table in together[run].items()
        }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"step_size": 0}, ("agent.step_size", 0.0)),
        ({"step_size": 1.5}, ("agent.step_size", 1.5)),
        ({"epsilon": -0.1}, ("agent.epsilon", -0.1)),
        ({"initial_value": "inf"}, ("agent.initial_value",)),
        ({"initial_average": "nan"}, ("agent.initial_average",)),
    ],
)
def test_it_refuses(name, parameters, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", name, parameters={f"agent.{key}": value for key, value in parameters.items()})
