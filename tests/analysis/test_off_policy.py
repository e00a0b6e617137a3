"""Estimates from transitions: against chains that are solved, and intervals against truths that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from everlearn.analysis.off_policy import estimate
from everlearn.durable.transitions import Transitions
from everlearn.tasks.garnet import garnet
from everlearn.tasks.registry import make_task
from everlearn.theory.chains import Chain
from tests.analysis.logged import World, driven, learned, score
from tests.few import few


def rows(*transitions: tuple[int, int, float, int]) -> Transitions:
    states, actions, rewards, following = (np.array(column) for column in zip(*transitions, strict=True))
    return Transitions(states, actions, following, rewards.astype(float), following)


def random_rows(seed: int, size: int = 5, actions: int = 2, steps: int = 400) -> Transitions:
    random = np.random.default_rng(seed)
    chances, state, found = random.dirichlet(np.full(size, 0.4), size=(size, actions)), 0, []
    for _ in range(steps):
        action = int(random.integers(actions))
        following = int(random.choice(size, p=chances[state, action]))
        found.append((state, action, random.random(), following))
        state = following
    return rows(*found)


def empirical(data: Transitions, policy: np.ndarray) -> tuple[Chain, np.ndarray]:
    """The chain that a policy makes of what was counted, and the counts; all pairs must have been visited."""
    size, actions = policy.shape
    counts, sums = np.zeros((size, actions, size)), np.zeros((size, actions))
    np.add.at(counts, (data.states, data.actions, data.following), 1)
    np.add.at(sums, (data.states, data.actions), data.rewards)
    visits = counts.sum(axis=2)
    assert visits.min() > 0
    matrix = np.einsum("sa,say->sy", policy, counts / visits[:, :, None])
    return Chain(csr_array(matrix), np.sum(policy * sums / visits, axis=1)), visits


@pytest.mark.parametrize("seed", few(range(5), range(2)))
def test_it_solves_the_empirical_chain(seed):
    data, policy = random_rows(seed), np.random.default_rng(seed).dirichlet(np.ones(2), size=5)
    found, (chain, visits) = estimate(data, policy), empirical(data, policy)
    assert found.average == pytest.approx(chain.gain[0], abs=1e-7)
    (recurrent,) = chain.classes
    stationary = np.zeros(5)
    stationary[recurrent.members] = recurrent.stationary
    assert found.weights == pytest.approx(stationary[:, None] * policy, abs=1e-7)
    assert (found.visits == visits).all()
    ratio = found.weights[data.states, data.actions] / visits[data.states, data.actions]
    assert ratio @ data.rewards == pytest.approx(found.average)  # the stationary density ratio gives the same number
    assert ratio @ found.residuals == pytest.approx(0, abs=1e-9)  # the correction of the doubly robust estimate is zero


@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_the_variance_is_that_of_the_first_order_error(seed):
    data, policy = random_rows(seed), np.full((5, 2), 0.5)
    found, (chain, visits) = estimate(data, policy), empirical(data, policy)
    targets = data.rewards + chain.bias[data.following]
    for state in range(5):
        for action in range(2):
            own = targets[(data.states == state) & (data.actions == action)]
            part = found.weights[state, action] ** 2 * own.var(ddof=1) / visits[state, action]
            assert found.variances[state, action] == pytest.approx(part, rel=1e-5)
    normal = 1.96 * math.sqrt(found.variances.sum()) + found.unseen / 2
    assert normal < found.half_width < 1.1 * normal


def test_two_classes_are_weighted_by_the_chance_to_get_there_from_now():
    """From 0 the policy gets to 1 once and to 2 three times; 1 pays 1 for ever, 2 nothing."""
    there = [(0, 0, 0.0, 1), (1, 0, 1.0, 1), (1, 1, 0.0, 0)], [(0, 0, 0.0, 2), (2, 0, 0.0, 2), (2, 1, 0.0, 0)]
    found = estimate(rows(*there[0], *(3 * there[1])), np.array([[1.0, 0.0]] * 3))
    assert found.average == pytest.approx(0.25, abs=1e-6)
    assert found.half_width > 0.25


def test_an_action_that_was_never_taken_has_no_visits_but_its_weight():
    data = rows(*[(0, 0, 1.0, 1), (1, 0, 0.0, 0)] * 50)
    found = estimate(data, np.array([[0.5, 0.5], [1.0, 0.0]]))
    assert found.visits[0, 1] == 0
    assert found.weights[0, 1] == pytest.approx(0.25)


def test_a_last_state_that_was_never_left():
    found = estimate(rows(*[(0, 0, 1.0, 1), (1, 0, 0.0, 0)] * 50, (0, 0, 1.0, 2)), np.ones((3, 1)))
    assert found.average == pytest.approx(0.5, abs=0.01)
    assert found.weights[2, 0] == 0


def test_no_interval_is_narrower_than_what_the_number_of_steps_can_exclude():
    data = rows(*[(0, 0, 0.0, 0)] * 1000)
    assert estimate(data, np.ones((1, 1)), span=2.0).half_width == pytest.approx(-2 * math.log(0.05) / 1000)
    assert estimate(data, np.ones((1, 1)), 0.9, span=2.0).half_width == pytest.approx(-2 * math.log(0.1) / 1000)
    assert estimate(data, np.ones((1, 1))).half_width == 0


def test_rounding_is_no_variance():
    """The mean of 999 rewards of 0.1 is not 0.1 to the last bit."""
    found = estimate(rows(*[(0, 0, 0.1, 0)] * 999), np.ones((1, 1)))
    assert not found.residuals.any()
    assert found.freedom == 999


def test_one_step():
    found = estimate(rows((0, 0, 1.0, 1)), np.full((2, 2), 0.5))
    assert (found.average, found.visits.sum()) == (pytest.approx(1.0), 1)


RIVER = World(make_task("riverswim"))
SMALL = World(garnet(states=6, actions=2, seed=5))
LARGE = World(garnet(seed=2))
ACCESS = World(make_task("access-control"))


def mixed(world: World) -> np.ndarray:
    """What the fixed policy does that logs data: half of the time the best action, otherwise any."""
    return (world.policy("best") + world.policy("uniform")) / 2


def check(found, runs: int, errors: float) -> None:
    """Intervals of 95 percent cover 93 to 97 percent, give or take some standard errors of the share."""
    share = errors * math.sqrt(0.05 * 0.95 / found.intervals)
    assert 0.93 - share <= found.covered <= 0.97 + share, found
    assert found.intervals >= 0.05 * runs, found
    assert found.abstained <= 0.2 * found.supported, found
    assert found.width <= 1.25, found


@pytest.mark.parametrize(
    ("world", "steps", "policy"), [(RIVER, 2000, "best"), (SMALL, 600, "random"), (LARGE, 4000, "best")]
)
def test_intervals_cover(world, steps, policy):
    """150 data sets; the margin is three standard errors, so 87 to 100 percent.  Intervals of half the width fail."""
    check(score(world, world.policy(policy), world.followed(mixed(world), steps, 150)), 150, 3)


@pytest.mark.soak
def test_intervals_cover_from_the_data_of_a_learning_agent():
    """100 data sets of 400 steps; the margin is three standard errors, so at least 86 percent."""
    check(score(SMALL, SMALL.policy("best"), driven(SMALL.task, 400, 100)), 100, 3)


CASES = [
    *((RIVER, 2000, policy) for policy in ("best", "right:0.9")),
    *((SMALL, 600, policy) for policy in ("best", "random", "uniform")),
    *((LARGE, 4000, policy) for policy in ("best", "random", "uniform")),
    *((ACCESS, 6000, policy) for policy in ("best", "accept", "uniform")),
]


@pytest.mark.soak
@pytest.mark.parametrize("logged", ["by a fixed policy", "by a learning agent"])
@pytest.mark.parametrize(("world", "steps", "policy"), CASES, ids=lambda value: getattr(value, "task", value))
def test_intervals_of_a_thousand_data_sets_cover(world, steps, policy, logged):
    """The margin is 1.5 standard errors: at most 1 percent where all 1,000 data sets get an interval."""
    fixed = logged == "by a fixed policy"
    data = world.followed(mixed(world), steps, 1000, seed=1) if fixed else learned(world.task, steps, 1000, seed=1)
    check(score(world, world.policy(policy), data), 1000, 1.5)
