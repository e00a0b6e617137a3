"""FOCUS: its literal form, what its proof needs of a plan, its constants by hand, its optimism and its regret."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.counts import EARNED, REWARD, VISITS
from everlearn.agents.focus import (
    LEAST,
    NUMBERS,
    SPREAD,
    SQUARES,
    hoped_value,
    plan_episode,
    set_bonus,
    update_bonuses,
)
from everlearn.errors import InputError
from tests.agents.learned import learned
from tests.agents.optimists import Focus
from tests.few import few
from tests.refusal import refusal
from tests.worlds import environment_stream, random_mdp, shop

SHOP = shop()  # the reward depends on the observation


def make(task: object, seed: int = 0, **parameters: object) -> el.Agent:
    return el.Agent(task, "focus", parameters={f"agent.{k}": v for k, v in parameters.items()}, seed=seed)


def transcribed(agent: el.Agent, *, rewards: str = "bound", scale: float = 1.0) -> Focus:
    """The transcription with the agent's parameters."""
    knowledge = agent.knowledge
    T = agent.design.parameters["duration"]
    literal = Focus(agent.indexed.states, agent.indexed.actions, T, knowledge.discount, 0.05, knowledge.span)
    literal.scale, literal.bound = scale, rewards == "bound"
    return literal


def side_by_side(agent: el.Agent, literal: Focus, steps: int, seed: int):
    """Let both live through the same, the agent acting; yield the state and the action before each step is learned."""
    environment = agent.task.start(environment_stream(seed))
    reward_range = agent.task.reward
    for _ in range(steps):
        s = agent.task.states.index(agent.aleatoric_state)
        action = agent.task.actions.index(agent.act())
        yield s, action
        reward = agent.observe(environment.step(agent.task.actions[action]))
        scaled = (reward - reward_range.low) / (reward_range.high - reward_range.low)
        literal.learn(s, action, scaled, agent.task.states.index(agent.aleatoric_state))


@pytest.mark.parametrize(
    ("task", "duration", "more"),
    few(
        [
            (random_mdp(1), 60, {}),
            (random_mdp(2), 60, {"scale": 0.02}),
            ("riverswim", 60, {"scale": 0.01, "rewards": "mean"}),
            (SHOP, 60, {"scale": 0.01, "span": 2.0}),
            (random_mdp(3, states=4, actions=2), 90, {"horizon": 8.0, "scale": 0.05}),
            (random_mdp(4), 250, {"scale": 0.01}),
            ("riverswim", 250, {"scale": 0.003}),
            ("service-station", 250, {"rewards": "mean"}),
        ],
        [("riverswim", 60, {"scale": 0.01, "rewards": "mean"}), (SHOP, 60, {"scale": 0.01, "span": 2.0})],
    ),
)
def test_it_is_the_literal_form_past_its_duration_too(task, duration, more):
    agent = make(task, seed=7, duration=duration, precision=1e-10, **more)
    literal = transcribed(agent, **{key: more[key] for key in ("rewards", "scale") if key in more})
    episodes = []
    for s, action in side_by_side(agent, literal, duration + duration // 2, seed=7):
        known = agent.inspect()
        assert literal.act(s) == action, f"another action at t = {literal.t}"
        assert known["episode"].tolist() == [literal.k], f"another episode at t = {literal.t}"
        np.testing.assert_allclose(np.ptp(known["Q"]), np.ptp(literal.Q), atol=1e-4)
        np.testing.assert_allclose(known["Q"] - known["Q"].min(), literal.Q - literal.Q.min(), atol=1e-4)
        episodes.append(literal.k)
    assert episodes[-1] > 15


@pytest.mark.parametrize("precision", [1.0, 0.01])
@pytest.mark.parametrize(
    ("task", "scale"), few([(random_mdp(1), 1.0), ("riverswim", 0.01), (SHOP, 0.1)], [("riverswim", 0.01)])
)
def test_a_plan_has_what_the_proof_uses(task, scale, precision):
    # Lemma 18: Q is at most epsilon_k below the fixed point of the operator, above Q* by that, and at most T Q.  Here
    # it is not above the fixed point either.  The literal form ends epsilon_k below, too, after more than T sweeps.
    agent = make(task, seed=3, duration=60, scale=scale, precision=precision)
    literal = transcribed(agent, scale=scale)
    least = 0.0
    for _ in side_by_side(agent, literal, 60, seed=3):
        if literal.k > 1 and literal.k % 5 == 0:
            fixed, Q = literal.apply(literal.Q, 30 * 60), agent.inspect()["Q"]
            rounding = 1e-12 * fixed.max()
            assert (fixed + rounding >= Q).all()
            assert (fixed - precision * literal.epsilon - rounding <= Q).all()
            assert (literal.apply(Q) + rounding >= Q).all()
            assert (fixed + rounding >= literal.Q).all()
            assert (fixed - literal.epsilon - rounding <= literal.Q).all()
            least = min(least, float((Q - fixed).min()))
    assert least < 0


def row_of(counts: list[int], rewards: list[float]) -> np.ndarray:
    row = np.zeros(len(counts) + NUMBERS)
    row[: len(counts)], row[VISITS] = counts, sum(counts)
    row[EARNED], row[SQUARES] = sum(rewards), sum(r * r for r in rewards)
    return row


def test_what_is_built_by_hand():
    # S = A = 2, T = 100, delta = 0.05: U = log(9 * 4 * 2 * 100 / 0.05) = log 144,000 = 11.877569.
    knowledge = make("service-station", duration=100).knowledge
    assert knowledge.log == pytest.approx(11.877569, abs=1e-6)
    assert knowledge.span == 2.5  # sqrt(100 / (8 * 2))
    assert knowledge.discount == 0.99
    assert make("service-station", duration=100, confidence=0.5).knowledge.log == pytest.approx(math.log(14_400))
    assert make("service-station", duration=10).knowledge.span == 1
    assert make("service-station", duration=100, span=3).knowledge.span == 6
    assert make("service-station", duration=100, span=0.1).knowledge.span == 1
    discounted = make("service-station", duration=100, horizon=5)
    assert discounted.knowledge.discount == 0.8
    assert discounted.inspect()["Q"].tolist() == [[5, 5], [5, 5]]  # 1 / (1 - gamma)


def test_the_bonus_by_hand():
    # U = 5, H = 2, n = 100 = 80 + 20: 32 H U / n = 3.2 and 4 sqrt(U / n) = 0.894427; the standard deviation of values
    # that are 0 and 7, of which 2 are left, is 2 sqrt(0.16) = 0.8.
    row = row_of([80, 20], [])
    set_bonus(row, 2.0, 5.0, 1.0, False)
    assert row[[LEAST, SPREAD]].tolist() == pytest.approx([3.2, 0.894427], abs=1e-6)
    assert hoped_value(row, np.array([0.0, 7.0]), 2.0) == pytest.approx(0.4 + 3.2, abs=1e-12)
    # n = 10,000: 0.032 and 4 sqrt(0.0005) 0.8 = 0.071554
    row = row_of([8000, 2000], [])
    set_bonus(row, 2.0, 5.0, 1.0, False)
    assert hoped_value(row, np.array([0.0, 7.0]), 2.0) == pytest.approx(0.4 + 0.071554, abs=1e-6)
    # never visited: a uniform row, and n = 1
    row = row_of([0, 0], [])
    set_bonus(row, 2.0, 5.0, 0.5, False)
    assert hoped_value(row, np.array([0.0, 7.0]), 2.0) == pytest.approx(1 + 160)


def test_the_reward_by_hand():
    # 0 and 0.2, each 500 times: the mean is 0.1 and the variance 0.01.  U = 5, n = 1000: 2 sqrt(0.00005) + 70 / 3000.
    row = row_of([1000], [0.0, 0.2] * 500)
    set_bonus(row, 2.0, 5.0, 1.0, True)
    assert row[REWARD] == pytest.approx(0.1 + 0.0141421 + 0.0233333, abs=1e-6)
    set_bonus(row, 2.0, 5.0, 0.5, True)
    assert row[REWARD] == pytest.approx(0.1 + 0.0187377, abs=1e-6)
    set_bonus(row, 2.0, 5.0, 1.0, False)
    assert row[REWARD] == pytest.approx(0.1)
    for visits, bounded in ((0, False), (0, True), (3, True)):
        row = row_of([visits], [0.0] * visits)
        set_bonus(row, 2.0, 5.0, 1.0, bounded)
        assert row[REWARD] == 1


def test_better_values_never_make_it_worse_as_the_constants_were_chosen():
    # Lemma 13: p w plus the bonus grows with w if 2 * 4^2 <= 32.  Four times as much bonus would not: a higher value of
    # a rare state lowers the variance.
    row, low, high = row_of([0, 100, 9900], []), np.array([0.0, 0.0, 1.0]), np.array([0.0, 1e-3, 1.0])
    set_bonus(row, 1.0, 1.0, 1.0, False)
    assert hoped_value(row, low, 1.0) < hoped_value(row, high, 1.0)
    set_bonus(row, 1.0, 1.0, 4.0, False)
    assert hoped_value(row, low, 1.0) > hoped_value(row, high, 1.0)
    with pytest.raises(InputError):
        make("service-station", duration=9, scale=4)


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_the_operator_is_monotone(scale):
    random = np.random.default_rng(1)
    for _ in range(2000):
        row = row_of(list(random.integers(0, 10 ** random.integers(1, 6), 4)), [])
        set_bonus(row, 2.0, 5.0, scale, False)
        low = np.append(0.0, 4 * random.random(3))
        high = np.append(0.0, low[1:] + random.choice([1e-3, 0.3]) * random.random(3))
        assert hoped_value(row, low, 2.0) <= hoped_value(row, high, 2.0) + 1e-12


def test_it_plans_whenever_visits_are_a_power_of_two():
    agent = make(random_mdp(1), duration=300, scale=0.01)
    environment = agent.task.start(environment_stream(1))
    for _ in range(300):
        agent.observe(environment.step(agent.act()))
    N = agent.inspect()["N"]
    plans = sum(1 + math.floor(math.log2(n)) for n in N.flat if n)
    assert agent.inspect()["episode"].tolist() == [1 + plans]


@pytest.mark.parametrize(
    ("task", "horizon"),
    few([(random_mdp(5), None), (SHOP, None), (SHOP, 10.0), ("riverswim", 10.0)], [("riverswim", 10.0)]),
)
def test_values_are_never_too_low(task, horizon):
    # As the source proves, but for a chance of delta: Q >= Q* of the discounted problem.  The rewards of the shop
    # depend on the observation, so that their bound is needed, too.  Without a bonus some values are too low.
    T = 50_000
    reward = make(task, duration=T).task.reward
    longest = horizon or T
    best = (el.Theory(task).values(float(longest)).Q.T - reward.low * longest) / (reward.high - reward.low)
    for scale, lowest in ((1.0, 0.0), (0.05, 0.0), (0.0, -math.inf)):
        parameters = {"agent.horizon": horizon, "agent.scale": scale, "agent.precision": 1e-3}
        above = [k["Q"] - best for k in learned(task, "focus", steps=T, runs=3, seed=1, parameters=parameters)]
        assert min(map(np.min, above)) > lowest
        if scale == 0.0:
            assert min(map(np.min, above)) < 0


def ring() -> el.Task:
    """Three states in a ring: stay, for 0.2 in the first, or go on, for 1 from the last."""
    P = np.stack([np.eye(3), np.roll(np.eye(3), 1, axis=1)])
    return el.mdp(P, [[0.2, 0.0], [0.0, 0.0], [0.0, 1.0]], reward_range=(0, 1), name="ring")


@pytest.mark.soak
def test_where_nothing_is_random_its_regret_stops_growing():
    # The optimum goes around for 1/3, and the span of its bias is 2/3: from the last state the reward comes at once.
    regrets = []
    for duration in (10**6, 10**7):
        result = el.run(ring(), "focus", steps=duration, runs=1, seed=1, parameters={"agent.span": 2 / 3})
        regrets.append(duration / 3 - float(result.total_reward[0, -1]))
    assert 0 < regrets[1] < 1.5 * regrets[0]


def test_with_the_bonus_of_the_source_it_visits_every_pair_often_for_very_long():
    # docs/agents.md says so.  The pair that pays 1 is visited equally often in every run, whatever happens by chance.
    for known in learned("riverswim", "focus", steps=100_000, runs=3, seed=1):
        assert known["N"].min() >= 2048
        assert known["N"][5, 1] == 8192


def regret(steps: int, scale: float) -> tuple[float, float]:
    """Mean and standard error of the regret on RiverSwim."""
    result = el.run("riverswim", "focus", steps=steps, runs=20, seed=1, parameters={"agent.scale": scale})
    regrets = steps * el.Theory("riverswim").optimal_average_reward - result.total_reward[:, -1]
    return float(np.mean(regrets)), float(np.std(regrets, ddof=1) / math.sqrt(20))


@pytest.mark.parametrize(
    ("steps", "scale", "documented"),
    few(
        [(10**4, 1.0, 4251), (10**4, 0.01, 363), (10**4, 0.001, 61), (10**5, 1.0, 34_629), (10**5, 0.001, 137)],
        [(10**4, 0.01, 363)],
    ),
)
def test_regret_is_as_documented(steps, scale, documented):
    mean, error = regret(steps, scale)
    assert abs(mean - documented) < 1 + 3 * error


def test_it_is_told_the_length_of_the_run():
    result = el.run("service-station", "focus", steps=50, engine="reference")
    assert result.parameters["agent.duration"] == 50


def test_values_settle_even_where_they_are_very_large():
    # 32 H U is more than 10^10 here, so that only values that do not change at all are certain to within 1 / t.
    knowledge = make("riverswim", duration=10**18, sweeps=1000).knowledge
    for s, a, n in ((0, 0, 5), (0, 1, 3), (2, 1, 9)):
        knowledge.pairs[s, a, s + 1] = knowledge.pairs[s, a, VISITS] = n
    update_bonuses(knowledge)
    plan_episode(knowledge, 1e17)
    assert knowledge.values[0].max() > 1e10
    assert np.ptp(knowledge.values[1]) <= 1e-14 * knowledge.values.max()


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({}, ("agent.duration", None)),
        ({"duration": 9, "confidence": 1}, ("agent.confidence", 1.0)),
        ({"duration": 9, "span": 0}, ("agent.span", 0.0)),
        ({"duration": 9, "horizon": 0.5}, ("agent.horizon", 0.5)),
        ({"duration": 9, "rewards": "known"}, ("agent.rewards", "known")),
        ({"duration": 9, "scale": 1.5}, ("agent.scale", 1.5)),
        ({"duration": 9, "precision": 0}, ("agent.precision", 0.0)),
        ({"duration": 9, "sweeps": 0}, ("agent.sweeps", 0)),
    ],
)
def test_it_refuses(parameters, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        make("service-station", **parameters)
