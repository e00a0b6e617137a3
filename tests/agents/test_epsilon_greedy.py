"""Acting epsilon-greedily: how often, with how many draws, and that the policy says so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.agents.checks import check_probability
from everlearn.agents.tabular import epsilon_greedy_action, epsilon_greedy_policy
from everlearn.errors import InputError
from tests.worlds import agent_stream

rows = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=1, max_size=6)


def test_without_epsilon_it_is_greedy_and_draws_nothing():
    stream = agent_stream()
    assert epsilon_greedy_action(np.array([[0.0, 3.0, 1.0]]), 0, 0.0, stream) == 1
    assert stream.random() == agent_stream().random()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_one_draw_decides_whether_to_explore_and_a_second_where(epsilon):
    cells = np.array([[0.0, 3.0, 1.0]])
    for seed in range(60):
        stream, same = agent_stream(seed), agent_stream(seed)
        explores = same.random() < epsilon
        expected = int(same.random() * 3) if explores else 1
        assert epsilon_greedy_action(cells, 0, epsilon, stream) == expected
        assert stream.random() == same.random()


def test_actions_are_as_frequent_as_the_policy_says():
    # 20,000 draws: a share has a standard deviation of at most 0.0035; four of those, for this seed.
    cells, stream, counts = np.array([[2.0, 0.0, 2.0, 1.0]]), agent_stream(3), np.zeros(4)
    for _ in range(20_000):
        counts[epsilon_greedy_action(cells, 0, 0.3, stream)] += 1
    assert np.abs(counts / 20_000 - [0.425, 0.075, 0.425, 0.075]).max() < 0.014
    np.testing.assert_allclose(epsilon_greedy_policy(cells, 0.3), [[0.425, 0.075, 0.425, 0.075]])


@given(row=rows, epsilon=st.floats(0, 1))
def test_every_action_has_its_share_of_epsilon_and_the_greedy_ones_the_rest(row, epsilon):
    (found,) = epsilon_greedy_policy(np.array([row]), epsilon)
    assert found.sum() == pytest.approx(1)
    best = np.array(row) == max(row)
    np.testing.assert_allclose(found[~best], epsilon / len(row), atol=1e-15)
    np.testing.assert_allclose(found[best], epsilon / len(row) + (1 - epsilon) / best.sum(), atol=1e-15)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(epsilon):
    with pytest.raises(InputError, match=f"agent.epsilon: {epsilon}; give a probability"):
        check_probability(epsilon=epsilon)
