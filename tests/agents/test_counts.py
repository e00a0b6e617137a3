"""What agents with a model count, and the size past which they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import everlearn as el
from everlearn.agents.checks import MOST_ENTRIES
from everlearn.agents.counts import EARNED
from everlearn.agents.knowledge import arrays
from everlearn.errors import InputError
from tests.conformance.brief import make_agent
from tests.refusal import refusal
from tests.worlds import environment_stream, random_mdp


def ring(states: int) -> el.Task:
    step = sparse.csr_array(np.roll(np.eye(states), 1, axis=1))
    return el.mdp([step, step], np.linspace(0, 1, 2 * states).reshape(states, 2), name="ring")


@pytest.mark.parametrize("agent", ["ucrl2", "kl-ucrl", "focus", "tsde", "psrl", "imed-rl", "med-rl"])
def test_a_task_too_large_is_refused(agent):
    with pytest.raises(InputError, check=refusal("agent", agent)):
        make_agent(ring(2739), agent)


def test_a_larger_model_is_refused_earlier():
    el.Agent(ring(2236), "ucrl3")
    with pytest.raises(InputError, check=refusal("agent", "ucrl3")):
        el.Agent(ring(2237), "ucrl3")


@pytest.mark.parametrize(
    ("agent", "tables"), [("ucrl2", 1), ("kl-ucrl", 1), ("focus", 1), ("tsde", 2), ("imed-rl", 2), ("ucrl2b", 3)]
)
def test_the_largest_fits(agent, tables):
    states = 100
    knowledge = make_agent(ring(states), agent).knowledge
    entries = sum(array.nbytes for array in arrays(knowledge).values()) / (2 * states**2)
    assert entries < 8 * tables * 1.1
    assert min(1, 2 / tables) * MOST_ENTRIES * 8 * tables < 256e6


@pytest.mark.parametrize("agent", ["ucrl2", "ucrl2b", "kl-ucrl", "focus", "tsde", "psrl", "imed-rl", "med-rl"])
@pytest.mark.parametrize("task", [random_mdp(3, scale=4e6, low=-1e6), "service-station"], ids=["mdp", "raw"])
def test_counts_are_those_of_what_happened(agent, task):
    one = make_agent(task, agent, seed=2)
    states, actions = one.indexed.states, one.indexed.actions
    environment, reward_range = one.task.start(environment_stream(2)), one.task.reward
    counts, earned = np.zeros((states, actions, states)), np.zeros((states, actions))
    for _ in range(200):
        s, action = one.task.states.index(one.aleatoric_state), one.act()
        reward = one.observe(environment.step(action))
        a = one.task.actions.index(action)
        counts[s, a, one.task.states.index(one.aleatoric_state)] += 1
        earned[s, a] += (reward - reward_range.low) / (reward_range.high - reward_range.low)
    assert one.knowledge.pairs[:, :, :states].tolist() == counts.tolist()
    assert one.inspect()["N"].tolist() == counts.sum(axis=2).tolist()
    np.testing.assert_allclose(one.knowledge.pairs[:, :, EARNED], earned, rtol=1e-12)
