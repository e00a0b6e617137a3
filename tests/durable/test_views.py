"""What is seen of a durable agent can be written as JSON, and is what the agent knows."""

from __future__ import annotations

import json

import pytest

import everlearn as el
from everlearn.agents.agent import Agent
from everlearn.agents.registry import AGENTS
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.durable.views import gauges, inspect, policy_table
from everlearn.registry import locate
from everlearn.registry import parameters as known_parameters
from tests.durable.worlds import advance


@pytest.mark.parametrize("design", sorted(AGENTS))
def test_every_design_can_be_looked_at(design):
    told = "duration" in known_parameters(locate(design, AGENTS, "agent"))
    core = Core(make_setup(task="service-station", agent=design, parameters={"agent.duration": 100} if told else None))
    row = core.prepare("arrival", "fast").described(core.agent.task)
    for view in (inspect(core), policy_table(core), gauges(core), row):
        json.dumps(view, allow_nan=False)
    assert [row["state"] for row in policy_table(core)["actions"]] == [0, 1]


def test_the_policy_is_what_a_frozen_agent_does(tmp_path):
    with el.live(tmp_path, task="service-station", agent="growing-horizon", seed=1) as agent:
        advance(agent, 500)
        table = json.loads(json.dumps(agent.policy()))
        assert (table["step"], table["t"], table["agent"]) == (500, 500, "growing-horizon")
        agent.freeze()
        chosen = {row["state"]: row["action"] for row in table["actions"]}
        for _ in range(20):
            assert agent.act() == chosen[agent.aleatoric_state]
            agent.observe("arrival+departure")
        known = agent.core.agent.inspect()
        for row in table["actions"]:
            place = ("fast", "slow").index(row["action"])
            assert row["value"] == known["Q"][row["state"], place] == known["Q"][row["state"]].max()
            assert row["count"] == known["N"][row["state"], place]


def test_what_is_forbidden_has_no_value():
    core = Core(make_setup(task="service-station", allowed={1: ["slow"]}))
    seen = inspect(core)
    assert seen["values"][1]["actions"]["fast"] is None
    assert seen["values"][0]["actions"]["fast"] is not None
    assert policy_table(core)["actions"][1]["action"] == "slow"


def test_inspect_tells_where_it_stands(tmp_path):
    with el.live(tmp_path, task="service-station", agent="growing-horizon", seed=1) as agent:
        advance(agent, 100)
        asked = agent.act()
        seen = agent.inspect()
    plain = el.Agent("service-station", "growing-horizon", seed=1)
    assert (seen["step"], seen["t"], seen["mode"], seen["pending"]) == (100, 100, "learn", asked)
    assert seen["counts"][0]["actions"].keys() == {"fast", "slow"}
    assert sum(sum(row["actions"].values()) for row in seen["counts"]) == 100
    assert seen["horizon"] == plain.design.schedule.horizon(100)
    assert seen["optimism"] == plain.design.schedule.optimism(100)
    assert seen["drift"]["alarms"] == 0
    assert seen["average_reward"] == seen["recent_average"]


@pytest.mark.parametrize("view", [inspect, policy_table])
def test_what_an_agent_knows_is_read_once(view, monkeypatch):
    """It is computed anew with each call, while the service answers nobody."""
    core, calls, known = Core(make_setup(task="service-station")), [], Agent.inspect
    monkeypatch.setattr(Agent, "inspect", lambda agent: calls.append(1) or known(agent))
    view(core)
    assert calls == [1]


def test_a_durable_agent_explains_itself_as_one_in_memory_does(tmp_path):
    twin = Agent("service-station", seed=1)
    with el.live(tmp_path / "default", "service-station", seed=1) as agent:
        for each in (agent, twin):
            each.act()
            each.observe("arrival")
        assert agent.explain() == agent.inspect()["explanation"] == twin.explain()
        assert "It acts by" in agent.explain()
    with el.live(tmp_path / "silent", "service-station", agent="q-learning") as agent:
        assert agent.explain() is None
