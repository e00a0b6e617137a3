"""The promise of the promotion rule, where the truth is known: wrong promotions are as rare as it says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from everlearn.analysis.gain import Earned
from everlearn.analysis.promotion import Question, judge
from everlearn.durable.promotion import Rule
from everlearn.durable.setup import make_setup
from everlearn.durable.transitions import Transitions
from tests.analysis.shadowed import IDLE, MACHINE, Shadowed

UNIFORM = [[0.5, 0.5], [0.5, 0.5]]
OFTEN = [[0.7, 0.3], [0.7, 0.3]]
"""A controller that services the machine on three days of ten, whatever its condition."""


def best_gain() -> float:
    """Return by how much the best policy of the machine is better than that controller: nothing exceeds it."""
    world = Shadowed(*MACHINE, OFTEN, {})
    policies = itertools.product(range(2), repeat=2)
    return max(world.average(np.eye(2)[list(policy)]) for policy in policies) - world.average(OFTEN)


CASES = {
    "nothing makes a difference": (IDLE, UNIFORM, 0.0),
    "the best policy gains no more than the rule demands": (MACHINE, OFTEN, best_gain()),
}


def promoted(case, error: float, runs: int, steps: int, gain: float | None = None) -> int:
    world, controller, demanded = case
    rule = {"every": 50, "error": error, "gain": demanded if gain is None else gain}
    return sum(Shadowed(*world, controller, rule, seed).run(steps) for seed in range(runs))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_controller_that_is_as_good_is_hardly_ever_replaced(case):
    """The rule promises 5 percent: in 10 runs, 3 wrong promotions have probability 0.01 or less."""
    assert promoted(case, 0.05, runs=10, steps=500) <= 2


def test_a_controller_that_is_worse_is_replaced():
    assert promoted(CASES["the best policy gains no more than the rule demands"], 0.05, 6, 800, gain=0.0) >= 5


def demoted(draw: np.random.Generator, chance: float, controller: float) -> bool:
    """Return whether an agent in control is demoted that earns 1,000 with some chance, after a controller."""
    task = make_setup(actions=["a"], observations=["x"], start="x", reward_range=(0, 1000)).task
    rule, still, rewards = Rule(), np.zeros(10_000, int), 1000.0 * (draw.random(10_000) < chance)
    for look in range(1, 11):
        n = rule.evidence_at(look)
        data = Transitions(still[:n], still[:n], still[:n], rewards[:n], still[:n])
        asked = Question(1, 0, n, 1, look, (), rule.level(1, look), Earned(controller, 0.05, 1e4))
        if judge(data, task, asked).evidence["upper"] < 0:
            return True
    return False


@pytest.mark.soak
def test_a_better_agent_whose_rewards_are_rare_is_hardly_ever_demoted():
    """It earns 1 per step in the long run, and often nothing at all in the first 1,000 steps; 2.5 percent may be."""
    draw = np.random.default_rng(0)
    assert sum(demoted(draw, 0.001, 0.5) for _ in range(100)) <= 8
    assert demoted(draw, 0.001, 10.0)


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("error", [0.05, 0.5])
def test_wrong_promotions_are_as_rare_as_promised(case, error):
    """In 100 runs of 2,000 steps, with about 30 looks at some candidates; exceeded by chance with p < 0.001."""
    assert promoted(case, error, runs=100, steps=2000) <= 100 * error + 3.1 * np.sqrt(100 * error * (1 - error))


@pytest.mark.soak
def test_worse_controllers_are_replaced_in_most_runs():
    assert promoted(CASES["the best policy gains no more than the rule demands"], 0.05, 100, 2000, gain=0.0) >= 95
