"""Stopped and resumed is never stopped: every agent, at any step, through files, bit for bit."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.environments.model import ModelEnvironment
from tests.conformance.brief import make_agent
from tests.few import few
from tests.worlds import environment_stream, random_mdp

SMALL = ("alternating", "mdp", "riverswim", "service-station")
WORLDS = {**{name: lambda name=name: el.Agent(name).task for name in el.TASKS}, "mdp": lambda: random_mdp(21)}


def step(agent: el.Agent, environment: ModelEnvironment) -> tuple:
    action = agent.act()
    observation = environment.step(action)
    return action, observation, agent.observe(observation)


def same(one: el.Agent, other: el.Agent) -> bool:
    """Whether two agents are in the same state to the last bit; comparing bytes tells -0.0 from 0.0."""
    first, second = one.snapshot(), other.snapshot()
    return (first.aleatoric, first.algorithmic) == (second.aleatoric, second.algorithmic) and all(
        first.epistemic[name].tobytes() == second.epistemic[name].tobytes() for name in first.epistemic
    )


def resumed(agent: el.Agent, environment: ModelEnvironment, fresh: el.Agent) -> tuple[el.Agent, ModelEnvironment]:
    """The same agent and environment, through what can be stored of them, in objects that know nothing yet."""
    with tempfile.TemporaryDirectory() as directory:
        agent.save(Path(directory) / "agent.npz")
        fresh.load(Path(directory) / "agent.npz")
    again = ModelEnvironment(environment.model)
    again.restore(json.loads(json.dumps(environment.snapshot())))
    return fresh, again


def check_resuming(name: str, world: str, seed: int, before: int, pending: bool, after: int) -> None:
    task = WORLDS[world]()
    agent, environment = make_agent(task, name, seed=seed), task.start(environment_stream(seed))
    for _ in range(before):
        step(agent, environment)
    if pending:
        agent.act()
    other, again = resumed(agent, environment, make_agent(task, name, seed=seed + 1, run=1))
    assert same(agent, other)
    for _ in range(after):
        assert step(other, again) == step(agent, environment)
    assert same(agent, other)
    assert again.snapshot() == environment.snapshot()
    assert {name: table.tolist() for name, table in agent.inspect().items()} == {
        name: table.tolist() for name, table in other.inspect().items()
    }


stops = {
    "seed": st.integers(0, 2**32),
    "before": st.integers(0, 120),
    "pending": st.booleans(),
    "after": st.integers(1, 80),
}
over_agents = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@settings(over_agents, max_examples=3)
@given(world=st.sampled_from(SMALL), **stops)
def test_stopped_and_resumed_is_never_stopped(agent_name, world, seed, before, pending, after):
    check_resuming(agent_name, world, seed, before, pending, after)


@pytest.mark.soak
@settings(over_agents, max_examples=500)
@given(world=st.sampled_from(sorted(WORLDS)), **stops)
def test_stopped_and_resumed_is_never_stopped_often(agent_name, world, seed, before, pending, after):
    check_resuming(agent_name, world, seed, before, pending, after)


def wandering() -> el.Schedule:
    """A schedule in which everything accumulates."""
    return el.Schedule(lambda t: 2 + t**0.25, lambda t: 0.05, lambda t: 0.3 / t, lambda t: 0.0 if t == 4100 else 0.9995)


@pytest.mark.parametrize("schedule", few([*el.SCHEDULES, "wandering"], ("practical", "wandering")))
@pytest.mark.parametrize("before", few([4095, 4096, 4097], [4096]))
@pytest.mark.parametrize("pending", [False, True])
def test_stopped_and_resumed_where_a_block_of_the_schedule_ends(schedule, before, pending):
    chosen = wandering() if schedule == "wandering" else schedule
    agent = el.Agent("service-station", schedule=chosen, seed=1)
    environment = agent.task.start(environment_stream(1))
    for _ in range(before):
        step(agent, environment)
    if pending:
        agent.act()
    other, again = resumed(agent, environment, el.Agent("service-station", schedule=chosen))
    for _ in range(10):
        assert step(other, again) == step(agent, environment)
    assert same(agent, other)
    assert all(np.array_equal(table, other.inspect()[name]) for name, table in agent.inspect().items())
