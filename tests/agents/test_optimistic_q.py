"""Optimistic Q-learning for the average reward: its literal form, figures by hand, its optimism and its regret."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.optimistic_q import best_horizon
from everlearn.errors import InputError
from tests.agents import rivals
from tests.agents.learned import learned
from tests.agents.side_by_side import compare
from tests.few import few
from tests.refusal import refusal
from tests.worlds import corridor, random_mdp


def make(task: object, seed: int = 0, **parameters: float) -> el.Agent:
    return el.Agent(task, "optimistic-q", parameters={f"agent.{k}": v for k, v in parameters.items()}, seed=seed)


@pytest.mark.parametrize(
    ("H", "span"), few([(10.0, 0.01), (3.5, 0.1), (2.0, 1.0), (6.0, 0.002)], [(3.5, 0.1), (2.0, 1.0)])
)
@pytest.mark.parametrize("seed", few([1, 2], [1]))
def test_it_is_the_literal_form_past_its_duration_too(H, span, seed):
    agent = make(random_mdp(seed), seed=seed, horizon=H, span=span, duration=400, confidence=0.1)
    literal = rivals.OptimisticQ(3, 3, agent.indexed.start, H, span, 400, 0.1)
    visited = compare(agent, literal, seed=seed, steps=800)
    assert (visited > 0).all()


def test_the_literal_form_leaves_the_ceiling():
    agent = make(random_mdp(2), seed=2, horizon=6, span=0.002, duration=400)
    for t in range(200):
        agent.observe(t % 3, executed=t % 2)
    assert (agent.inspect()["Qhat"] < 5.5).any()


def test_five_steps_by_hand():
    # H = 4, gamma = 3/4, no bonus; 0 -> 1 for nothing, back for 1, always the first of two actions that do the same.
    # alpha_1 = 1, alpha_2 = 5/6, alpha_3 = 5/7.  V stays 4 as long as the second action has not been tried.
    agent = make(corridor(), horizon=4, scale=0, duration=10)
    for following in (1, 0, 1, 0):
        agent.observe(following, executed=0)
    assert agent.inspect()["Q"].tolist() == [[3, 4], [4, 4]]  # 0 + 3/4 4 = 3, 1 + 3/4 4 = 4
    agent.observe(1, executed=1)  # Q(0, 1) = 3, and V(0) = 3 from now on
    agent.observe(0, executed=0)  # Q(1, 0) = 2/7 4 + 5/7 (1 + 3/4 3)
    expected = Fraction(2, 7) * 4 + Fraction(5, 7) * (1 + Fraction(9, 4))
    assert expected == Fraction(97, 28)
    assert agent.inspect()["Q"][1].tolist() == pytest.approx([float(expected), 4], rel=1e-15)
    assert agent.inspect()["N"].tolist() == [[2, 1], [3, 0]]


def test_the_bonus_by_hand():
    # b_1 = 4 sp sqrt(H log(2 T / delta)), and alpha_1 = 1: Q = r + gamma H + b_1, which Qhat does not follow upwards.
    agent = make(corridor(), horizon=4, span=0.5, scale=0.25, duration=50, confidence=0.5)
    agent.observe(1, executed=0)
    assert agent.inspect()["Q"][0, 0] == pytest.approx(3 + 0.25 * 2 * math.sqrt(4 * math.log(200)), rel=1e-14)
    assert agent.inspect()["Qhat"].tolist() == [[4, 4], [4, 4]]


def test_the_horizon_of_the_source_by_hand():
    # S A = 4, T = 10^6, delta = 0.05: sqrt(250,000) = 500 and (250,000 / log(8 10^7))^(1/3) = 23.9502.
    assert best_horizon(4, 10**6, 1.0, 0.05) == pytest.approx((250_000 / math.log(8e7)) ** (1 / 3), rel=1e-14)
    assert best_horizon(4, 10**6, 1e-3, 0.05) == pytest.approx(math.sqrt(250), rel=1e-14)
    agent = make("service-station", duration=10**6)
    np.testing.assert_allclose(agent.inspect()["Q"], 23.950199, rtol=1e-7)
    assert make("service-station", duration=5).inspect()["Q"].tolist() == [[2, 2], [2, 2]]


@settings(max_examples=40)
@given(actions=st.lists(st.integers(0, 1), max_size=100), H=st.sampled_from([2.0, 3.5, 8.0]), scale=st.floats(0, 0.1))
def test_where_nothing_is_random_values_fall_and_never_too_low(actions, H, scale):
    # Discounted Q* of a world with two states, move or stay, by iterating Bellman's equation to the end.
    P = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    R = np.array([[0.0, 0.2], [1.0, 0.5]])
    best = np.zeros((2, 2))
    for _ in range(400):
        best = R + (1 - 1 / H) * np.einsum("ast,t->sa", P, best.max(axis=1))
    agent, here = make(el.mdp(P, R, reward_range=(0, 1)), horizon=H, scale=scale, duration=200), 0
    before = agent.inspect()["Qhat"]
    for action in actions:
        here = 1 - here if action == 0 else here
        agent.observe(here, executed=action)
        after = agent.inspect()["Qhat"]
        assert (after <= before).all()
        assert (after >= best - 1e-9).all()
        before = after


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_are_never_too_low_in_a_random_world(seed):
    # As the source proves: with its bonus Qhat >= Q* of the discounted problem, but for a chance of delta.  The spans
    # of these worlds are 0.40, 0.58 and 0.98, by solving the chain of every policy; the bound is 1.
    random = np.random.default_rng(seed)
    P, R = random.dirichlet(np.ones(3), size=(2, 3)), random.random((3, 2))
    best = np.zeros((3, 2))
    for _ in range(3000):
        best = R + 0.9 * np.einsum("ast,t->sa", P, best.max(axis=1))
    task = el.mdp(P, R, reward_range=(0, 1))
    for known in learned(task, "optimistic-q", steps=200_000, runs=4, seed=seed, parameters={"agent.horizon": 10}):
        assert (known["Qhat"] >= best).all()
        assert (known["Qhat"] < 10).any()


@pytest.mark.soak
def test_its_regret_grows_no_faster_than_the_two_thirds_power():
    # Two states that the actions lead to with probability 0.9, whichever the state; the optimum, always to go where the
    # reward is, earns 0.9 0.8 = 0.72, and its bias differs by 0.8.  Each duration has its own H and bonus.
    P = np.array([[[0.9, 0.1], [0.9, 0.1]], [[0.1, 0.9], [0.1, 0.9]]])
    task = el.mdp(P, [[0.1, 0.0], [1.0, 0.8]], reward_range=(0, 1))
    durations = np.array([10**4, 10**5, 10**6, 10**7])
    regrets = []
    for duration in durations.tolist():
        parameters = {"agent.span": 0.8}
        result = el.run(task, "optimistic-q", steps=duration, runs=4, seed=1, parameters=parameters)
        regrets.append(0.72 * duration - result.total_reward[:, -1].mean())
    slopes = np.diff(np.log(regrets)) / np.log(10)
    assert min(regrets) > 0
    assert slopes.max() < 2 / 3


def test_it_is_told_the_length_of_the_run():
    result = el.run("service-station", "optimistic-q", steps=50, engine="reference")
    assert result.parameters["agent.duration"] == 50


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"duration": 9, "horizon": 1.5}, ("agent.horizon", 1.5)),
        ({"duration": 9, "span": 0}, ("agent.span", 0.0)),
        ({}, ("agent.duration", None)),
        ({"duration": 10**400}, ("agent.duration",)),
        ({"duration": 9, "confidence": 1}, ("agent.confidence", 1.0)),
        ({"duration": 9, "scale": "inf"}, ("agent.scale",)),
    ],
)
def test_it_refuses(parameters, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        make("service-station", **parameters)
