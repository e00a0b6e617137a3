"""The agent that is versatile with a memory: when memory acts, what it knows, and what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents import recent
from everlearn.agents.knowledge import copied
from everlearn.agents.remembering import suspected
from everlearn.protocol import Experience
from tests.worlds import environment_stream

MAZE = {"task.length": 3, "task.window": 1}
"""A maze in which a cue must be remembered on the way through a corridor; half of the optimum needs no memory."""


def drive(agent, steps):
    """Let an agent act; return what it learned from in each step, whether memory acted, and else the planner."""
    environment, log = agent.task.start(environment_stream(1)), []
    for _ in range(steps):
        recall = getattr(agent.knowledge, "recall", {"second": np.ones((1, 1))})
        s, remembers = agent.situation, recall["second"][0, 0] == 0.0
        planner = agent.knowledge.choice["second"][0, 0]
        action = agent.act()
        observation = environment.step(action)
        reward = agent.learned(agent.observe(observation))
        indices = agent.task.actions.index(action), agent.task.observations.index(observation)
        log.append((Experience(s, *indices, reward, agent.situation), remembers, planner))
    return log


@pytest.fixture(scope="module")
def driven():
    agent = el.Agent("t-maze", "remembering", parameters=MAZE, seed=1)
    return agent, drive(agent, 5000)


def test_memory_acts_once_what_was_seen_predicts_what_comes(driven):
    agent, log = driven
    acted = sum(remembers for _, remembers, _ in log)
    assert acted == agent.knowledge.recall["acted"][0, 0] > 1500
    assert not any(remembers for _, remembers, _ in log[:100])
    earned = np.mean([experience.reward for experience, _, _ in log[-1500:]])
    assert earned > 0.9 * el.Theory(agent.task).optimal_average_reward


def test_each_learns_from_the_steps_that_are_its_own(driven):
    """The planner and the actor from those in which they acted; memory from all since the suspicion."""
    agent, log = driven
    known = agent.knowledge
    planned = [planner for _, remembers, planner in log if not remembers]
    assert np.maximum(known.cells["visits"], 0).sum() == sum(planned)
    assert known.choice["acted"][0, 0] == len(planned) - sum(planned)
    assert 0 < sum(planned) < len(planned)
    assert sum(remembers for _, remembers, _ in log) < np.maximum(known.recent_cells["visits"], 0).sum() < len(log)


def test_it_is_versatile_where_nothing_is_hidden():
    agents = [el.Agent("riverswim", name, seed=3) for name in ("versatile", "remembering")]
    assert drive(agents[0], 3000) == drive(agents[1], 3000)
    assert agents[1].knowledge.recall["acted"][0, 0] == 0
    assert agents[1].explain().endswith("What came before is not seen to matter.")


def test_what_is_greedy_is_what_memory_would_do(driven):
    """A frozen agent acts by the values: it turns as the cue says, which the planner cannot."""
    agent = el.Agent("t-maze", "remembering", parameters=MAZE, seed=1)
    agent.restore(driven[0].snapshot())
    agent.knowledge.recall["second"] = 0.0
    environment, rewards = agent.task.start(environment_stream(2)), []
    for _ in range(1000):
        s, action = agent.situation, int(agent.values[agent.situation].argmax())
        observation = agent.indexed.observation(environment.step(agent.task.actions[action]))
        following, reward = agent.indexed.step(s, action, observation)
        agent.remember(Experience(s, action, observation, math.nan, following))
        agent.move(following)
        rewards.append(reward)
    assert np.mean(rewards) > 0.9 * el.Theory(agent.task).optimal_average_reward
    agent.knowledge.recall["second"] = 1.0
    assert np.shares_memory(agent.values, agent.knowledge.cells)


def test_memory_has_no_trial_without_suspicion_however_short_phases_are():
    agent = el.Agent("riverswim", "remembering", parameters={"agent.shortest": 1}, seed=1)
    drive(agent, 300)
    assert agent.knowledge.recall["acted"] == 0


def test_it_learns_nothing_in_memory_without_suspicion():
    agent = el.Agent("t-maze", "remembering", parameters=MAZE, seed=1)
    agent.knowledge.recall["agreed"] = -math.inf
    drive(agent, 300)
    assert (agent.knowledge.codes == recent.FREE).all()
    assert agent.knowledge.recent_run["known"] == 0


def test_it_follows_changes_without_memory(driven):
    knowledge = copied(driven[0].knowledge)
    knowledge.run["follows"] = 0.0
    assert suspected(knowledge) == 1.0
    knowledge.run["follows"] = 1.0
    assert suspected(knowledge) == 0.0


def test_it_says_what_it_remembers(driven):
    agent = driven[0]
    said = agent.explain()
    assert said.startswith("It acts by what it remembers. The aleatoric state ")
    assert "That is the last state and action, now ('" in said
    assert said.endswith(" by memory.")


def test_memory_does_nothing_forbidden(driven):
    agent = el.Agent("t-maze", "remembering", parameters=MAZE, seed=1)
    agent.restore(driven[0].snapshot())
    agent.knowledge.recall["second"] = 0.0
    agent.knowledge.cells["value"][:, 0] = -math.inf
    assert (agent.policy == [0, 1]).all()
    for situation in range(len(agent.task.states)):
        agent.situation = situation
        assert {agent.choose() for _ in range(20)} == {1}


def test_the_policy_has_nothing_forbidden_where_states_share_a_row(driven):
    """A row is forbidden whatever any of its states forbids, so it may be everything."""
    agent = el.Agent("t-maze", "remembering", parameters=MAZE, seed=1)
    agent.restore(driven[0].snapshot())
    agent.knowledge.recall["second"] = 0.0
    agent.knowledge.recent_cells["value"] = -math.inf
    agent.knowledge.cells["value"][::2, 0] = agent.knowledge.cells["value"][1::2, 1] = -math.inf
    assert (agent.policy[::2] == [0, 1]).all()
    assert (agent.policy[1::2] == [1, 0]).all()


def test_a_step_that_is_not_learned_from_is_remembered(driven):
    agent = el.Agent("t-maze", "remembering", parameters=MAZE, seed=1)
    agent.restore(driven[0].snapshot())
    agent.knowledge.seen[:] = 1, 0, 2, 3
    before = agent.exchange_memory()
    agent.remember(Experience(4, 1, 0, math.nan, 5))
    assert agent.knowledge.seen.tolist() == [4, 1, 4, 2]
    present = agent.exchange_memory(before)
    assert agent.knowledge.seen.tolist() == [1, 0, 2, 3]
    agent.exchange_memory(present)
    assert agent.knowledge.seen.tolist() == [4, 1, 4, 2]
    agent.exchange_memory(np.zeros(()))
    assert not agent.exchange_memory().any()
    agent.exchange_memory(np.trim_zeros(present, "b"))
    assert (agent.exchange_memory() == present).all()
