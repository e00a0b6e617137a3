"""Laws that every agent with a name obeys, on every task and in a few small worlds."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.registry import locate, parameters, summary
from everlearn.sources import callees
from tests.conformance.brief import brief_parameters, make_agent
from tests.few import few
from tests.worlds import environment_stream

STEPS = 80


def drive(agent: el.Agent, steps: int = STEPS, seed: int = 0) -> list:
    """Let an agent work; return what it did and what it earned."""
    environment, story = agent.task.start(environment_stream(seed)), []
    for _ in range(steps):
        action = agent.act()
        story.append((action, agent.observe(environment.step(action))))
    return story


def same_state(one: el.Agent, other: el.Agent) -> bool:
    first, second = one.snapshot(), other.snapshot()
    return (first.aleatoric, first.algorithmic) == (second.aleatoric, second.algorithmic) and all(
        np.array_equal(first.epistemic[name], second.epistemic[name]) for name in first.epistemic
    )


def test_it_says_what_it_is(agent_name):
    factory = locate(agent_name, el.AGENTS, "agent")
    assert summary(factory)
    assert all(name in factory.__doc__ for name in parameters(factory))


def test_it_acts_validly_everywhere(world, agent_name):
    agent = make_agent(world, agent_name)
    story = drive(agent)
    assert all(action in world.actions for action, _ in story)
    assert all(world.reward.low <= reward <= world.reward.high for _, reward in story)


def test_its_policy_is_a_distribution_for_each_state(world, agent_name):
    agent = make_agent(world, agent_name)
    for _ in range(4):
        assert agent.policy.shape == (len(world.states), len(world.actions))
        assert (agent.policy >= 0).all()
        np.testing.assert_allclose(agent.policy.sum(axis=1), 1, atol=1e-12)
        drive(agent, 30)


def test_it_acts_as_its_policy_says(world, agent_name):
    agent, environment = make_agent(world, agent_name), world.start(environment_stream(4))
    for _ in range(STEPS):
        row = agent.policy[world.states.index(agent.aleatoric_state)]
        action = agent.act()
        assert row[world.actions.index(action)] > 0
        agent.observe(environment.step(action))


def test_what_it_tells_of_itself_is_finite_and_a_copy(world, agent_name):
    agent = make_agent(world, agent_name)
    drive(agent)
    before = agent.snapshot()
    for table in [*agent.inspect().values(), agent.policy]:
        assert np.isfinite(table).all()
        table[...] = -1
    assert all(np.array_equal(table, before.epistemic[name]) for name, table in agent.snapshot().epistemic.items())


def test_the_same_seed_gives_the_same_result(world, agent_name):
    one, other = (make_agent(world, agent_name, seed=3) for _ in range(2))
    assert drive(one) == drive(other)
    assert same_state(one, other)


def test_runs_have_streams_of_their_own(agent_name):
    streams = [
        make_agent("service-station", agent_name, seed, run).snapshot().algorithmic["stream"]
        for seed in range(3)
        for run in range(3)
    ]
    assert len({tuple(words) for words in streams}) == 9


def test_asked_again_it_says_the_same(world, agent_name):
    patient, hasty = (make_agent(world, agent_name, seed=5) for _ in range(2))
    environment = world.start(environment_stream(5))
    for _ in range(STEPS):
        action = hasty.act()
        assert [patient.act() for _ in range(3)] == [action] * 3
        observation = environment.step(action)
        assert patient.observe(observation) == hasty.observe(observation)
    assert same_state(patient, hasty)


def test_time_counts_observations(world, agent_name):
    agent = make_agent(world, agent_name)
    assert agent.t == 0
    drive(agent, 17)
    agent.act()
    assert agent.t == 17


@pytest.mark.parametrize("executed", few(["fast", "slow"], ["fast"]))
def test_what_was_executed_is_what_it_learns_from(agent_name, executed):
    # Told every time what was executed, an agent learns the same whatever it had asked for.
    asked, told = (make_agent("service-station", agent_name, seed=6) for _ in range(2))
    environment = asked.task.start(environment_stream(6))
    for _ in range(STEPS):
        asked.act()
        observation = environment.step(executed)
        assert asked.observe(observation, executed=executed) == told.observe(observation, executed=executed)
    assert asked.aleatoric_state == told.aleatoric_state
    first, second = asked.snapshot().epistemic, told.snapshot().epistemic
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_a_state_taken_can_be_put_into_another(world, agent_name):
    one, other = make_agent(world, agent_name, seed=7), make_agent(world, agent_name, seed=8, run=2)
    drive(one, 60)
    drive(other, 13)
    other.restore(one.snapshot())
    assert same_state(one, other)
    assert drive(one, 60, seed=9) == drive(other, 60, seed=9)
    assert same_state(one, other)


def test_scaled_rewards_are_learned_from_like_rewards_in_the_unit_interval(agent_name):
    random = np.random.default_rng(14)
    P, R = random.dirichlet(np.ones(3), size=(3, 3)), random.random((3, 3))
    small = el.mdp(P, R, reward_range=(0, 1))
    large = el.mdp(P, -5e5 + 2e6 * R, reward_range=(-5e5, 1.5e6))
    one, other = make_agent(small, agent_name, seed=1), make_agent(large, agent_name, seed=1)
    for (action, reward), (same_action, large_reward) in zip(drive(one), drive(other), strict=True):
        assert action == same_action
        assert large_reward == pytest.approx(-5e5 + 2e6 * reward)
    for name, table in one.snapshot().epistemic.items():
        np.testing.assert_allclose(other.snapshot().epistemic[name], table, atol=1e-7)


def test_it_is_run_by_name(agent_name):
    result = el.run(
        "service-station", agent_name, steps=50, runs=2, parameters=brief_parameters(agent_name), engine="reference"
    )
    assert result.agent == agent_name


def test_what_is_compiled_is_found_by_its_own_source_alone(agent_name):
    """Not by that of its factory, which reaches the interpreter's tables of modules; they grow with every import."""
    design = make_agent("riverswim", agent_name).design
    reached = {function.__module__ for part in (design.act, design.learn) for function in callees(part)}
    assert not reached & {"everlearn.agents.checks", "everlearn.errors", "everlearn.registry"}
