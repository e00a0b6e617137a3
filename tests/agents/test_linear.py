"""Linear values: Algorithm 2 with one feature per state, and no divergence with others."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el

SCHEDULES = {"smooth": {}, "fixed": {}, "change-points": {}, "practical": {"schedule.persistence": 0}}


@pytest.mark.soak
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("task", ["riverswim", "service-station"])
def test_with_one_feature_per_state_it_is_the_table_agent_bit_for_bit(schedule, task):
    settings = {"schedule": schedule, "steps": 5000, "runs": 2, "seed": 2}
    table = el.run(task, "growing-horizon", parameters=SCHEDULES[schedule], **settings)
    parameters = {**SCHEDULES[schedule], "agent.features": "onehot"}
    linear = el.run(task, "linear", parameters=parameters, **settings)
    assert linear.total_reward.tolist() == table.total_reward.tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_its_values_and_counts_are_those_of_the_table_agent(schedule):
    parameters = SCHEDULES[schedule]
    one = el.Agent("riverswim", schedule=schedule, parameters=parameters, seed=4)
    two = el.Agent(
        "riverswim", "linear", schedule=schedule, parameters={**parameters, "agent.features": "onehot"}, seed=4
    )
    world = one.task.start(np.random.default_rng(0))
    for _ in range(300):
        action = one.act()
        assert two.act() == action
        observation = world.step(action)
        assert one.observe(observation) == two.observe(observation)
    first, second = one.inspect(), two.inspect()
    assert first["Q"].tolist() == second["Q"].tolist()
    np.testing.assert_allclose(second["N"], first["N"], rtol=1e-12)
    assert one.policy.tolist() == two.policy.tolist()


def drive(agent: el.Agent, steps: int, random: np.random.Generator) -> None:
    """Pass random actions and observations: nothing about them is consistent."""
    for _ in range(steps):
        executed = agent.task.actions[random.integers(2)]
        agent.observe(agent.task.observations[random.integers(len(agent.task.observations))], executed=executed)


HOSTILE = {
    "one for all": lambda s: range(8),
    "in another order": lambda s: [(s + 5 * j) % 8 for j in range(8)],
    "few that differ": lambda s: [*range(7), 7 + s],
    "overlapping": lambda s: range(3 * s, 3 * s + 8),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_it_does_not_diverge_on_hostile_features(case):
    features = el.Features(HOSTILE[case], active=8, size=40)
    agent = el.Agent("riverswim", "linear", schedule="smooth", parameters={"agent.features": features}, seed=1)
    drive(agent, 1500, np.random.default_rng(3))
    now = agent.now
    assert (np.abs(agent.inspect()["Q"]) <= 3 * now.horizon).all()


def test_the_value_that_was_visited_becomes_the_new_value():
    agent = el.Agent("access-control", "linear", schedule="fixed", seed=1)
    world = agent.task.start(np.random.default_rng(0))
    tau, clipped = agent.now.horizon, 0
    for _ in range(200):
        action, state, before = agent.act(), agent.situation, agent.inspect()["Q"]
        a = agent.task.actions.index(action)
        counts = agent.knowledge.cells["count"][agent.knowledge.parts[state], a] + 1
        reward = agent.learned(agent.observe(world.step(action)))
        n = len(counts) / (1 / counts).sum()
        alpha = (1 + 2 * tau) / (n + 2 * tau)
        target = reward + (1 - 1 / tau) * before[agent.situation].max() + agent.now.optimism / n**0.5
        expected = min((1 - alpha) * before[state, a] + alpha * target, tau)
        clipped += expected == tau
        assert agent.inspect()["Q"][state, a] == pytest.approx(expected, rel=1e-12)
    assert 0 < clipped < 200


@pytest.mark.soak
def test_it_learns_access_control_from_factors_faster_than_the_table():
    settings = {"steps": 20_000, "runs": 2, "seed": 1, "threads": 1}
    table = el.run("access-control", **settings).total_reward[:, -1].mean()
    linear = el.run("access-control", "linear", **settings).total_reward[:, -1].mean()
    assert linear > 1.02 * table
