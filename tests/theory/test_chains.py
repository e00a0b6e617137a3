"""Chains against what is known by hand, dense linear algebra, sums of powers, and simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import InputError
from everlearn.theory import chains
from everlearn.theory.chains import closed_classes, phases, solve_transient
from everlearn.theory.pairs import tabulate
from tests.few import few
from tests.refusal import refusal
from tests.theory.dense import bias, block_diagonal, chain, csr_array, cycle, limit, under
from tests.worlds import random_mdp

ABSORBING = [[0.2, 0.3, 0.5], [0, 1, 0], [0, 0, 1]]
"""From 0 to 1 with probability 3/8, and to 2 with 5/8."""


def random_rows(seed: int, size: int) -> np.ndarray:
    """Rows with many zeros: chains with several classes, periods and transient states."""
    random = np.random.default_rng(seed)
    mask = random.random((size, size)) < 0.4
    mask[np.arange(size), random.integers(0, size, size)] = True
    weights = mask * random.uniform(0.2, 1, (size, size))
    return weights / weights.sum(axis=1, keepdims=True)


sparse_chains = given(st.integers(0, 10**6), st.integers(1, 7))


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.25), (0.1, 0.9), (1e-3, 2e-3), (1e-6, 3e-6)], ids=str)
def test_two_states_by_hand(p, q):
    """x = (q, p) / (p + q); the bias differs by 1 / (p + q) and has mean zero."""
    two = chain([[1 - p, p], [q, 1 - q]], [1.0, 0.0])
    (only,) = two.classes
    assert abs(only.gain - q / (p + q)) <= only.error + 1e-15 / (p + q)
    np.testing.assert_allclose(only.stationary, [q / (p + q), p / (p + q)], atol=1e-9)
    np.testing.assert_allclose(two.bias, np.array([p, -q]) / (p + q) ** 2, rtol=1e-9)
    assert only.period == 1
    assert two.transient.size == 0


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_a_deterministic_cycle_by_hand(length):
    """Paid 1 in state 0: the gain is 1 / n, the bias falls by 1 / n a step of waiting."""
    found = chain(cycle(length), np.eye(length)[0])
    (only,) = found.classes
    assert (only.period, only.members.tolist()) == (length, list(range(length)))
    assert abs(only.gain - 1 / length) <= only.error < 1e-12
    np.testing.assert_allclose(only.stationary, np.full(length, 1 / length), atol=1e-13)
    expected = np.append(0.0, -1 + np.arange(1, length) / length)
    np.testing.assert_allclose(found.bias, expected - expected.mean(), atol=1e-12)


def test_absorption_by_hand():
    found = chain(ABSORBING, [7.0, 2.0, 10.0])
    assert sorted(recurrent.members.tolist() for recurrent in found.classes) == [[1], [2]]
    assert found.transient.tolist() == [0]
    np.testing.assert_allclose(found.gain, [0.375 * 2 + 0.625 * 10, 2, 10], atol=1e-14)
    np.testing.assert_allclose(found.bias, [(7 - 7) / 0.8, 0, 0], atol=1e-13)


def test_a_transient_start_by_hand():
    """Waiting at 0 with probability 1/2 a step, then paid every other step from the second on."""
    found = chain([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]], [0.0, 0.0, 1.0])
    assert found.transient.tolist() == [0]
    assert found.classes[0].period == 2
    np.testing.assert_allclose(found.gain, 0.5, atol=1e-14)
    np.testing.assert_allclose(found.bias, [-1.25, -0.25, 0.25], atol=1e-13)


def test_two_classes_with_their_own_periods():
    found = chain(block_diagonal(cycle(2), cycle(3)), [1, 0, 0, 0, 1])
    assert sorted((recurrent.members.tolist(), recurrent.period) for recurrent in found.classes) == [
        ([0, 1], 2),
        ([2, 3, 4], 3),
    ]
    np.testing.assert_allclose(found.gain, [1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3], atol=1e-14)


def test_the_period_of_cycles_that_share_a_state():
    """Cycles of 4 and 6 through state 0."""
    P = np.zeros((9, 9))
    for cyclic in ([0, 1, 2, 3], [0, 4, 5, 6, 7, 8]):
        P[cyclic, np.roll(cyclic, -1)] = 1
    P[0] /= P[0].sum()
    assert phases(csr_array(P))[0] == 2
    P[8] = np.eye(9)[8] / 2 + np.eye(9)[0] / 2
    assert phases(csr_array(P))[0] == 1


@sparse_chains
@settings(max_examples=80)
def test_gain_and_bias_agree_with_dense_linear_algebra(seed, size):
    P, r = random_rows(seed, size), np.random.default_rng(seed).normal(size=size)
    found = chain(P, r)
    np.testing.assert_allclose(found.gain, limit(P) @ r, atol=1e-10)
    np.testing.assert_allclose(found.bias, bias(P, r), atol=1e-8)
    for recurrent in found.classes:
        assert abs(recurrent.gain - (limit(P) @ r)[recurrent.members[0]]) <= recurrent.error + 1e-11


@sparse_chains
@settings(max_examples=60)
def test_stationary_distributions_are_left_eigenvectors(seed, size):
    P = random_rows(seed, size)
    for one in chain(P, np.zeros(size)).classes:
        inside = P[np.ix_(one.members, one.members)]
        roots, vectors = np.linalg.eig(inside.T)
        vector = np.real(vectors[:, np.abs(roots - 1).argmin()])
        np.testing.assert_allclose(one.stationary, vector / vector.sum(), atol=1e-10)
        assert one.period == np.sum(np.abs(np.abs(roots) - 1) < 1e-9)


@sparse_chains
@settings(max_examples=60)
def test_classes_are_what_powers_say(seed, size):
    """A state is recurrent where the Cesaro limit comes back to it, and two are in a class where it joins them."""
    P = random_rows(seed, size)
    far = limit(P) > 1e-6
    recurrent = np.flatnonzero(np.diag(far))
    expected = {tuple(np.flatnonzero(far[state]).tolist()) for state in recurrent}
    assert {tuple(sorted(group.tolist())) for group in closed_classes(csr_array(P))} == expected
    assert chain(P, np.zeros(size)).transient.tolist() == np.flatnonzero(~np.diag(far)).tolist()


@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_sums_of_powers_grow_with_the_gain_and_stay_with_the_bias(seed):
    """Over a multiple of every period, sum_{k<T} P^k r = T g + h - P^T h, for T by brute force."""
    P, r = random_rows(seed, 6), np.random.default_rng(seed).random(6)
    found, total, ahead = chain(P, r), np.zeros(6), r.copy()
    for _ in range(420):
        total, ahead = total + ahead, P @ ahead
    left = np.linalg.matrix_power(P, 420) @ found.bias
    np.testing.assert_allclose(total, 420 * found.gain + found.bias - left, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_long_simulation_agrees(seed):
    task = random_mdp(seed, states=4)
    result = el.run(task, "always", steps=20_000, runs=40, seed=seed)
    pairs = tabulate(task)
    P, r = under(pairs, np.full((4, 3), 1 / 3))
    gain = chain(P, r).gain[pairs.start]
    assert abs(result.final["mean"] - gain) < 4 * result.final["standard_error"]
    assert result.final["standard_error"] < 1e-3


@pytest.mark.parametrize("seed", few(range(5), range(2)))
def test_iteration_and_factorisation_agree(seed, monkeypatch):
    P, r = np.random.default_rng(seed).dirichlet(np.ones(5), size=5), np.arange(5.0)
    quick = chain(P, r)
    assert quick.gain[0] == pytest.approx(limit(P)[0] @ r, abs=1e-12)
    monkeypatch.setattr(chains, "QUICK", 0)
    direct = chain(P, r)
    assert abs(quick.gain[0] - direct.gain[0]) <= quick.error + direct.error
    np.testing.assert_allclose(quick.bias, direct.bias, atol=1e-10)


def test_a_large_chain_that_mixes_slowly_is_refused(monkeypatch):
    monkeypatch.setattr(chains, "SMALL", 2)
    monkeypatch.setattr(chains, "SWEEPS", 20)
    monkeypatch.setattr(chains, "PATIENT", 20)
    monkeypatch.setattr(chains, "solve_without_one", lambda matrix, rewards, system: None)
    slow = 0.999 * np.eye(3) + 0.001 * cycle(3)
    with pytest.raises(InputError, check=refusal("pairs", 3)):
        _ = chain(slow, [1, 0, 0]).gain


def walk(length: int, up: float) -> np.ndarray:
    """Up with one probability and down with the rest, and staying where there is no further: it mixes slowly."""
    return (
        up * np.eye(length)[np.minimum(np.arange(length) + 1, length - 1)]
        + (1 - up) * np.eye(length)[np.maximum(np.arange(length) - 1, 0)]
    )


@pytest.mark.parametrize("up", [0.3, 0.5, 0.6])
def test_a_large_chain_that_mixes_slowly_is_solved_with_an_incomplete_factorisation(up, monkeypatch):
    # A birth and death chain: weights (up / down)^n.  At 0.6 its first state is all but never visited.
    length, rewards = 120, np.arange(120.0)
    weights = (up / (1 - up)) ** np.arange(float(length))
    found = chains.solve_without_one(csr_array(walk(length, up)), rewards, chains.Preconditioned)
    assert found is not None
    np.testing.assert_allclose(found[0], weights / weights.sum(), atol=1e-14)
    monkeypatch.setattr(chains, "SMALL", 2)
    monkeypatch.setattr(chains, "PATIENT", 10)
    solved = chain(walk(length, up), rewards)
    exact = float(weights @ rewards / weights.sum())
    assert abs(solved.gain[0] - exact) <= solved.error <= 1e-8
    np.testing.assert_allclose(solved.bias, bias(walk(length, up), rewards), rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("up", [0.001, 0.3, 0.5, 0.7, 0.999], ids=str)
@pytest.mark.parametrize("length", few([20, 100], [100]))
@pytest.mark.parametrize("sweeps", [0, 250])
def test_a_walk_is_exact_whichever_state_is_all_but_never_visited(sweeps, length, up, monkeypatch):
    """In fractions: weights (up / down)^n; the bias rises by what all states below lack, over the flow between two."""
    monkeypatch.setattr(chains, "QUICK", sweeps)
    ratio, rewards = Fraction(up) / (1 - Fraction(up)), [Fraction(state % 7) for state in range(length)]
    weights = [ratio**state for state in range(length)]
    gain = sum(weight * reward for weight, reward in zip(weights, rewards, strict=True)) / sum(weights)
    found = chain(walk(length, up), [float(reward) for reward in rewards])
    assert abs(Fraction(float(found.gain[0])) - gain) <= Fraction(found.error)
    assert found.error <= 1e-9
    excess, values = Fraction(0), [Fraction(0)]
    for state in range(length - 1):
        excess += weights[state] * (gain - rewards[state])
        values.append(values[-1] + excess / (weights[state] * Fraction(up)))
    expected = np.array([float(value) for value in values])
    often = max(range(length), key=weights.__getitem__)
    off = np.abs(found.bias - found.bias[often] - (expected - expected[often])).max()
    assert off <= found.bias_error <= 1e-4


@pytest.mark.parametrize("seed", few(range(6), range(2)))
def test_the_error_of_the_bias_covers_transient_starts(seed):
    """Against dense algebra, with one class and with two; each class may be higher or lower by a constant."""
    random = np.random.default_rng(seed)
    P = np.zeros((8, 8))
    P[:4] = random.dirichlet(np.full(8, 0.3), size=4)
    P[4:, 4:] = block_diagonal(cycle(2), cycle(2)) if seed % 2 else random.dirichlet(np.ones(4), size=4)
    found = chain(P, r := random.random(8))
    assert found.transient.size >= 4 - 1
    assert np.abs(found.bias - bias(P, r)).max() <= found.bias_error + 1e-12
    assert found.bias_error <= 1e-9


@pytest.mark.soak
def test_a_chain_that_rounding_splits_is_refused():
    """Left with probability 1e-20 a step, which 1 less that does not show."""
    with pytest.raises(InputError, check=refusal("pairs", 2)):
        _ = chain([[1, 1e-20], [1e-20, 1]], [1.0, 0.0]).gain


def test_transient_states_that_are_never_left_as_far_as_rounding_shows_are_refused(monkeypatch):
    monkeypatch.setattr(chains, "SWEEPS", 50)
    with pytest.raises(InputError, check=refusal("transient pairs", 1)):
        solve_transient(csr_array([[1.0]]), np.ones(1))


@pytest.mark.parametrize("seed", few(range(5), range(2)))
def test_an_incomplete_factorisation_agrees_with_dense_algebra(seed, monkeypatch):
    P, r = np.random.default_rng(seed).dirichlet(np.full(30, 0.1), size=30), np.arange(30.0)
    stationary, values = chains.solve_without_one(csr_array(P), r, chains.Preconditioned)
    np.testing.assert_allclose(stationary, limit(P)[0], atol=1e-12)
    np.testing.assert_allclose(values - stationary @ values, bias(P, r), atol=1e-9)


def test_an_incomplete_factorisation_that_breaks_down_is_no_answer(monkeypatch):
    def breaks(matrix, **options):
        raise RuntimeError("Factor is exactly singular")

    monkeypatch.setattr("scipy.sparse.linalg.spilu", breaks)
    assert chains.solve_without_one(csr_array(walk(5, 0.5)), np.arange(5.0), chains.Preconditioned) is None


def test_large_transient_parts_are_iterated(monkeypatch):
    inner, right = csr_array(0.3 * cycle(4)), np.arange(4.0)
    direct = solve_transient(inner, right)
    monkeypatch.setattr(chains, "SMALL", 2)
    np.testing.assert_allclose(solve_transient(inner, right), direct, atol=1e-11)
    np.testing.assert_allclose(np.linalg.solve(np.eye(4) - 0.3 * cycle(4), right), direct, atol=1e-13)
    monkeypatch.setattr(chains, "SWEEPS", 3)
    with pytest.raises(InputError, check=refusal("transient pairs", 4)):
        solve_transient(inner, right)


def test_the_error_covers_the_gain_where_two_classes_earn_almost_the_same():
    """The gain from 0 is the mean of two that differ by 8e-10."""
    found = chain([[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]], [0.0, 0.5, 0.5 + 8e-10])
    assert abs(found.gain[0] - (0.5 + 4e-10)) <= found.error


@pytest.mark.parametrize("offset", [0, 1, 10**9, -(10**12)], ids=str)
def test_the_error_covers_the_gain_of_rewards_far_from_zero(offset):
    """In exact arithmetic: a third of the way from one reward to the other."""
    found = chain([[0.5, 0.5], [0.25, 0.75]], [offset + 1, offset])
    truth = offset + Fraction(1, 3)
    assert abs(Fraction(float(found.gain[0])) - truth) <= Fraction(float(found.error))


def test_the_error_covers_the_gain_from_where_absorption_takes_long():
    """From 0 to 1 with probability 3e-7 a step, to 2 with 7e-7: absorbed at 2 with probability 7/10."""
    found = chain([[1 - 1e-6, 3e-7, 7e-7], [0, 1, 0], [0, 0, 1]], [0.0, 0.0, 1.0])
    assert abs(found.gain[0] - 0.7) <= found.error
