"""The practical schedule, written out again: optimism that follows what varies, and actions that are held."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.growing_horizon import growing_horizon
from everlearn.agents.registry import make_schedule
from everlearn.errors import Changed, InputError
from tests.refusal import has, refusal
from tests.worlds import environment_stream, random_mdp


class Transcribed:
    """Q-learning with the bonus written out; values are Q themselves, and means are of targets less c.

    ``held`` has for each state in which an action is held that action and for how many visits more.
    """

    def __init__(self, states: int, actions: int, **constants: float) -> None:
        self.constants = constants
        self.Q, self.N, self.mean, self.variance = (np.zeros((states, actions)) for _ in range(4))
        self.Q += 1.0
        self.held: dict[int, tuple[int, int]] = {}

    def may_take(self, s: int, a: int) -> bool:
        return self.held[s][0] == a if s in self.held else bool(self.Q[s, a] > self.Q[s].max() - 1e-9)

    def learn(self, t: int, s: int, a: int, reward: float, following: int) -> None:
        c = self.constants
        horizon = c["horizon_scale"] * t ** c["horizon_power"]
        before = c["horizon_scale"] * (t - 1) ** c["horizon_power"]
        optimism = c["optimism_scale"] * t ** c["optimism_power"] * math.sqrt(math.log(2 * t**2))
        self.Q += horizon - before
        self.N[s, a] += 1
        n, w = self.N[s, a], c["step_weight"] * horizon
        if c["forgetting"] and (1 + w) / (n + w) < c["forgetting"]:
            n = (1 + w) / c["forgetting"] - w  # with which the step size is what is asked for
        alpha = (1 + w) / (n + w)
        target = reward + (1 - 1 / horizon) * self.Q[following].max()
        error = target - (1 + horizon) - self.mean[s, a]
        self.mean[s, a] += alpha * error
        self.variance[s, a] = (1 - alpha) * (self.variance[s, a] + alpha * error**2)
        sigma = math.sqrt(self.variance[s, a])
        bonus = optimism * ((c["doubt"] + sigma) / math.sqrt(n) + c["rarity"] * horizon / n)
        self.Q[s, a] = min((1 - alpha) * self.Q[s, a] + alpha * (target + bonus), horizon)
        before_action, before_visits = self.held.pop(s, (None, 0))
        remembered = min(n, 1 / c["forgetting"]) if c["forgetting"] else n
        longest = math.floor(min(c["persistence"] * remembered, c["persistence_most"]))
        visits = before_visits - 1 if before_action == a else longest
        if visits > 0:
            self.held[s] = a, visits


@pytest.mark.parametrize(("task", "forgetting"), [("mdp", 0.0), ("service-station", 0.0), ("service-station", 0.03)])
def test_it_is_what_it_says(task, forgetting):
    world = random_mdp(3) if task == "mdp" else task
    chosen = {"schedule.forgetting": forgetting}
    agent = el.Agent(world, schedule="practical", seed=1, parameters=chosen)
    constants = dict(make_schedule("practical", {"forgetting": forgetting}).parameters)
    other = Transcribed(agent.indexed.states, agent.indexed.actions, **constants)
    environment, random = agent.task.start(environment_stream(1)), np.random.default_rng(1)
    reward_range = agent.task.reward
    for t in range(1, 2001):
        s = agent.indexed.state(agent.aleatoric_state)
        action = agent.indexed.action(agent.act())
        assert other.may_take(s, action)
        if random.random() < 0.1:  # as where a command was overridden
            action = int(random.integers(agent.indexed.actions))
        reward = agent.observe(environment.step(agent.task.actions[action]), executed=agent.task.actions[action])
        scaled = (reward - reward_range.low) / (reward_range.high - reward_range.low)  # also where a task is raw
        other.learn(t, s, action, scaled, agent.indexed.state(agent.aleatoric_state))
    found = agent.inspect()
    np.testing.assert_allclose(found["Q"], other.Q, rtol=1e-9)
    np.testing.assert_array_equal(found["N"], other.N)
    np.testing.assert_allclose(found["sigma"], np.sqrt(other.variance), rtol=1e-6, atol=1e-9)


def test_the_policy_is_what_it_would_do_where_an_action_is_held():
    agent = el.Agent("service-station", schedule="practical", seed=3)
    environment = agent.task.start(environment_stream(3))
    held = 0
    for _ in range(3000):
        s, action = agent.indexed.state(agent.aleatoric_state), agent.indexed.action(agent.act())
        assert agent.policy[s, action] > 0
        held += agent.knowledge.cells["left"][s, 0] >= 1 and agent.knowledge.cells["value"][s].argmax() != action
        agent.observe(environment.step(agent.task.actions[action]))
    assert held > 100, "it never held what is not greedy, so that nothing was shown"


def test_without_its_additions_it_is_the_papers_agent():
    plain_again = {"step_weight": 2.0, "doubt": None, "rarity": 0.0, "persistence": 0.0, "unit": False}
    schedule = replace(make_schedule("practical"), **plain_again)
    names = ("horizon_scale", "horizon_power", "optimism_scale", "optimism_power")
    same = {f"schedule.{name}": schedule.parameters[name] for name in names}
    plain = el.run("service-station", schedule="smooth", steps=5_000, runs=3, seed=1, parameters=same)
    bare = el.run("service-station", growing_horizon(schedule=schedule), steps=5_000, runs=3, seed=1)
    np.testing.assert_array_equal(plain.total_reward, bare.total_reward)


def test_the_papers_schedules_keep_nothing_more():
    for name, columns in (("smooth", 2 * 2), ("fixed", 2 * 2), ("change-points", 3 * 2), ("practical", 4 * 2 + 2)):
        agent = el.Agent("service-station", schedule=name)
        assert agent.snapshot().epistemic["cells"].shape == (2, columns), name


@pytest.mark.soak
def test_optimism_that_follows_what_varies_goes_with_counts_that_are_scaled():
    forgetting = replace(make_schedule("change-points", {"optimism_scale": 0.1}), doubt=0.2, rarity=0.1)
    runs = [
        el.run("service-station", growing_horizon(schedule=forgetting), steps=3_000, runs=2, seed=1, engine=engine)
        for engine in ("compiled", "reference")
    ]
    np.testing.assert_array_equal(runs[0].total_reward, runs[1].total_reward)
    agent = el.Agent("service-station", growing_horizon(schedule=forgetting))
    assert agent.snapshot().epistemic["cells"].shape == (2, 10)
    assert set(agent.inspect()) == {"Q", "N", "sigma"}


def test_forgetting_can_be_changed_while_an_agent_lives(tmp_path):
    """What was learned stays, and what is new moves the values by the new step size."""
    setup = {"agent": "growing-horizon", "actions": ["go"], "observations": ["seen"], "reward_range": [0, 1]}
    with el.live(tmp_path, **setup) as agent:
        for _ in range(2000):
            agent.observe("seen", executed="go", reward=1.0)
    with pytest.raises(Changed, check=has(keys=["schedule.forgetting"])):
        el.live(tmp_path, **setup, parameters={"schedule.forgetting": 0.5})
    with el.live(tmp_path, **setup, parameters={"schedule.forgetting": 0.5}, accept_changes=True) as agent:
        before = agent.core.agent.inspect()["sigma"][1, 0]
        agent.observe("seen", executed="go", reward=0.0)
        assert agent.core.agent.inspect()["N"][1].tolist() == [2000.0]
        assert agent.core.agent.inspect()["sigma"][1, 0] > before + 0.3


def test_a_step_size_above_one_is_refused():
    with pytest.raises(InputError, check=refusal("schedule.forgetting", 1.5)):
        make_schedule("practical", {"forgetting": 1.5})


@pytest.mark.parametrize("name", ["step_weight", "doubt", "rarity", "persistence", "persistence_most", "forgetting"])
@pytest.mark.parametrize("value", [-0.1, math.inf, math.nan])
def test_what_it_refuses(name, value):
    with pytest.raises(InputError, check=refusal(f"schedule.{name}")):
        make_schedule("practical", {name: value})
