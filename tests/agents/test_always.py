"""Fixed policies: they follow their table and never learn."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from tests.worlds import agent_stream


def station_agent(policy: object, seed: int = 0) -> el.Agent:
    return el.Agent("service-station", "always", parameters={"agent.policy": policy}, seed=seed)


@pytest.mark.parametrize("action", ["fast", "slow"])
def test_one_action_everywhere_without_a_draw(action):
    agent = station_agent(action)
    for observation in ("arrival", "nothing", "departure"):
        assert agent.act() == action
        agent.observe(observation)
    assert agent.stream.random() == agent_stream().random()


def test_an_action_for_each_state():
    agent = station_agent("0=slow,1=fast")
    assert agent.act() == "slow"
    agent.observe("arrival")
    assert agent.act() == "fast"


def test_a_randomised_row_takes_one_draw():
    stream, agent = agent_stream(3), station_agent("0=fast:0.3", seed=3)
    for _ in range(200):
        assert agent.act() == ("fast" if stream.random() < 0.3 else "slow")
        agent.observe("nothing")


def test_it_is_uniform_unless_told():
    agent = station_agent(None)
    assert agent.policy.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_it_never_learns():
    agent = station_agent([[0.25, 0.75], [1.0, 0.0]])
    before = {name: table.copy() for name, table in agent.snapshot().epistemic.items()}
    for _ in range(50):
        agent.act()
        agent.observe("nothing")
    after = agent.snapshot().epistemic
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert agent.inspect() == {}


def test_always_fast_earns_half_a_step_exactly():
    result = el.run("service-station", "always", steps=2000, parameters={"agent.policy": "fast"}, engine="reference")
    assert result.total_reward[0, -1] == 1 + 0.5 * 1999  # the first step serves nobody
