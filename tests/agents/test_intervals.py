"""UCRL2B and UCRL3 against literal transcriptions, linear programs, bounds by hand, and the authors' package."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import everlearn as el
from everlearn.agents.counts import BEFORE, REWARD
from everlearn.agents.intervals import (
    FREE,
    NUMBERS,
    SPREAD,
    count_episode,
    hoped_value,
    missed_value,
    most_value,
    observe_step,
    set_interval,
)
from everlearn.agents.ucrl3 import deviation, lower_bound, upper_bound
from everlearn.errors import InputError
from everlearn.protocol import Experience
from tests.agents.optimists import Ucrl2b, Ucrl3
from tests.few import few
from tests.refusal import refusal
from tests.worlds import corridor, environment_stream, random_mdp

AGENTS = {"ucrl2b": Ucrl2b, "ucrl3": Ucrl3}


def compare(name: str, task, steps: int, seed: int) -> None:
    """Let the agent and the transcription live through the same; assert the same actions and episodes."""
    agent = el.Agent(task, name, parameters={"agent.sweeps": Ucrl2b.sweeps}, seed=seed)
    literal = AGENTS[name](agent.indexed.start, agent.indexed.states, agent.indexed.actions, 0.05)
    environment = agent.task.start(environment_stream(seed))
    reward_range = agent.task.reward
    for t in range(1, steps + 1):
        s = agent.task.states.index(agent.aleatoric_state)
        action = agent.task.actions.index(agent.act())
        assert literal.act(s) == action, f"another action at t = {t}"
        assert agent.inspect()["episode"].tolist() == [literal.k], f"another episode at t = {t}"
        reward = agent.observe(environment.step(agent.task.actions[action]))
        scaled = (reward - reward_range.low) / (reward_range.high - reward_range.low)
        literal.learn(s, action, scaled, agent.task.states.index(agent.aleatoric_state))


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize(
    "task",
    [
        "riverswim",
        pytest.param("service-station", marks=pytest.mark.soak),
        pytest.param(random_mdp(1), marks=pytest.mark.soak),
    ],
    ids=["river", "station", "mdp"],
)
def test_it_is_the_literal_form(name, task):
    compare(name, task, 1500, seed=7)


@pytest.mark.soak
@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("task", [random_mdp(2), random_mdp(3, states=4, actions=2), corridor(), "riverswim"])
def test_it_is_the_literal_form_for_long(name, task):
    compare(name, task, 10_000, seed=3)


def random_row(seed: int, states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A row with random counts and intervals around frequencies, values of which the least is 0, and their order."""
    random = np.random.default_rng(seed)
    counts = random.integers(0, 4, states) * (random.random(states) < 0.6)
    p = counts / max(1, counts.sum())
    row = np.zeros(3 * states + NUMBERS)
    row[:states], row[FREE] = counts, 1
    for to in range(states):
        set_interval(row, to, max(0, p[to] - 0.3 * random.random()), min(1, p[to] + 0.3 * random.random()))
    v = 3 * random.random(states)
    v -= v.min()
    return row, v, np.argsort(-v)


def program(row: np.ndarray, v: np.ndarray, allowed: np.ndarray, at_least: bool = True) -> float:
    """The greatest sum of q v over what is allowed, with bounds and a sum of at most 1."""
    lower, width = row[len(v) : 2 * len(v)], row[2 * len(v) : 3 * len(v)]
    bounds = [
        (least if at_least else 0, least + more if yes else least) if at_least else (0, least + more if yes else 0)
        for least, more, yes in zip(lower, width, allowed, strict=True)
    ]
    return -linprog(-v, A_ub=[np.ones(len(v))], b_ub=[1], bounds=bounds).fun


@pytest.mark.parametrize("seed", few(range(8), range(4)))
def test_the_best_row_is_that_of_a_linear_program(seed):
    row, v, order = random_row(seed, 7)
    rank = np.argsort(order)
    for reach in range(1, 8):
        inside = (rank < reach) | (row[:7] > 0)
        assert most_value(row, order, v, reach) == pytest.approx(program(row, v, inside), abs=1e-9)
        assert missed_value(row, order, v, reach) == pytest.approx(program(row, v, ~inside, at_least=False), abs=1e-9)


@pytest.mark.parametrize("seed", few(range(20), range(4)))
def test_the_support_is_the_first_that_misses_little(seed):
    row, v, order = random_row(seed, 9)
    for slack in (1e-9, 0.01, 0.05, 0.2, 1e9):
        allowed = slack * v.max() * (row[:9] > 0).sum()
        for reach in range(1, 10):
            inside, missed = most_value(row, order, v, reach), missed_value(row, order, v, reach)
            if missed <= min(allowed, inside):
                break
        assert hoped_value(row, order, v, slack) == inside
    assert hoped_value(row, order, v, 0.0) == most_value(row, order, v, 9)
    assert hoped_value(row, order, v, math.inf) == most_value(row, order, v, 1)


def test_bounds_of_ucrl2b_by_hand():
    # One state and two actions, of which the first paid 0.25 a thousand times; its policy is waiting for the second.
    # With delta = 0.1, L = log(6 * 1 * 2 * 1000 / 0.1) = 11.695247, and the bound is 0.25 + 6 L / 1000 = 0.320171.
    task = el.mdp([[[1.0]], [[1.0]]], [[0.25, 1.0]], reward_range=(0, 1))
    agent = el.Agent(task, "ucrl2b", parameters={"agent.confidence": 0.1})
    for _ in range(1000):
        agent.observe(0, executed=0)
    agent.observe(0, executed=1)
    assert agent.knowledge.pairs[0, :, REWARD].tolist() == pytest.approx([0.320171, 1], abs=1e-6)


def test_the_spread_of_rewards_is_their_variance():
    rewards = np.random.default_rng(4).random(50)
    pairs = np.zeros((1, 1, 3 + NUMBERS))
    for reward in rewards:
        observe_step(pairs, Experience(0, 0, 0, reward, 0))
    assert pairs[0, 0, SPREAD] == pytest.approx(50 * np.var(rewards), rel=1e-12)
    assert count_episode(pairs) == 50 == pairs[0, 0, BEFORE]


@pytest.mark.parametrize("p", [0.0, 0.1, 1 / 3, 0.5, 0.9, 1.0])
def test_the_bounds_of_ucrl3_are_the_farthest_plausible(p):
    each, laplace = 0.04, 0.08
    high, low = upper_bound(p, each, laplace), lower_bound(p, each, laplace)
    assert 0 <= low <= p <= high <= 1
    for q in np.linspace(0, 1, 2001):
        plausible = abs(p - q) <= deviation(q, q < p or q < 0.5, each, laplace)
        assert plausible == (low <= q <= high) or min(abs(q - low), abs(q - high)) < 2e-4


def test_the_sub_gaussian_parameter_does_not_depend_on_rounding():
    for q in (0.5 - 1e-16, 0.5 - 1e-9, 0.5, 0.5 + 1e-9, 0.5 - 1e-5):
        assert deviation(q, True, 10.0, 0.02) == pytest.approx(math.sqrt(2 * 0.25 * 0.02), rel=1e-9)


def regret(name: str, runs: int, **parameters: float | str) -> tuple[float, float]:
    """Mean and standard error of the regret on RiverSwim after 10,000 steps."""
    given = {f"agent.{key}": value for key, value in parameters.items()}
    result = el.run("riverswim", name, steps=10_000, runs=runs, seed=1, parameters=given)
    regrets = 10_000 * el.Theory("riverswim").optimal_average_reward - result.total_reward[:, -1]
    return float(np.mean(regrets)), float(np.std(regrets, ddof=1) / math.sqrt(runs))


THEIRS = {"ucrl2b": (3120, 32, {"constant": 18.0}), "ucrl3": (321, 13, {"support": "package"})}
"""Mean and standard error of 60 runs of statisticalrl_learners 2.2507 on the same task, delta = 0.05, and what makes
our agents theirs."""


@pytest.mark.soak
@pytest.mark.parametrize("name", AGENTS)
def test_regret_is_that_of_the_package(name):
    # Within three combined standard errors.
    theirs, their_error, parameters = THEIRS[name]
    mean, error = regret(name, 200, **parameters)
    assert abs(mean - theirs) < 3 * math.hypot(error, their_error)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "measured"), [("ucrl2b", 2965), ("ucrl3", 338)])
def test_regret_of_the_definition(name, measured):
    # docs/agents.md has these figures, of 200 runs.
    mean, error = regret(name, 200)
    assert abs(mean - measured) < 4 * error


@pytest.mark.soak
@pytest.mark.parametrize("name", AGENTS)
def test_it_learns_what_is_best(name):
    task = random_mdp(1)
    agent = el.run(task, name, steps=300_000, runs=1)
    theory = el.Theory(task)
    assert theory.average_reward(agent.policies[0, -1]) == pytest.approx(theory.optimal_average_reward, abs=0.01)


@pytest.mark.parametrize(
    ("name", "parameters", "refused"),
    [
        ("ucrl2b", {"confidence": 0}, ("agent.confidence", 0.0)),
        ("ucrl2b", {"constant": 1}, ("agent.constant", 1.0)),
        ("ucrl2b", {"precision": 0}, ("agent.precision", 0.0)),
        ("ucrl2b", {"sweeps": 0}, ("agent.sweeps", 0)),
        ("ucrl3", {"confidence": 1}, ("agent.confidence", 1.0)),
        ("ucrl3", {"support": "mine"}, ("agent.support", "mine")),
        ("ucrl3", {"slack": -1}, ("agent.slack", -1.0)),
    ],
)
def test_it_refuses(name, parameters, refused):
    given = {f"agent.{key}": value for key, value in parameters.items()}
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", name, parameters=given)
