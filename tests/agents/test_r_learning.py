"""R-learning: its literal form, and the example of the book."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError
from tests.agents import rivals
from tests.agents.learned import learned
from tests.agents.side_by_side import compare
from tests.refusal import refusal
from tests.worlds import corridor, random_mdp

ACCEPT, REJECT = 0, 1


@pytest.fixture(scope="module")
def queue_after_two_million_steps() -> list[dict[str, np.ndarray]]:
    return learned("access-control", "r-learning", steps=2_000_000, runs=20, seed=1)


@pytest.mark.soak
def test_it_learns_the_average_of_the_book_on_the_access_control_queue(queue_after_two_million_steps):
    # Sutton and Barto (1998), Figure 6.17: with alpha = beta = 0.01 and epsilon = 0.1, after 2 million steps, the value
    # learned for rho was about 2.73.  With beta = 0.01 one run's rho wanders by about 0.3, so the mean of 20 has a
    # standard error of 0.07; the tolerance is three of those.  Half of the book's customers are of high priority; here
    # half pay 4 or 8 and the optimum is 2.7476.  If half paid 8 it would be 3.73, which cannot be what the book had.
    averages = [8 * known["average"][0] for known in queue_after_two_million_steps]
    assert abs(np.mean(averages) - 2.73) < 0.2
    assert np.std(averages) < 0.5


@pytest.mark.soak
def test_it_learns_the_policy_of_the_book_on_the_access_control_queue(queue_after_two_million_steps):
    # What policy iteration on the queue's matrices says: those who pay 4 or 8 are always accepted, those who pay 2 from
    # four free servers on, those who pay 1 never.  More than six free servers are seldom seen, as in Figure 6.17.
    states = el.Agent("access-control", "always").task.states
    value = np.mean([known["Q"] for known in queue_after_two_million_steps], axis=0)
    accepts = {state: row[ACCEPT] > row[REJECT] for state, row in zip(states, value, strict=True)}
    assert all(accepts[free, pays] for free in range(1, 8) for pays in (4, 8))
    assert [accepts[free, 2] for free in range(1, 8)] == [False] * 3 + [True] * 4
    assert not any(accepts[free, 1] for free in range(1, 7))


@pytest.mark.soak
def test_it_earns_nearly_what_the_best_policy_with_its_exploration_does():
    # The best policy followed epsilon-greedily, epsilon = 0.1, earns 2.6469, by solving its chain.
    final = el.run("access-control", "r-learning", steps=1_000_000, runs=4, seed=1).final
    assert 2.6 < final["mean"] < 2.6469


def test_two_steps_by_hand():
    # alpha = 1/2, beta = 1/4; from 0 to 1 for nothing, and back for a reward of 1.
    parameters = {"agent.step_size": 0.5, "agent.average_step_size": 0.25, "agent.initial_average": 0.5}
    agent = el.Agent(corridor(), "r-learning", parameters=parameters)
    agent.observe(1, executed=0)  # Q = -1/4, which is not the greatest of 0: the average stays
    assert agent.inspect()["Q"].tolist() == [[-0.25, 0], [0, 0]]
    assert agent.inspect()["average"].tolist() == [0.5]
    agent.observe(0, executed=1)  # Q = 1/4, the greatest: the average moves by (1 - 1/2 + 0 - 1/4) / 4
    assert agent.inspect()["Q"].tolist() == [[-0.25, 0], [0, 0.25]]
    assert agent.inspect()["average"].tolist() == [0.5 + 1 / 16]


def test_a_step_that_stays_sees_its_own_new_value():
    # In a world of one state max Q(s') is max Q(s), before and after: what is left of the error is r - rho.
    agent = el.Agent(el.mdp([[[1.0]]], [[1.0]], reward_range=(0, 1)), "r-learning", parameters={"agent.step_size": 0.5})
    agent.observe(0, executed=0)
    assert agent.inspect()["Q"].tolist() == [[0.5]]
    assert agent.inspect()["average"].tolist() == [0.01]


@pytest.mark.parametrize(("alpha", "beta", "epsilon"), [(0.1, 0.05, 0.1), (0.01, 0.3, 0.5), (1.0, 0.1, 1.0)])
def test_it_is_the_literal_form(alpha, beta, epsilon):
    parameters = {"agent.step_size": alpha, "agent.average_step_size": beta, "agent.epsilon": epsilon}
    agent = el.Agent(random_mdp(2), "r-learning", parameters=parameters, seed=3)
    compare(agent, rivals.RLearning(3, 3, agent.indexed.start, alpha, beta, epsilon), seed=3, steps=500)


def test_it_refuses():
    with pytest.raises(InputError, check=refusal("agent.average_step_size", 0.0)):
        el.Agent("service-station", "r-learning", parameters={"agent.average_step_size": 0})
