"""Gains from transitions: against two chains that are solved, and intervals against truths that are known."""

from __future__ import annotations

import numpy as np
import pytest

from everlearn.analysis.evaluation import reasons_against
from everlearn.analysis.gain import estimate_earned, estimate_gain
from everlearn.analysis.off_policy import estimate
from everlearn.tasks.garnet import garnet
from everlearn.tasks.registry import make_task
from tests.analysis.logged import World
from tests.analysis.test_off_policy import empirical, random_rows
from tests.few import few


@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_it_is_the_difference_of_two_chains(seed):
    data, policy = random_rows(seed), np.eye(2)[np.random.default_rng(seed).integers(2, size=5)]
    found, (chain, visits) = estimate_gain(data, policy), empirical(data, policy)
    other, _ = empirical(data, visits / visits.sum(axis=1, keepdims=True))
    assert found.policy == pytest.approx(chain.gain[0], abs=1e-7)
    assert found.controller == pytest.approx(other.gain[0], abs=1e-7)
    assert found.controller == pytest.approx(data.rewards.mean(), abs=0.02)
    assert found.paired.average == pytest.approx(chain.gain[0] - other.gain[0], abs=1e-7)


def test_a_policy_that_does_what_the_controller_does_has_no_gain_and_no_error():
    data = random_rows(1)
    chosen = np.random.default_rng(2).integers(2, size=5)
    data = data.where(data.actions == chosen[data.states])
    found = estimate_gain(data, np.eye(2)[chosen], span=0.0)
    assert found.paired.average == pytest.approx(0, abs=1e-9)
    assert found.paired.half_width < 1e-6
    assert estimate(data, np.eye(2)[chosen]).half_width > 0.01  # which two intervals could not show


def test_what_a_controller_earns_has_the_error_of_independent_rewards():
    """One state, and a reward that depends on the action and on chance: the mean, and its standard error."""
    random = np.random.default_rng(3)
    data = random_rows(4, size=1, steps=800)
    data = data._replace(rewards=data.actions + random.normal(size=800))
    found = estimate_earned(data)
    assert found.average == pytest.approx(data.rewards.mean(), abs=1e-6)
    assert found.error == pytest.approx(data.rewards.std(ddof=1) / np.sqrt(800), rel=0.01)


def coverage(world: World, controller: np.ndarray, policy: np.ndarray, steps: int, runs: int) -> tuple[int, int]:
    """Return how many intervals there are, and how many cover the true gain."""
    span = world.task.reward.high - world.task.reward.low
    truth = world.theory.average_reward(policy) - world.theory.average_reward(controller)
    found = [estimate_gain(data, policy, 0.95, span).paired for data in world.followed(controller, steps, runs, 3)]
    kept = [each for each in found if not reasons_against(each, world.task, span)]
    return len(kept), sum(abs(each.average - truth) <= each.half_width for each in kept)


def test_intervals_cover_the_true_gain():
    """60 data sets: at least 51 covered, which has probability 0.9998 at 95 percent."""
    world = World(garnet(seed=2, states=6, actions=2))
    controller = 0.5 * world.policy("best") + 0.5 * world.policy("uniform")
    intervals, covered = coverage(world, controller, world.policy("best"), 600, 60)
    assert intervals == 60
    assert covered >= 51


@pytest.mark.soak
@pytest.mark.parametrize(
    ("task", "steps"),
    [(make_task("riverswim"), 1500), (garnet(seed=2, states=6, actions=2), 600)],
    ids=["riverswim", "garnet"],
)
@pytest.mark.parametrize("policy", ["best", "random", "uniform"])
def test_intervals_cover_the_true_gain_in_1000_data_sets(task, steps, policy):
    world = World(task)
    controller = 0.5 * world.policy("best") + 0.5 * world.policy("uniform")
    intervals, covered = coverage(world, controller, world.policy(policy), steps, 1000)
    assert covered / intervals > (0.93 if intervals > 400 else 0.9)
