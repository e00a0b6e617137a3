"""Acting greedily: which actions, how often, and how many draws it takes."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from tests.worlds import agent_stream, random_mdp


def agent_with_values(values: list[float], seed: int = 0) -> el.Agent:
    """An agent in a world of one state, whose actions have these values."""
    actions = len(values)
    task = el.mdp(np.ones((actions, 1, 1)), np.zeros((1, actions)))
    parameters = {"agent.q_init": [values], "agent.optimism": 1}
    return el.Agent(task, "discounted-subroutine", parameters=parameters, seed=seed)


@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0], [-2.0, -1.0, -3.0], [7.0]])
def test_one_maximiser_is_taken_without_a_draw(values):
    agent = agent_with_values(values)
    assert agent.act() == int(np.argmax(values))
    assert agent.stream.random() == agent_stream().random()
    assert agent.policy[0].tolist() == [float(value == max(values)) for value in values]


@pytest.mark.parametrize(
    ("values", "best"),
    [([2.0, 2.0], [0, 1]), ([2.0, 1.0, 2.0], [0, 2]), ([1.0, 5.0, 5.0, 5.0], [1, 2, 3]), ([0.0] * 12, list(range(12)))],
)
def test_ties_are_broken_by_one_draw_in_the_order_of_the_actions(values, best):
    for seed in range(30):
        agent, stream = agent_with_values(values, seed), agent_stream(seed)
        assert agent.act() == best[int(stream.random() * len(best))]
        assert agent.stream.random() == stream.random()
    assert agent.policy[0].tolist() == [(a in best) / len(best) for a in range(len(values))]


def test_a_later_maximiser_undoes_earlier_ties():
    for values in ([1.0, 1.0, 2.0], [1.0, 1.0, 2.0, 1.0], [0.0, 1.0, 0.0, 1.0, 3.0]):
        assert agent_with_values(values).act() == int(np.argmax(values))


def test_all_maximisers_are_taken_equally_often():
    # 3000 draws: a share is 1/3 with standard deviation 0.0086; four of those, for this seed.
    agent, counts = agent_with_values([4.0, 4.0, 4.0], seed=5), np.zeros(3)
    begun = agent.snapshot()
    for _ in range(3000):
        counts[agent.act()] += 1
        begun.algorithmic["stream"] = agent.snapshot().algorithmic["stream"]
        agent.restore(begun)
    assert np.abs(counts / 3000 - 1 / 3).max() < 0.035


def test_many_actions_are_searched_like_few():
    task = random_mdp(3, states=2, actions=40)
    agent = el.Agent(task, "growing-horizon", schedule="smooth", seed=1)
    for t in range(200):
        allowed = np.flatnonzero(agent.policy[task.states.index(agent.aleatoric_state)])
        assert task.actions.index(agent.act()) in allowed
        agent.observe(t % 2)
