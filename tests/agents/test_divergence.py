"""The divergence of IMED-RL and MED-RL against closed forms and SciPy; both agents against literal transcriptions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.divergence import divergence
from everlearn.errors import InputError
from tests.agents.divergences import Literal, dual
from tests.few import few
from tests.refusal import refusal
from tests.worlds import environment_stream

AGENTS = ["imed-rl", "med-rl"]


def kl(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


@pytest.mark.parametrize(("p", "mu"), [(0.1, 0.2), (0.3, 0.9), (0.5, 0.500001), (0.01, 0.99)])
def test_of_a_coin_it_is_that_of_two_coins(p, mu):
    # On rewards of 0 and 1 in one state, the nearest distribution with a mean of mu is a coin too.
    row = np.array([1.0, 1 - p, p])
    assert divergence(row, np.zeros(1), 2, mu, 1.0) == pytest.approx(kl(p, mu), rel=1e-9, abs=1e-15)


def test_without_mass_at_the_bound_it_may_be_at_the_end_of_the_range():
    # Always 0, to be 1/2: the nearest puts half of the mass on the bound, at a divergence of log 2.
    assert divergence(np.array([1.0, 1.0, 0.0]), np.zeros(1), 2, 0.5, 1.0) == pytest.approx(math.log(2), rel=1e-7)


@pytest.mark.parametrize("seed", few(range(10), range(4)))
def test_it_is_what_scipy_finds(seed):
    random = np.random.default_rng(seed)
    to, levels, phi = random.dirichlet(np.ones(4)), random.dirichlet(np.full(5, 0.3)), 6 * random.random(4)
    values, weights = np.add.outer(phi, np.linspace(0, 1, 5)).ravel(), np.multiply.outer(to, levels).ravel()
    bound = 1 + phi.max()
    mu = values @ weights + random.random() * (bound - values @ weights)
    expected = dual(values, weights, mu, bound)
    assert divergence(np.concatenate([to, levels]), phi, 5, mu, bound) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def on_the_grid(seed: int) -> el.Task:
    """Rewards are multiples of 0.1, so that the distribution of rewards is exact."""
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.full(3, 0.5), size=(2, 3))
    return el.mdp(P, random.integers(0, 11, size=(3, 2)) / 10, reward_range=(0, 1))


WORLDS = {"1": on_the_grid(1), "2": on_the_grid(2), "river": "riverswim"}


@pytest.mark.parametrize("name", few(AGENTS, ["imed-rl"]))
@pytest.mark.parametrize("world", few(WORLDS, ["1"]))
def test_it_is_the_literal_form(world, name):
    task = WORLDS[world]
    parameters = {"agent.precision": 1e-9, "agent.sweeps": 100_000}
    if task == "riverswim":
        parameters["task.left_reward"] = 0.1
    agent = el.Agent(task, name, parameters=parameters, seed=4)
    literal = Literal(agent.indexed.states, agent.indexed.actions)
    environment = agent.task.start(environment_stream(4))
    for t in range(1, 151):
        s = agent.task.states.index(agent.aleatoric_state)
        n = np.array(literal.visits(s), dtype=float)
        if n.min() == 0:
            expected = (n == 0) / (n == 0).sum()
        else:
            divergences = np.array(literal.divergences(s))
            assert agent.inspect()["V"] == pytest.approx(literal.bias(), abs=1e-5)
            if name == "med-rl":
                expected = np.exp(-n * divergences) / np.exp(-n * divergences).sum()
            else:
                index = n * divergences + np.log(n)
                expected = (index == index.min()) / (index == index.min()).sum()
        assert agent.policy[s] == pytest.approx(expected, abs=1e-4), f"another policy at t = {t}"
        action = agent.act()
        assert expected[agent.task.actions.index(action)] > 0
        reward = agent.observe(environment.step(action))
        literal.learn(s, agent.task.actions.index(action), reward, agent.task.states.index(agent.aleatoric_state))


def test_an_action_out_of_the_skeleton_does_not_shape_the_bias():
    # Action 1 pays 1 and was tried once among 200; log(199)^2 is 28, so the model plans without it.
    task = el.mdp([[[1.0]], [[1.0]]], [[0.5, 1.0]], reward_range=(0, 1))
    agent = el.Agent(task, "imed-rl")
    agent.observe(0, executed=1)
    assert agent.inspect()["gain"].tolist() == pytest.approx([0.75])
    for _ in range(199):
        agent.observe(0, executed=0)
    assert agent.inspect()["gain"].tolist() == pytest.approx([0.5])


@pytest.mark.soak
@pytest.mark.parametrize("name", AGENTS)
def test_it_learns_what_is_best(name):
    task = on_the_grid(1)
    result = el.run(task, name, steps=20_000, runs=4, seed=1)
    optimum = el.Theory(task).optimal_average_reward
    assert 20_000 * optimum - np.mean(result.total_reward[:, -1]) < 100  # at random it is in the thousands


def regret(name: str, runs: int, index: str) -> tuple[float, float]:
    """Mean and standard error of the regret on RiverSwim after 10,000 steps."""
    result = el.run("riverswim", name, steps=10_000, runs=runs, seed=1, parameters={"agent.index": index})
    regrets = 10_000 * el.Theory("riverswim").optimal_average_reward - result.total_reward[:, -1]
    return float(np.mean(regrets)), float(np.std(regrets, ddof=1) / math.sqrt(runs))


THEIRS = {"imed-rl": (36, 12), "med-rl": (63, 12)}
"""Mean and standard error of 40 runs of statisticalrl_learners 2.2507 on the same task (``benchmarks/rivals.py``)."""


@pytest.mark.soak
@pytest.mark.parametrize("name", ["imed-rl", "med-rl"])
def test_regret_is_that_of_the_package(name):
    # Within three combined standard errors.
    mean, error = regret(name, 200, "package")
    theirs, their_error = THEIRS[name]
    assert abs(mean - theirs) < 3 * math.hypot(error, their_error)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "measured"), [("imed-rl", 108), ("med-rl", 147)])
def test_regret_of_the_published_index(name, measured):
    # 200 runs with a standard error of 5 to 6; docs/agents.md has these figures.
    mean, error = regret(name, 200, "source")
    assert abs(mean - measured) < 4 * error


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"index": "mine"}, ("agent.index", "mine")),
        ({"prior": 0}, ("agent.prior", 0.0)),
        ({"levels": 1}, ("agent.levels", 1)),
        ({"precision": 0}, ("agent.precision", 0.0)),
        ({"sweeps": 0}, ("agent.sweeps", 0)),
    ],
)
def test_it_refuses(name, parameters, refused):
    given = {f"agent.{key}": value for key, value in parameters.items()}
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", name, parameters=given)


def test_it_is_found_in_a_range_that_is_wide():
    # A coin that hardly ever pays, to pay nearly always: the range ends at 1e11, the maximum is near it.
    p, mu = 1e-12, 1 - 1e-11
    expected = p * math.log(p / mu) + (1 - p) * (math.log1p(-p) - math.log(1 - mu))
    assert divergence(np.array([1.0, 1 - p, p]), np.zeros(1), 2, mu, 1.0) == pytest.approx(expected, rel=1e-6)
    assert divergence(np.array([1.0, 1.0, 0.0]), np.zeros(1), 2, 1.0, 1.0) == math.inf
