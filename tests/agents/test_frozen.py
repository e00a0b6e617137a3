"""The learned state, frozen: it answers every question of the tree as the agent does, and its policy is the agent's."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.frozen import Kept, needed
from everlearn.agents.learned import leaf
from everlearn.agents.past import update
from everlearn.errors import InputError
from tests.refusal import refusal
from tests.worlds import environment_stream, random_mdp


def grown(task: object, steps: int = 2500, **parameters: object) -> el.Agent:
    """An agent whose tree has many questions, useful or not."""
    agent = el.Agent(task, "learned", parameters={"agent.effect": 0.0, **parameters}, seed=2)
    agent.knowledge = agent.knowledge._replace(threshold=-1e9)
    environment = agent.task.start(environment_stream(2))
    for _ in range(steps):
        agent.observe(environment.step(agent.act()))
    return agent


def test_the_frozen_state_leads_to_the_leaf_of_the_agent():
    agent = grown(random_mdp(3, states=3, actions=2))
    kept, knowledge, random = Kept(agent.knowledge), agent.knowledge, np.random.default_rng(1)
    assert agent.inspect()["leaves"][0] > 10
    knowledge.past[:] = knowledge.sizes.begin()
    memory = kept.memory(knowledge.sizes.begin())
    for _ in range(600):
        action, observation = int(random.integers(2)), int(random.integers(3))
        past = kept.past(memory)
        update(past, knowledge.sizes, action, observation)
        memory = kept.memory(past)
        update(knowledge.past, knowledge.sizes, action, observation)
        leaves = [leaf(knowledge, state) for state in range(3)]
        assert [leaf(knowledge._replace(past=kept.past(memory)), state) for state in range(3)] == leaves


def test_every_feature_follows_from_what_it_needs():
    sizes, random = grown("alternating", 1).knowledge.sizes, np.random.default_rng(2)
    steps = random.integers(0, [sizes.actions, sizes.observations], (300, 2)).tolist()
    for feature in range(len(sizes.kinds)):
        places, past, part = needed(sizes, feature), sizes.begin(), sizes.begin()
        for action, observation in steps:
            update(past, sizes, action, observation)
            alone = sizes.begin()
            alone[places] = part[places]
            update(alone, sizes, action, observation)
            part = alone
            assert part[feature] == past[feature]


def test_the_policy_is_greedy_in_the_leaf():
    agent = grown("alternating", 500)
    task, policy = el.freeze(agent)
    assert policy.shape == (len(task.states), len(task.actions))
    assert policy.sum(axis=1).tolist() == pytest.approx([1] * len(task.states))
    assert el.Theory(task).average_reward(policy) <= 1 + 1e-9


def test_only_a_learned_state_can_be_frozen():
    with pytest.raises(InputError, check=refusal("agent", "growing-horizon")):
        el.freeze(el.Agent("alternating"))


def test_a_result_is_no_agent():
    with pytest.raises(InputError, check=refusal("agent", "Result")):
        el.freeze(el.run("alternating", "learned", steps=10, engine="reference"))
