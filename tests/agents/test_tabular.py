"""What value learners share: numbers of the run, greedy and epsilon-greedy actions, and how many draws these take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.checks import check_probability
from everlearn.agents.tabular import epsilon_greedy_action, epsilon_greedy_policy, latest_rows
from everlearn.errors import InputError
from tests.refusal import refusal
from tests.worlds import agent_stream, random_mdp


@given(states=st.integers(1, 5), paths=st.lists(st.lists(st.integers(0, 4), max_size=30), min_size=1, max_size=4))
def test_the_row_entered_last_is_found(states, paths):
    entered, expected = np.zeros((len(paths), states)), []
    for run, path in enumerate(paths):
        here = 0  # all rows are alike before the first step, so the first will do
        for t, place in enumerate(path, start=1):
            here = place % states
            entered[run, here] = t
        expected.append(run * states + here)
    assert latest_rows(entered.ravel(), states).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), max_size=60))
def test_a_sum_that_moves_from_row_to_row_is_the_sum(steps):
    carried, entered, here = np.zeros(4), np.zeros(4), 0
    for t, (following, added) in enumerate(steps, start=1):
        carried[following] = carried[here] + added
        entered[following] = t
        here = following
    assert carried[latest_rows(entered, 4)].tolist() == [sum(added for _, added in steps)]


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
    with pytest.raises(InputError, check=refusal("agent.epsilon")):
        check_probability(epsilon=epsilon)
