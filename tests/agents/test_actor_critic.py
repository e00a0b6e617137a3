"""The actor follows the gradient of the average reward, whatever is hidden; the critic is bounded."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.engine.runner import simulate, table_for
from everlearn.engine.stepping import CompiledFunctions
from everlearn.errors import InputError
from everlearn.protocol import Experience
from everlearn.tasks.registry import make_task
from tests.few import few


@el.task(actions=["ring", "knock"], observations=["nobody", "somebody"], memory="day", reward_range=(0, 1), hidden=True)
def blind(memory, action):
    """By day, ringing pays and night falls; by night, knocking pays, and then it is day.  All look the same."""
    answered = (memory == "day") == (action == "ring")
    yield ("somebody" if answered else "nobody"), 1.0, ("night" if memory == "day" and answered else "day")


@blind.reward
def paid(s, action, observation):
    """Pay if somebody answers."""
    return float(observation == "somebody")


@blind.aleatoric("any time", states=["any time"])
def forget(s, action, observation):
    """Keep nothing."""
    return "any time"


BEST, GREATEST = math.sqrt(3) - 1, 4 - 2 * math.sqrt(3)
"""With probability p of ringing, it is day in a share 1 / (1 + p) of the steps, and the average is
(p + (1 - p) p) / (1 + p): 1/2 for p = 1/2 and p = 1, and 0 for p = 0.  It is greatest where p^2 + 2p = 2."""


def steps(agent: el.Agent, number: int, seed: int = 0) -> list[Experience]:
    """Drive an agent, and return its steps."""
    world, story = agent.task.start(np.random.default_rng(seed)), []
    for _ in range(number):
        s, action = agent.situation, agent.act()
        reward = agent.learned(agent.observe(world.step(action)))
        story.append(Experience(s, agent.task.actions.index(action), 0, reward, agent.situation))
    return story


class Literal:
    """The formulas of the module, with dense vectors and nothing left out."""

    def __init__(self, agent: el.Agent) -> None:
        knowledge = agent.knowledge
        self.k, size, actions = knowledge.settings, len(knowledge.cells), agent.indexed.actions
        self.f = np.zeros((len(knowledge.parts), size))
        for s, row in enumerate(knowledge.parts):
            self.f[s, row] = 1
        self.gradient, self.variance, self.z = (np.zeros((size, actions)) for _ in range(3))
        self.w, self.count, self.credit, self.pace = (np.zeros(2 * size) for _ in range(4))
        self.m, self.average, self.t = np.zeros(size), 0.0, 0

    def policy(self, s: int) -> np.ndarray:
        k = self.k
        known = np.where(self.variance > 0, self.variance, np.inf)
        preference = k.evidence * self.f[s] @ (self.gradient / np.sqrt(known))
        soft = np.exp(preference - preference.max())
        return (1 - k.epsilon) * soft / soft.sum() + k.epsilon / len(soft)

    def learn(self, x: Experience) -> None:
        self.t += 1
        k, tau = self.k, max(self.k.horizon_scale * self.t**self.k.horizon_power, 1)
        f, before = self.f[x.aleatoric_state], self.m
        self.m = (1 - 1 / k.memory) * before + f / k.memory
        seen, following = np.append(f, before), np.append(self.f[x.next_aleatoric_state], self.m)
        delta = x.reward - self.average + self.w @ following - self.w @ seen
        self.average += (x.reward - self.average) / self.t
        score = np.eye(len(self.z.T))[x.action] - self.policy(x.aleatoric_state)
        self.z = (1 - 1 / tau) * self.z + f[:, None] * score
        self.gradient += math.sqrt(self.t) * delta * self.z
        self.variance += self.t * (delta * self.z) ** 2
        self.credit = (1 - 1 / k.trace) * self.credit + seen
        self.count += np.append(f, np.zeros_like(f))
        active = np.append(f, f) > 0
        self.pace[active] = np.maximum(self.count[active], 1) ** -0.6
        step = k.step_size / (2 * f.sum()) * self.pace * self.credit
        self.w += delta * step * min(1, 0.5 / step.sum())
        self.count += np.append(np.zeros_like(f), self.m**2)


@pytest.mark.parametrize("features", few(["onehot", "pairs"], ["pairs"]))
def test_it_does_what_the_formulas_say(features):
    settings = {"agent.features": features, "agent.memory": 3, "agent.trace": 2}
    agent = el.Agent("queueing-network", "actor-critic", parameters=settings, seed=3)
    literal = Literal(agent)
    for step in steps(agent, 15):  # nothing is faint yet
        literal.learn(step)
    cells, past = agent.knowledge.cells, agent.knowledge.past
    np.testing.assert_allclose(cells["gradient"], literal.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(cells["variance"], literal.variance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(cells["weight"].T.ravel(), literal.w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(past["mean"][:, 0], literal.m, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(agent.policy, [literal.policy(s) for s in range(16)], rtol=1e-9)


def softmax(preferences: np.ndarray) -> np.ndarray:
    soft = np.exp(preferences)
    return soft / soft.sum(axis=1, keepdims=True)


def exact_gradient(theory: el.Theory, preferences: np.ndarray, size: float = 1e-4) -> np.ndarray:
    """Return the derivative of the exact average reward in each preference, by central differences."""
    result = np.zeros_like(preferences)
    for place in np.ndindex(*preferences.shape):
        change = np.zeros_like(preferences)
        change[place] = size
        up, down = (theory.average_reward(softmax(preferences + sign * change)) for sign in (1, -1))
        result[place] = (up - down) / (2 * size)
    return result


@pytest.mark.parametrize("number", few([10_000, 400_000], [10_000]))
def test_its_mean_gradient_is_that_of_the_exact_average_reward(number):
    # States look alike in pairs.  The variance is so large that the policy stays what it is.
    task = make_task("garnet", {"states": 3, "actions": 2, "group": 2, "distortion": 0.5, "seed": 3})
    preferences, large = np.array([[0.0, 0.3], [0.0, -0.5], [0.6, 0.0]]), 1e12
    settings = {"agent.epsilon": 0, "agent.horizon_scale": 20, "agent.horizon_power": 0}
    agent = el.Agent(task, "actor-critic", parameters=settings, seed=1)
    agent.use(CompiledFunctions(agent.design))
    cells = agent.knowledge.cells
    cells["variance"], cells["gradient"] = large**2, preferences * large
    np.testing.assert_allclose(agent.policy, softmax(preferences), rtol=1e-12)
    steps(agent, number)
    weights = np.sqrt(np.arange(1, number + 1)).sum()
    found = (cells["gradient"] - preferences * large) / weights * (task.reward.high - task.reward.low)
    exact = exact_gradient(el.Theory(task), preferences)
    np.testing.assert_allclose(found, exact, atol=0.0055 * math.sqrt(10_000 / number))


def test_it_finds_the_best_randomisation_where_everything_looks_the_same():
    agent = el.Agent(blind, "actor-critic", seed=1)
    agent.use(CompiledFunctions(agent.design))
    steps(agent, 15_000)
    theory = el.Theory(blind.finish())
    assert theory.average_reward([[BEST, 1 - BEST]]) == pytest.approx(GREATEST)
    assert agent.policy[0, 0] == pytest.approx(BEST, abs=0.08)
    assert theory.average_reward(agent.policy) > 0.99 * GREATEST > 1.06 * theory.average_reward([[0.5, 0.5]])


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2])
def test_it_loses_less_than_a_tenth_where_values_of_actions_mislead(seed):
    result = el.run("queueing-network", "actor-critic", steps=1e6, runs=3, seed=seed, threads=1)
    assert result.final["min"] > 0.9 * el.Theory("queueing-network").optimal_average_reward


@pytest.mark.soak
def test_the_policy_that_it_ends_with_is_nearly_the_best():
    task, kept = make_task("queueing-network"), []
    plan = Plan(task, make_design("actor-critic"), 10_000_000, runs=1, seed=2)
    simulate(plan, table_for(plan), threads=1, finished=kept.append)
    theory = el.Theory(task)
    assert theory.average_reward(make_design("actor-critic").policy(kept[0])) > 0.98 * theory.optimal_average_reward


HOSTILE = {
    "one for all": lambda s: range(8),
    "few that differ": lambda s: [*range(7), 7 + s],
    "overlapping": lambda s: range(3 * s, 3 * s + 8),
}


@pytest.mark.parametrize("case", few(HOSTILE, ["overlapping"]))
def test_hostile_features_make_the_critic_too_large_without_the_bound_alone(case, monkeypatch):
    largest = {}
    for bound in (0.5, math.inf):
        monkeypatch.setattr("everlearn.agents.actor_critic.BOUND", bound)
        features = el.Features(HOSTILE[case], active=8, size=40)
        settings = {"agent.features": features, "agent.step_size": 1, "agent.trace": 1000, "agent.memory": 1}
        agent = el.Agent("riverswim", "actor-critic", parameters=settings, seed=1)
        random = np.random.default_rng(3)
        for _ in range(200):  # actions and observations at random, of which nothing is consistent
            executed = agent.task.actions[random.integers(2)]
            agent.observe(agent.task.observations[random.integers(6)], executed=executed)
        largest[bound] = np.abs(agent.inspect()["V"]).max()
    assert largest[0.5] < 0.2 < 1 < largest[math.inf]


def test_a_step_of_the_critic_changes_its_value_by_at_most_half_of_the_error():
    from everlearn.agents.actor_critic import BOUND, enter, fade, notice, rows_of

    settings = {"agent.features": "pairs", "agent.step_size": 1, "agent.trace": 100}
    agent = el.Agent("queueing-network", "actor-critic", parameters=settings, seed=1)
    steps(agent, 300)
    knowledge = agent.knowledge
    rows = rows_of(knowledge, 5)
    _, _, total = fade(knowledge, 100.0)
    notice(knowledge, rows)
    total += enter(knowledge, rows, 5, 1)
    moves = knowledge.cells["pace"] * knowledge.past["credit"]
    assert total == pytest.approx(moves.sum())
    assert total > 1  # so that the bound matters
    assert BOUND / total * moves[knowledge.parts[5], 0].sum() <= 0.5


def test_a_feature_that_was_not_active_for_long_leaves_the_traces_and_comes_back():
    settings = {"agent.memory": 2, "agent.trace": 2, "agent.horizon_scale": 2, "agent.horizon_power": 0}
    agent = el.Agent("riverswim", "actor-critic", parameters=settings, seed=1)

    def see(observation: int, times: int) -> dict:
        for _ in range(times):
            agent.observe(observation, executed="left")
        return {name: agent.knowledge.past[name].copy() for name in ("trace", "credit", "mean", "age", "live")}

    see(4, 1)
    past = see(1, 12)
    assert past["live"][:, 0].tolist() == [1, 5, 2, 0, 0, 0]
    assert past["mean"][4, 0] > 0
    past = see(1, 12)
    assert past["live"][:, 0].tolist() == [2, 0, 0, 0, 0, 0]
    assert not any(past[name][[0, 4]].any() for name in ("trace", "credit", "mean", "age"))
    past = see(4, 2)
    assert past["live"][:, 0].tolist() == [2, 5, 0, 0, 0, 0]
    assert past["mean"][4, 0] == 0.5


def test_a_step_that_is_not_learned_from_is_remembered_and_cuts_the_traces():
    agent = el.Agent("queueing-network", "actor-critic", seed=1)
    *_, last = steps(agent, 50)
    knowledge, cells, mean = agent.knowledge, agent.knowledge.cells.copy(), agent.knowledge.past["mean"].copy()
    agent.remember(last)
    assert not knowledge.past["trace"].any()
    assert not knowledge.past["credit"].any()
    expected = (1 - 1 / 16) * mean[:, 0]
    expected[knowledge.parts[last.aleatoric_state]] += 1 / 16
    np.testing.assert_allclose(knowledge.past["mean"][:, 0], expected)
    assert np.array_equal(knowledge.cells, cells)


def test_it_acts_with_the_probabilities_that_it_tells():
    agent = el.Agent("queueing-network", "actor-critic", seed=2)
    steps(agent, 200)
    row = agent.policy[agent.situation]
    counts = np.bincount([agent.choose() for _ in range(4000)], minlength=4)
    np.testing.assert_allclose(counts / 4000, row, atol=4 * math.sqrt(0.25 / 4000))
    assert row.min() >= 0.005 / 4


@pytest.mark.parametrize(
    ("name", "value"),
    [("evidence", 0), ("epsilon", 2), ("horizon_power", -1), ("memory", 0.5), ("trace", 0), ("step_size", 2)],
)
def test_parameters_that_make_no_sense_are_refused(name, value):
    with pytest.raises(InputError) as raised:
        make_design("actor-critic", {name: value})
    assert raised.value.argument == f"agent.{name}"
