"""The optimal average reward, gaps and diameter against every deterministic policy, on chains of every kind."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.registry import make_task
from everlearn.theory import chains
from everlearn.theory import optimum as module
from everlearn.theory.optimum import diameter, gaps, optimum
from everlearn.theory.pairs import Pairs, tabulate
from tests.few import few
from tests.refusal import refusal
from tests.theory.dense import best_gain, bias, block_diagonal, limit, random_coarse, station, under
from tests.worlds import corridor, random_mdp


def multichain(seed: int) -> el.Task:
    """A start that leads to one of two blocks of two states, which are never left."""
    random = np.random.default_rng(seed)
    P = np.zeros((2, 5, 5))
    for action in range(2):
        P[action, 0, 1:] = random.dirichlet(np.full(4, 0.3))
        P[action, 1:, 1:] = block_diagonal(*random.dirichlet(np.ones(2), size=(2, 2)))
    return el.mdp(P, random.random((5, 2)), reward_range=(0, 1))


def periodic(seed: int) -> el.Task:
    """Every action goes from even states to odd ones and back."""
    random = np.random.default_rng(seed)
    P = np.zeros((2, 4, 4))
    P[:, :2, 2:] = random.dirichlet(np.ones(2), size=(2, 2))
    P[:, 2:, :2] = random.dirichlet(np.ones(2), size=(2, 2))
    return el.mdp(P, random.random((4, 2)), reward_range=(0, 1))


def deterministic(seed: int) -> el.Task:
    """Every action leads somewhere for sure: many classes, many periods."""
    random = np.random.default_rng(seed)
    P = np.eye(5)[random.integers(0, 5, (2, 5))]
    return el.mdp(P, random.integers(0, 4, (5, 2)) / 3, reward_range=(0, 1))


WORLDS = {
    "mdp": random_mdp,
    "coarse": random_coarse,
    "multichain": multichain,
    "periodic": periodic,
    "deterministic": deterministic,
}


@pytest.mark.parametrize("seed", few(range(8), range(4)))
@pytest.mark.parametrize("world", WORLDS)
def test_it_is_the_best_of_all_deterministic_policies(world, seed):
    pairs = tabulate(WORLDS[world](seed))
    found, truth = optimum(pairs), best_gain(pairs)
    assert found.average_reward == pytest.approx(truth[pairs.start], abs=1e-9)
    assert found.lower - 1e-11 <= truth[pairs.start] <= found.upper + 1e-11
    assert found.certified
    np.testing.assert_allclose(found.gain, truth, atol=1e-9)


@pytest.mark.parametrize("seed", few(range(3), range(2)))
@pytest.mark.parametrize("world", WORLDS)
def test_its_policy_has_the_gain_and_the_bias_it_claims(world, seed):
    pairs = tabulate(WORLDS[world](seed))
    found = optimum(pairs)
    P, r = under(pairs, found.policy)
    np.testing.assert_allclose(found.gain, limit(P) @ r, atol=1e-10)
    np.testing.assert_allclose(found.bias, bias(P, r), atol=1e-8)
    assert found.span == pytest.approx(np.ptp(bias(P, r)), abs=1e-8)
    assert found.average_reward == found.gain[pairs.start]


@pytest.mark.soak
@given(st.integers(0, 10**5), st.sampled_from(sorted(WORLDS)), st.integers(0, 10**5))
@settings(max_examples=40)
def test_no_policy_exceeds_the_upper_bound(seed, world, other):
    pairs = tabulate(WORLDS[world](seed))
    policy = np.random.default_rng(other).dirichlet(np.full(len(pairs.transitions), 0.3), size=pairs.size)
    P, r = under(pairs, policy)
    found = optimum(pairs)
    assert (limit(P) @ r)[pairs.start] <= found.upper + 1e-11
    assert found.lower <= found.average_reward <= found.upper


def test_a_choice_between_two_ends_by_hand():
    """A small reward now and for ever after half as much, or nothing now and 1 for ever."""
    P = [[[0, 1, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1], [0, 1, 0], [0, 0, 1]]]
    found = optimum(tabulate(el.mdp(P, [[1, 0], [0.5, 0.5], [1, 1]])))
    assert found.average_reward == pytest.approx(1, abs=1e-12)
    assert found.policy[0].tolist() == [0, 1]
    np.testing.assert_allclose(found.gain, [1, 0.5, 1], atol=1e-12)
    assert found.upper - found.lower < 1e-9


def test_the_best_end_may_be_reached_only_by_chance():
    """A ticket that wins 1 for ever with probability 1/4, against 0.3 for sure, and against 0.2 for sure."""
    ticket = [[0, 0.75, 0.25], [0, 1, 0], [0, 0, 1]]
    for sure, expected in ((0.3, 0.3), (0.2, 0.25)):
        pairs = tabulate(el.mdp([np.eye(3), ticket], [[sure, 0], [0, 0], [1, 1]], reward_range=(0, 1)))
        found = optimum(pairs)
        assert found.average_reward == pytest.approx(expected, abs=1e-12)
        assert found.lower <= expected <= found.upper
        assert found.certified


def test_the_corridor_by_hand():
    found = optimum(tabulate(corridor()))
    assert found.average_reward == pytest.approx(0.5, abs=1e-12)
    assert found.span == pytest.approx(0.5, abs=1e-11)


@pytest.mark.parametrize("scale", [0.2, 30.0])
def test_it_scales_with_rewards(scale):
    base, wide = (optimum(tabulate(random_mdp(9, scale=one))) for one in (1.0, scale))
    assert wide.average_reward == pytest.approx(scale * base.average_reward, rel=1e-9)
    assert wide.span == pytest.approx(scale * base.span, rel=1e-7)


def rescaled(task: el.Task, scale: float) -> el.Task:
    matrices, rewards, _ = task.arrays
    R = [
        csr_array((scale * one, matrix.indices, matrix.indptr), shape=matrix.shape)
        for one, matrix in zip(rewards, matrices, strict=True)
    ]
    return el.mdp(matrices, R)


@pytest.mark.parametrize(
    ("world", "seed", "scale"),
    [("mdp", 2, 1e9), ("mdp", 3, 1e9), ("multichain", 0, 1e9), ("multichain", 6, 1e-6), ("multichain", 6, 1e-9)],
    ids=str,
)
def test_very_large_and_very_small_rewards_have_the_same_best_policy(world, seed, scale):
    pairs = tabulate(rescaled(WORLDS[world](seed), scale))
    found, truth = optimum(pairs), best_gain(pairs)[pairs.start]
    assert found.average_reward == pytest.approx(truth, rel=1e-9, abs=0)
    assert found.lower - 1e-12 * scale <= truth <= found.upper + 1e-12 * scale


def test_it_is_one_half_at_the_station():
    found = optimum(station(3))
    assert found.lower - 1e-12 <= 0.5 <= found.upper + 1e-12
    assert found.certified


def balanced(pairs, choice) -> Fraction:
    """The gain of a chain that moves one state at a time, in fractions: what goes up between neighbours goes down."""
    weights = [Fraction(1)]
    for low in range(pairs.size - 1):
        up, down = pairs.transitions[choice[low]][low, low + 1], pairs.transitions[choice[low + 1]][low + 1, low]
        weights.append(weights[-1] * Fraction(float(up)) / Fraction(float(down)))
    rewards = [Fraction(float(pairs.rewards[action, state])) for state, action in enumerate(choice)]
    return sum(weight * reward for weight, reward in zip(weights, rewards, strict=True)) / sum(weights)


def test_a_queue_with_much_room():
    """Served fast it is all but never full, served slowly all but never empty: no threshold beats what was found."""
    pairs = tabulate(make_task("queueing-network", {"queues": 1, "capacity": 100, "window": 0}))
    found = optimum(pairs)
    assert found.certified
    assert found.upper - found.lower < 1e-10
    assert found.lower <= float(balanced(pairs, found.policy.argmax(axis=1))) <= found.upper
    for threshold in (0, 1, 50, 100, 101):
        assert balanced(pairs, [int(length >= threshold) for length in range(101)]) <= found.upper


@pytest.mark.soak
def test_sixty_servers_are_certified():
    # Its first state is visited so rarely that leaving it out of a linear system loses most digits.
    found = optimum(tabulate(make_task("access-control", {"servers": 60})))
    assert found.certified
    assert found.upper - found.lower < 1e-10


def test_what_is_far_away_is_heard_of():
    """A river of 1,000 states: 1 at its right end has to make its way to the left against 0.005 there."""
    task = make_task("riverswim", {"states": 1000})
    found = optimum(tabulate(task))
    assert found.certified
    assert found.lower <= task.references["optimum"] <= found.upper
    assert found.policy[:, 1].all()


def test_improvements_that_do_not_end_are_refused(monkeypatch):
    """Where each policy seems better than the other, and where there are too many of them."""
    pairs = tabulate(random_mdp(1, actions=2))
    monkeypatch.setattr(module, "_improve", lambda pairs, chain, choice: 1 - choice)
    with pytest.raises(InputError, check=refusal("policy iteration", "2 improvements")):
        optimum(pairs)
    monkeypatch.setattr(module, "IMPROVEMENTS", 1)
    with pytest.raises(InputError, check=refusal("policy iteration", "1 improvements")):
        optimum(pairs)


def test_it_is_the_same_where_chains_are_too_large_to_factorise(monkeypatch):
    # Queues at a load of one mix slowly; what a complete factorisation gives, an incomplete one gives too.
    pairs = tabulate(make_task("queueing-network", {"capacity": 12, "window": 4}))
    direct = optimum(pairs)
    monkeypatch.setattr(chains, "SMALL", 100)
    monkeypatch.setattr(chains, "PATIENT", 10)
    monkeypatch.setattr(chains, "Factorised", None)
    found = optimum(pairs)
    assert found.certified
    assert found.average_reward == pytest.approx(direct.average_reward, abs=1e-11)
    assert max(found.lower, direct.lower) <= min(found.upper, direct.upper)
    np.testing.assert_allclose(found.bias, direct.bias, atol=1e-8)


def diameter_by_brute_force(pairs: Pairs) -> float:
    """The greatest over targets and starts of the least expected time, over all deterministic policies."""
    matrices, worst = [transition.toarray() for transition in pairs.transitions], 0.0
    for target in range(pairs.size):
        least = np.full(pairs.size, np.inf)
        for choice in product(range(len(matrices)), repeat=pairs.size):
            chosen = np.array([matrices[action][pair] for pair, action in enumerate(choice)])
            chosen[target] = chosen[:, target] = 0.0
            times = np.linalg.solve(np.eye(pairs.size) - chosen, np.ones(pairs.size))
            least = np.minimum(least, np.delete(np.append(times, 0.0), -1))
        worst = max(worst, float(np.delete(least, target).max()))
    return worst


@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_the_diameter_is_that_of_diameter_by_brute_force(seed):
    pairs = tabulate(random_mdp(seed, states=4, actions=2))
    assert diameter(pairs) == pytest.approx(diameter_by_brute_force(pairs), rel=1e-9)


def test_a_corridor_is_as_wide_as_it_is_long():
    right, left = np.eye(5, k=1), np.eye(5, k=-1)
    right[4, 4] = left[0, 0] = 1
    assert diameter(tabulate(el.mdp([left, right], np.zeros((5, 2)), reward_range=(0, 1)))) == pytest.approx(4)


def test_what_cannot_be_reached_is_infinitely_far():
    trap = [[0.0, 1.0], [0.0, 1.0]]
    assert diameter(tabulate(el.mdp([trap], [[0], [1]]))) == np.inf


def test_large_tasks_are_refused():
    with pytest.raises(InputError, check=refusal("pairs", 600)):
        diameter(tabulate(el.mdp([np.roll(np.eye(600), 1, axis=1)], np.zeros((600, 1)), reward_range=(0, 1))))


@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_gaps_are_what_an_action_costs(seed):
    pairs = tabulate(random_mdp(seed, states=6, actions=3))
    best = optimum(pairs)
    found = gaps(pairs, best)
    assert found.min(axis=0) == pytest.approx(np.zeros(pairs.size), abs=1e-9)
    for action, transition in enumerate(pairs.transitions):
        expected = best.average_reward + best.bias - pairs.rewards[action] - transition @ best.bias
        assert found[action] == pytest.approx(expected, abs=1e-8)
