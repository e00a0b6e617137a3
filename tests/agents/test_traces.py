"""Sarsa(lambda) and Q(lambda) are the published algorithms; the bounded step does not overshoot."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.perception import all_values
from everlearn.agents.registry import make_design
from everlearn.agents.tabular import greedy_policy
from everlearn.engine.plan import Plan
from everlearn.engine.runner import simulate, table_for
from everlearn.errors import InputError
from everlearn.tasks.registry import make_task
from tests.few import few
from tests.refusal import refusal

LONG = {
    "agent.trace": 0.99,
    "agent.bound": 0,
    "agent.step_size": 0.2,
    "agent.epsilon": 0.3,
    "agent.initial_average": 0,
}
"""With this lambda no step is dropped from the trace in the tests."""


class Literal:
    """Differential semi-gradient Sarsa(lambda) and discounted Watkins's Q(lambda), with a dense vector of traces."""

    def __init__(self, agent: el.Agent, discount: float, eta: float) -> None:
        self.table, self.actions = agent.knowledge.parts, agent.indexed.actions
        self.w = np.zeros((agent.knowledge.weights.shape[0], self.actions))
        self.z = np.zeros_like(self.w)
        self.average, self.discount, self.eta = 0.0, discount, eta
        self.alpha, self.trace = 0.2, 0.99

    def x(self, s: int, a: int) -> np.ndarray:
        vector = np.zeros_like(self.w)
        vector[self.table[s], a] = 1
        return vector

    def q(self, s: int, a: int) -> float:
        return float((self.w * self.x(s, a)).sum())

    def update(self, s: int, a: int, target: float) -> None:
        delta = target - self.average - self.q(s, a)
        self.z = self.discount * self.trace * self.z + self.x(s, a)
        self.w += self.alpha / self.table.shape[1] * delta * self.z
        self.average += self.eta * self.alpha * delta


def steps(agent: el.Agent, number: int) -> list[tuple[int, int, float, int]]:
    """Drive an agent, and return its steps: S, A, R, S'."""
    world, story = agent.task.start(np.random.default_rng(0)), []
    for _ in range(number):
        s, action = agent.situation, agent.act()
        reward = agent.learned(agent.observe(world.step(action)))
        story.append((s, agent.task.actions.index(action), reward, agent.situation))
    return story


def test_differential_sarsa_is_that_of_the_book():
    agent = el.Agent("access-control", "differential-sarsa", parameters={**LONG, "agent.eta": 0.3}, seed=3)
    story = steps(agent, 300)
    literal = Literal(agent, 1.0, 0.3)
    for (s, a, r, _), (following, chosen, _, _) in pairwise(story):
        literal.update(s, a, r + literal.q(following, chosen))
    np.testing.assert_allclose(agent.knowledge.weights, literal.w, rtol=1e-9, atol=1e-12)
    assert agent.knowledge.average[0] == pytest.approx(literal.average)


def test_q_lambda_is_that_of_watkins_with_centred_rewards():
    settings = {**LONG, "agent.horizon": 20, "agent.centring": 0.3}
    agent = el.Agent("access-control", "q-lambda", parameters=settings, seed=3)
    story = steps(agent, 300)
    literal, cut = Literal(agent, 0.95, 0.3), 0
    for s, a, r, following in story:
        if literal.q(s, a) < max(literal.q(s, b) for b in range(2)) - 1e-12:
            literal.z[...], cut = 0, cut + 1
        literal.update(s, a, r + 0.95 * max(literal.q(following, b) for b in range(2)))
    assert 10 < cut < 290
    np.testing.assert_allclose(agent.knowledge.weights, literal.w, rtol=1e-9, atol=1e-12)


HOSTILE = {
    "one for all": lambda s: range(8),
    "few that differ": lambda s: [*range(7), 7 + s],
    "overlapping": lambda s: range(3 * s, 3 * s + 8),
}


@pytest.mark.parametrize("name", ["differential-sarsa", "q-lambda"])
@pytest.mark.parametrize("case", few(HOSTILE, ["overlapping"]))
def test_the_bounded_step_does_not_diverge_where_the_plain_step_does(name, case):
    largest = {}
    for bound in (0, 2):
        features = el.Features(HOSTILE[case], active=8, size=40)
        settings = {"agent.features": features, "agent.step_size": 1, "agent.trace": 0.95, "agent.bound": bound}
        agent = el.Agent("riverswim", name, parameters=settings, seed=1)
        random = np.random.default_rng(3)
        with np.errstate(all="ignore"):
            for _ in range(400):  # actions and observations at random, of which nothing is consistent
                executed = agent.task.actions[random.integers(2)]
                agent.observe(agent.task.observations[random.integers(6)], executed=executed)
        largest[bound] = np.abs(agent.inspect()["Q"]).max()
    assert largest[2] < 200
    if name == "differential-sarsa":  # the traces of q-lambda are cut by actions at random
        assert not largest[0] < 1e4


@pytest.mark.parametrize("name", ["differential-sarsa", "q-lambda"])
def test_a_bounded_step_moves_a_value_by_less_than_its_error(name):
    from everlearn.agents.traces import correct, enter, rows_of

    agent = el.Agent("access-control", name, parameters={"agent.step_size": 1, "agent.trace": 0.9}, seed=1)
    steps(agent, 50)
    knowledge = agent.knowledge
    for delta in (1e-6, 0.5, -3.0, 1e9):
        enter(knowledge, rows_of(knowledge, 5), 1)
        before = agent.inspect()["Q"][5, 1]
        correct(knowledge, delta)
        moved = (agent.inspect()["Q"][5, 1] - before) / delta
        assert 0 < moved <= 0.5 + 1e-6


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("differential-sarsa", {"step_size": 0.003, "initial_average": 1}), ("q-lambda", {"step_size": 0.003})],
)
def test_the_frozen_greedy_policy_of_access_control_is_within_one_percent_of_the_optimum(name, parameters, seed):
    task, kept = make_task("access-control"), []
    plan = Plan(task, make_design(name, parameters), steps=2_000_000, runs=1, seed=seed)
    simulate(plan, table_for(plan), threads=1, finished=kept.append)
    policy, theory = greedy_policy(all_values(kept[0], kept[0].weights)), el.Theory(task)
    assert theory.average_reward(policy) > 0.99 * 2.747642
    assert theory.average_reward(policy) > 0.99 * theory.optimal_average_reward


@pytest.mark.parametrize("name", ["differential-sarsa", "q-lambda"])
def test_what_was_never_tried_looks_best_until_the_greatest_reward_is_found(name):
    agent = el.Agent("riverswim", name, parameters={"agent.initial_average": 1}, seed=1)
    steps(agent, 30)
    values, tried = agent.inspect()["Q"], agent.knowledge.weights != 0
    assert tried.any()
    assert not tried.all()
    assert values[tried].max() < 0 == values[~tried].min()


def test_centring_removes_a_constant_from_the_values_of_q_learning():
    # A constant added to every reward raises plain values by the constant times the horizon, and centred ones hardly.
    random = np.random.default_rng(1)
    matrices, rewards = random.dirichlet(np.ones(3), (3, 2)), random.random((3, 2))
    largest = {}
    for centring in (0.0, 0.5):
        task = el.mdp(matrices.swapaxes(0, 1), rewards + 9, reward_range=(0, 10))
        settings = {"agent.centring": centring, "agent.horizon": 100, "agent.step_size": 0.2}
        agent = el.Agent(task, "q-learning", parameters=settings, seed=1)
        steps(agent, 2000)
        largest[centring] = np.abs(agent.inspect()["Q"]).max()
    assert largest[0.0] > 60
    assert largest[0.5] < 10


@pytest.mark.parametrize(("trace", "horizon"), [(1.0, 1e5), (0.999, 1e9), (0.8, 50.0)])
def test_the_sum_of_a_trace_is_that_of_the_steps_in_it(trace, horizon):
    from everlearn.agents.traces import FILLED, TOTAL, enter, rows_of

    settings = {"agent.trace": trace, "agent.horizon": horizon}
    knowledge = el.Agent("riverswim", "q-lambda", parameters=settings).knowledge
    for _ in range(3000):
        enter(knowledge, rows_of(knowledge, 0), 0)
    total = knowledge.parts.shape[1] * sum(knowledge.decay**i for i in range(int(knowledge.past[FILLED])))
    assert knowledge.past[TOTAL] == pytest.approx(total, rel=2e-3)  # faint steps are dropped


@pytest.mark.parametrize("name", ["differential-sarsa", "q-lambda"])
@pytest.mark.parametrize("trace", [-0.5, 1.5])
def test_a_trace_that_is_no_probability_is_refused(name, trace):
    with pytest.raises(InputError, check=refusal("agent.trace", trace)):
        el.Agent("riverswim", name, parameters={"agent.trace": trace})


def test_features_that_are_a_list_are_refused():
    with pytest.raises(InputError, check=refusal("features", [1, 2])):
        el.Agent("riverswim", "q-lambda", parameters={"agent.features": [1, 2]})
