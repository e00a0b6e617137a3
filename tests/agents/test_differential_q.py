"""Differential Q-learning: its literal form, the law that ties Q to the average, and its authors' own figures."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.define import Definition
from tests.agents import rivals
from tests.agents.learned import learned
from tests.agents.side_by_side import compare
from tests.few import few
from tests.refusal import refusal
from tests.worlds import corridor, random_mdp

PAYMENTS, SERVERS, FREED = (1, 2, 4, 8), 10, 0.06


def queue() -> Definition:
    """The access-control queue as the authors simulate it: servers become free before the customer is served.

    So a customer can be accepted where no server was free, and pays if one has become free.
    """
    observed = [(free, pays, served) for free in range(SERVERS + 1) for pays in PAYMENTS for served in (0, 1)]

    @el.task(actions=["reject", "accept"], observations=observed, reward_range=(0, 8), memory=SERVERS)
    def serve(free, action):
        busy, chances = SERVERS - free, {}
        for freed in range(busy + 1):
            served = int(action == "accept" and free + freed > 0)
            chance = comb(busy, freed) * FREED**freed * (1 - FREED) ** (busy - freed)
            chances[free + freed - served, served] = chances.get((free + freed - served, served), 0) + chance
        for (left, served), chance in chances.items():
            for pays in PAYMENTS:
                yield (left, pays, served), chance / 4, left

    serve.reward(lambda head, action, observation: head[1] * observation[2])
    serve.aleatoric(start=(SERVERS, 1))(lambda head, action, observation: observation[:2])
    return serve


@pytest.mark.parametrize(
    ("eta", "step_size", "published"),
    few(
        [
            (0.125, 0.0015625, 2.350),
            (0.125, 0.00625, 2.499),
            (0.5, 0.025, 2.580),
            (2, 0.025, 2.571),
            (2, 0.1, 2.465),
            (0.125, 0.4, 2.444),
            (2, 0.4, 2.283),
        ],
        [(0.5, 0.025, 2.580), (2, 0.4, 2.283)],
    ),
)
def test_it_earns_what_its_authors_report_on_the_access_control_queue(eta, step_size, published):
    # Printed in learning_planning_exps.ipynb of github.com/abhisheknaik96/average-reward-methods, which accompanies the
    # paper: the mean of 30 runs over all 80,000 steps, epsilon = 0.1, with a standard error of 0.002.  So is ours, of
    # 0.002 to 0.004; the tolerance is four of the two together.
    parameters = {"agent.eta": eta, "agent.step_size": step_size}
    final = el.run(queue(), "differential-q", steps=80_000, runs=30, seed=1, parameters=parameters).final
    assert abs(final["mean"] - published) < 4 * np.hypot(final["standard_error"], 0.002)
    assert final["standard_error"] < 0.006


def test_two_steps_by_hand():
    # alpha = 1/2, eta = 1/4; from 0 to 1 for nothing, and back for a reward of 1.
    parameters = {"agent.step_size": 0.5, "agent.eta": 0.25, "agent.initial_average": 0.5}
    agent = el.Agent(corridor(), "differential-q", parameters=parameters)
    agent.observe(1, executed=0)  # delta = 0 - 1/2 + 0 - 0 = -1/2
    assert agent.inspect()["Q"].tolist() == [[-0.25, 0], [0, 0]]
    assert agent.inspect()["average"].tolist() == [0.5 - 1 / 16]
    agent.observe(0, executed=1)  # delta = 1 - 7/16 + max(-1/4, 0) - 0 = 9/16
    assert agent.inspect()["Q"].tolist() == [[-0.25, 0], [0, 9 / 32]]
    assert agent.inspect()["average"].tolist() == [7 / 16 + 9 / 128]


@pytest.mark.parametrize(("alpha", "eta", "epsilon"), [(0.1, 0.5, 0.1), (0.01, 2.0, 0.5), (1.0, 0.25, 1.0)])
def test_it_is_the_literal_form(alpha, eta, epsilon):
    parameters = {"agent.step_size": alpha, "agent.eta": eta, "agent.epsilon": epsilon}
    agent = el.Agent(random_mdp(2), "differential-q", parameters=parameters, seed=3)
    compare(agent, rivals.DifferentialQ(3, 3, agent.indexed.start, alpha, eta, epsilon), seed=3, steps=500)


moves = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=80)


@settings(max_examples=40)
@given(moves=moves, eta=st.sampled_from([0.125, 0.5, 1.0]), step_size=st.sampled_from([0.0625, 0.5, 1.0]))
def test_the_average_moves_by_eta_times_all_that_the_values_move(moves, eta, step_size):
    # Both are moved by the same errors, so average - initial = eta (sum of Q - sum of initial Q), the identity on which
    # the proof of the source rests.
    parameters = {"agent.eta": eta, "agent.step_size": step_size, "agent.initial_average": 0.25}
    agent = el.Agent(random_mdp(8), "differential-q", parameters=parameters)
    for action, following in moves:
        agent.observe(following, executed=action)
    known = agent.inspect()
    total = sum(Fraction(value) for value in known["Q"].ravel())
    assert known["average"][0] - 0.25 == pytest.approx(eta * float(total), abs=1e-11)


@pytest.mark.soak
def test_it_finds_the_best_average_reward_though_it_explores():
    # Off-policy: the estimate goes to the optimum, not to what the exploring agent earns, which is 0.03 less.
    task = random_mdp(2)
    theory = el.Theory(task)
    (known,) = learned(task, "differential-q", steps=400_000, runs=1, seed=1, parameters={"agent.step_size": 0.002})
    assert known["average"][0] == pytest.approx(theory.optimal_average_reward, abs=0.006)


def test_the_step_size_of_the_average_is_at_most_1():
    el.Agent("service-station", "differential-q", parameters={"agent.eta": 4.0, "agent.step_size": 0.25})
    with pytest.raises(InputError, check=refusal("agent.eta", 4.5)):
        el.Agent("service-station", "differential-q", parameters={"agent.eta": 4.5, "agent.step_size": 0.25})


@pytest.mark.parametrize("eta", [0.0, -1.0, "inf"])
def test_it_refuses(eta):
    with pytest.raises(InputError, check=refusal("agent.eta")):
        el.Agent("service-station", "differential-q", parameters={"agent.eta": eta})
