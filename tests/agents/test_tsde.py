"""TSDE and PSRL against their literal transcriptions, episodes worked out by hand, and a published regret."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.counts import REWARD
from everlearn.agents.sampling import fill_log_gamma, normalise
from everlearn.errors import InputError
from everlearn.randomness import KEY, WORDS, draw_key, seed_words, stream_of
from tests.agents.episodic import Psrl, Tsde
from tests.few import few
from tests.refusal import refusal
from tests.worlds import agent_stream, environment_stream, random_mdp

PRIOR = 1.0


def model_drawer(seed: int, mean: bool):
    """What is drawn in episode k: from the stream numbered k, pair by pair, transitions first."""
    key = np.zeros(KEY)
    draw_key(key, agent_stream(seed))

    def draw(k, counts, earned):
        room = np.zeros(WORDS, dtype=np.uint64)
        seed_words(room, key, k)
        P, R = counts + PRIOR, np.zeros_like(earned)
        for s, a in np.ndindex(earned.shape):
            bad_and_good = np.array([1 + counts[s, a].sum() - earned[s, a], 1 + earned[s, a]])
            R[s, a] = bad_and_good[1] / bad_and_good.sum()
            for row in (P[s, a], bad_and_good):
                fill_log_gamma(row, stream_of(room))
                normalise(row)
            R[s, a] = R[s, a] if mean else bad_and_good[1]
        return P, R

    return draw


@pytest.mark.parametrize(("name", "form", "episodes"), [("tsde", Tsde, 30), ("psrl", Psrl, 10)])
@pytest.mark.parametrize("rewards", ["beta", "mean"])
@pytest.mark.parametrize("task", few(["mdp", "riverswim", "service-station"], ["mdp"]))
def test_it_is_the_literal_form(task, rewards, name, form, episodes):
    seed, steps = 3, 600
    given = {"agent.prior": PRIOR, "agent.rewards": rewards, "agent.precision": 1e-7, "agent.sweeps": 100_000}
    agent = el.Agent(random_mdp(1) if task == "mdp" else task, name, parameters=given, seed=seed)
    environment, reward_range = agent.task.start(environment_stream(seed)), agent.task.reward
    states, actions = agent.indexed.states, agent.indexed.actions
    first = agent.task.actions.index(agent.act())
    literal = form(states, actions, model_drawer(seed, rewards == "mean"), first)
    for t in range(1, steps + 1):
        s = agent.task.states.index(agent.aleatoric_state)
        action = agent.task.actions.index(agent.act())
        assert action in literal.best_actions(s), f"another action at t = {t}"
        assert agent.inspect()["episode"].tolist() == [literal.k], f"another episode at t = {t}"
        reward = agent.observe(environment.step(agent.task.actions[action]))
        scaled = (reward - reward_range.low) / (reward_range.high - reward_range.low)
        literal.learn(s, action, scaled, agent.task.states.index(agent.aleatoric_state))
    assert literal.k > episodes


def test_episodes_of_a_single_pair_grow_by_one():
    # By hand: the first is one step, since the visits of a pair grow from none; then each is a step longer.
    agent = el.Agent(random_mdp(12, states=1, actions=1), "tsde")
    begun = {1: 1}
    for t in range(1, 30):
        agent.observe(0, executed=0)
        begun.setdefault(int(agent.inspect()["episode"][0]), t + 1)
    assert list(begun.values()) == [1, 2, 4, 7, 11, 16, 22, 29]


def test_a_new_pair_ends_an_episode():
    agent = el.Agent(random_mdp(12, states=1, actions=2), "tsde")
    for _ in range(20):
        agent.observe(0, executed=0)
    before = agent.inspect()["episode"][0]
    agent.observe(0, executed=1)
    assert agent.inspect()["episode"][0] == before + 1


def test_the_first_action_is_drawn_from_all():
    counts = np.zeros(3)
    for seed in range(300):
        agent = el.Agent(random_mdp(11), "tsde", seed=seed)
        assert (agent.policy == 1 / 3).all()
        counts[agent.act()] += 1
    assert counts.min() > 70  # 100 are expected; 3.7 deviations


def test_what_an_episode_draws_depends_on_the_run_and_its_number_alone():
    # The first pair is visited in none of these; so its row in the second episode is the same, whatever happened.
    def row(seed: int, executed: int, asked: bool) -> list[float]:
        agent = el.Agent(random_mdp(11), "tsde", seed=seed)
        if asked:
            agent.act()
        agent.observe(executed, executed=executed)
        assert agent.inspect()["episode"].tolist() == [2]
        return agent.knowledge.pairs[0, 0, 3:6].tolist()

    assert row(5, 1, True) == row(5, 2, False) == row(5, 1, False)
    assert row(5, 1, False) != row(6, 1, False)


def test_mean_rewards_by_hand():
    # Prior 1 and 1; action 0 paid 0.25 four times: (1 + 1) / (2 + 4).  Action 1 was never tried: 1 / 2.
    task = el.mdp([[[1.0]], [[1.0]]], [[0.25, 1.0]], reward_range=(0, 1))
    agent = el.Agent(task, "tsde", parameters={"agent.rewards": "mean"})
    agent.observe(0, executed=0)
    for _ in range(3):
        agent.observe(0, executed=0)
    agent.observe(0, executed=1)
    rewards = agent.knowledge.pairs[0, :, REWARD]
    assert rewards.tolist() == pytest.approx([2 / 6, 2 / 3])


def test_it_learns_what_is_best():
    task = random_mdp(1)
    result = el.run(task, "tsde", steps=100_000, runs=1)
    assert el.Theory(task).average_reward(result.policies[0, -1]) == pytest.approx(
        el.Theory(task).optimal_average_reward, abs=0.01
    )


def test_regret_on_riverswim_is_that_of_posterior_sampling():
    # Osband, Russo and Van Roy (2013), Table 1: posterior sampling without resets has a regret of 1.06e2 in 10,000
    # steps, the mean of 20 runs, against 3.64e3 of UCRL2.  Their prior is 1 / S and normal for rewards, and their
    # episodes end where visits double; ours are shorter.  The mean of 100 runs has a standard error of about 7.
    result = el.run("riverswim", "tsde", steps=10_000, runs=100, seed=1, parameters={"agent.prior": 1 / 6})
    regret = 10_000 * el.Theory("riverswim").optimal_average_reward - float(np.mean(result.total_reward[:, -1]))
    assert 106 / 2 < regret < 2 * 106


def test_episodes_of_psrl_double():
    # By hand: one step, since the first visit ends it; then a pair that had n visits gets n more.
    agent = el.Agent(random_mdp(12, states=1, actions=1), "psrl")
    begun = {1: 1}
    for t in range(1, 70):
        agent.observe(0, executed=0)
        begun.setdefault(int(agent.inspect()["episode"][0]), t + 1)
    assert list(begun.values()) == [1, 2, 3, 5, 9, 17, 33, 65]


@pytest.mark.soak
def test_regret_of_psrl_is_that_of_the_package():
    # PSRL of statisticalrl_learners 2.2507, with its defaults, on our RiverSwim: 155 +- 15, 40 runs of 10,000 steps.
    # Its prior counts each next state once.
    given = {"agent.prior": 1.0}
    result = el.run("riverswim", "psrl", steps=10_000, runs=200, seed=1, parameters=given)
    regret = 10_000 * el.Theory("riverswim").optimal_average_reward - result.total_reward[:, -1]
    error = math.hypot(15, float(np.std(regret, ddof=1)) / math.sqrt(200))
    assert abs(float(np.mean(regret)) - 155) < 3 * error


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"prior": 0}, ("agent.prior", 0.0)),
        ({"prior": 1e-310}, ("agent.prior", 1e-310)),
        ({"prior": "inf"}, ("agent.prior",)),
        ({"rewards": "known"}, ("agent.rewards", "known")),
        ({"reward_prior": -1}, ("agent.reward_prior", -1.0)),
        ({"reward_prior": 1e308}, ("agent.reward_prior", 1e308)),
        ({"precision": 0}, ("agent.precision", 0.0)),
        ({"sweeps": 0}, ("agent.sweeps", 0)),
        ({"sweeps": 2**63}, ("agent.sweeps", 9223372036854775808)),
    ],
)
def test_it_refuses(parameters, refused):
    given = {f"agent.{name}": value for name, value in parameters.items()}
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", "tsde", parameters=given)
