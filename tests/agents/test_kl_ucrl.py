"""KL-UCRL against a literal transcription, against general optimisation, and against a package."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import everlearn as el
from everlearn.agents.counts import REWARD, VISITS
from everlearn.agents.kl_ucrl import NUMBERS, RADIUS, best_mean, update_bounds
from everlearn.errors import InputError
from tests.agents.optimists import KlUcrl
from tests.few import few
from tests.refusal import refusal
from tests.worlds import environment_stream, random_mdp


def row_of(counts: list[int], radius: float) -> np.ndarray:
    row = np.zeros(len(counts) + NUMBERS)
    row[: len(counts)], row[VISITS], row[RADIUS] = counts, sum(counts), radius
    return row


@pytest.mark.parametrize(("n", "radius"), [(3, 0.1), (50, 0.02), (7, 3.0), (1000, 1e-4), (1000, 6.0)])
def test_of_a_coin_it_is_the_upper_end_of_the_interval_of_kl_ucb(n, radius):
    # Two next states, both observed: the best q has KL(p, q) = radius.
    p = 1 / n
    q = brentq(lambda q: p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)) - radius, p, 1 - 1e-15)
    assert best_mean(row_of([n - 1, 1], radius), np.array([0.0, 2.0]), False) == pytest.approx(2 * q, rel=1e-9)


def test_what_was_never_observed_has_the_rest():
    # p = (1, 0): KL = -log(1 - q), so q = 1 - exp(-radius).
    for radius in (1e-3, 0.5, 40.0):
        mean = best_mean(row_of([5, 0], radius), np.array([0.0, 3.0]), False)
        assert mean == pytest.approx(-3 * math.expm1(-radius), rel=1e-12)


def test_nothing_is_to_gain_where_all_values_are_equal_and_all_from_what_is_unknown():
    assert best_mean(row_of([2, 3], 0.5), np.array([1.0, 1.0]), False) == 1
    assert best_mean(row_of([0, 0], 0.5), np.array([0.0, 7.0]), False) == 7


@pytest.mark.parametrize("seed", few(range(12), range(4)))
def test_it_is_what_general_optimisation_finds(seed):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 5, 5) + np.eye(5, dtype=int)[seed % 5]
    v, radius = 4 * random.random(5), float(random.choice([0.01, 0.1, 0.5]))
    p = counts / counts.sum()
    seen = p > 0

    def spare(q: np.ndarray) -> float:
        return radius - float(p[seen] @ np.log(p[seen] / np.maximum(q[seen], 1e-300)))

    constraints = [{"type": "eq", "fun": lambda q: q.sum() - 1}, {"type": "ineq", "fun": spare}]
    found = minimize(
        lambda q: -q @ v, (p + 1e-3) / (1 + 5e-3), bounds=[(1e-12, 1)] * 5, constraints=constraints, tol=1e-10
    )
    assert found.success
    assert best_mean(row_of(list(counts), radius), v, False) == pytest.approx(-found.fun, abs=2e-5)


@pytest.mark.parametrize("radius", [1e-14, 1e-9, 49.0, 51.0, 1e5])
def test_an_extreme_radius_gives_a_mean_between_what_was_seen_and_the_best(radius):
    v = np.array([0.0, 1e-3, 5.0])
    mean = best_mean(row_of([999_999, 1, 1], radius), v, False)
    assert 5 / 1_000_001 <= mean <= 5
    assert mean == pytest.approx(5 if radius > 40 else 5e-6, abs=1e-3)


def test_the_package_believes_what_it_saw():
    v = np.array([0.0, 1.0, 2.0])
    assert best_mean(row_of([2, 0, 2], 0.5), v, True) == 1  # the mean
    assert best_mean(row_of([2, 2, 0], 9.0), v, True) == best_mean(row_of([2, 2, 0], 9.0), v, False) > 1.9
    assert best_mean(row_of([2, 0, 2], 0.5), np.array([0.0, 2.0, 2.0]), True) == 2  # the best is shared


def test_bounds_by_hand():
    # S = 1, A = 2, t = 101, delta = 0.1 and n = 25: log t = 4.615121, B = log(2 e 2 * 4.615121 / 0.1) = 6.218217,
    # C_P = B + log(B + 0.216679) (1 + 1 / (B + 0.216679)) = 8.369272,
    # C_R = sqrt(log(8 * 4.615121 / 0.1) / 1.99) = 1.723524.
    pairs = np.zeros((1, 2, 1 + NUMBERS))
    pairs[0, 0, VISITS] = 25
    update_bounds(pairs, 101.0, 0.1)
    assert pairs[0, :, RADIUS].tolist() == pytest.approx([8.369272 / 25, 8.369272], abs=1e-5)
    assert pairs[0, :, REWARD].tolist() == pytest.approx([1.723524 / 5, 1.723524], abs=1e-5)


def compare(task, steps: int, seed: int) -> None:
    """Let the agent and the transcription live through the same; assert the same actions and episodes."""
    agent = el.Agent(task, "kl-ucrl", parameters={"agent.sweeps": KlUcrl.sweeps}, seed=seed)
    literal = KlUcrl(agent.indexed.start, agent.indexed.states, agent.indexed.actions, 0.05)
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


@pytest.mark.parametrize("task", [random_mdp(1), "riverswim"], ids=["mdp", "river"])
def test_it_is_the_literal_form(task):
    compare(task, 800, seed=7)


@pytest.mark.soak
@pytest.mark.parametrize("task", [random_mdp(2), random_mdp(3, states=4, actions=2), "service-station"])
def test_it_is_the_literal_form_for_long(task):
    compare(task, 5000, seed=3)


def regret(runs: int, rows: str) -> tuple[float, float]:
    """Mean and standard error of the regret on RiverSwim after 10,000 steps."""
    result = el.run("riverswim", "kl-ucrl", steps=10_000, runs=runs, seed=1, parameters={"agent.rows": rows})
    regrets = 10_000 * el.Theory("riverswim").optimal_average_reward - result.total_reward[:, -1]
    return float(np.mean(regrets)), float(np.std(regrets, ddof=1) / math.sqrt(runs))


@pytest.mark.soak
def test_regret_is_that_of_the_package():
    # statisticalrl_learners 2.2507 on the same task, 60 runs, delta = 0.05; within three combined standard errors.
    mean, error = regret(200, "package")
    assert abs(mean - 2831) < 3 * math.hypot(error, 63)


@pytest.mark.soak
def test_regret_of_the_definition():
    # docs/agents.md has this figure, of 200 runs.
    mean, error = regret(200, "source")
    assert abs(mean - 2160) < 4 * error


@pytest.mark.soak
def test_it_learns_what_is_best():
    task = random_mdp(1)
    result = el.run(task, "kl-ucrl", steps=300_000, runs=1)
    theory = el.Theory(task)
    assert theory.average_reward(result.policies[0, -1]) == pytest.approx(theory.optimal_average_reward, abs=0.01)


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"confidence": 1}, ("agent.confidence", 1.0)),
        ({"rows": "mine"}, ("agent.rows", "mine")),
        ({"precision": 0}, ("agent.precision", 0.0)),
        ({"sweeps": 0}, ("agent.sweeps", 0)),
    ],
)
def test_it_refuses(parameters, refused):
    given = {f"agent.{key}": value for key, value in parameters.items()}
    with pytest.raises(InputError, check=refusal(*refused)):
        el.Agent("service-station", "kl-ucrl", parameters=given)
