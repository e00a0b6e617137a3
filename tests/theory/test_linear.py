"""Discounted linear systems agree with dense solves, within the error that comes with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from everlearn.errors import InputError
from everlearn.theory import linear
from everlearn.theory.linear import longest_stay, solve_discounted
from tests.few import few
from tests.refusal import refusal
from tests.theory.dense import cycle

DISCOUNTS = [0.0, 0.3, 0.9, 0.999, 1 - 1e-6]


def random_rows(seed: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(size, 0.3), size=size)


def dense_solution(P, right, discount):
    return np.linalg.solve(np.eye(len(P)) - discount * P, right)


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_it_agrees_with_a_dense_solve(seed, discount):
    P, right = random_rows(seed, 6), np.random.default_rng(seed).normal(size=6)
    solution, error = solve_discounted(csr_array(P), right, discount)
    np.testing.assert_allclose(solution, dense_solution(P, right, discount), rtol=1e-9, atol=1e-12 / (1 - discount))
    assert 0 < error <= 1e-11 / (1 - discount) ** 2


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_the_error_covers_the_truth_of_a_cycle(discount):
    """Paid 1 every third step: 1 / (1 - gamma^3), gamma times and gamma squared times that."""
    solution, error = solve_discounted(csr_array(cycle(3)), np.array([1.0, 0.0, 0.0]), discount)
    first = 1 / ((1 - discount) * (1 + discount + discount**2))
    assert np.abs(solution - first * np.array([1, discount**2, discount])).max() <= error


@pytest.mark.parametrize("size", [1, 2, 10, 60])
def test_the_error_covers_a_constant(size):
    """Where every reward is 1, every value is the horizon, however the rows look."""
    solution, error = solve_discounted(csr_array(random_rows(size, size)), np.ones(size), 0.75)
    assert np.abs(solution - 4).max() <= error < 1e-12


@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0, 0.9999), st.floats(-50, 50))
@settings(max_examples=40)
def test_residual_and_error_of_any_system(seed, size, discount, scale):
    P, right = random_rows(seed, size), scale * np.random.default_rng(seed).normal(size=size)
    solution, error = solve_discounted(csr_array(P), right, discount)
    truth = dense_solution(P, right, discount)
    assert np.abs(solution - truth).max() <= error + 1e-12 * np.abs(truth).max() / (1 - discount)


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_iteration_and_factorisation_agree(discount, monkeypatch):
    P, right = random_rows(8, 7), np.arange(7.0)
    iterated, error = solve_discounted(csr_array(P), right, discount)
    monkeypatch.setattr(linear, "QUICK", 0)
    direct, other = solve_discounted(csr_array(P), right, discount)
    assert np.abs(iterated - direct).max() <= error + other
    np.testing.assert_allclose(dense_solution(P, right, discount), direct, rtol=1e-9, atol=other)


def test_a_slow_chain_too_large_to_factorise_is_refused(monkeypatch):
    monkeypatch.setattr(linear, "SMALL", 2)
    monkeypatch.setattr(linear, "SWEEPS", 10)
    with pytest.raises(InputError, check=refusal("pairs", 3)):
        solve_discounted(csr_array(cycle(3)), np.array([1.0, 0.0, 0.0]), 0.999)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_preconditioned_is_dense_algebra(seed, transposed):
    random = np.random.default_rng(seed)
    P = 0.999 * random.dirichlet(np.full(40, 0.1), size=40)
    right = random.normal(size=40)
    found = linear.Preconditioned(csr_array(P)).solve(right, np.zeros(40), transposed=transposed)
    matrix = (np.eye(40) - P).T if transposed else np.eye(40) - P
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9)


def test_preconditioned_says_so_where_it_does_not_get_there(monkeypatch):
    inside = linear.Preconditioned(csr_array(0.9 * random_rows(1, 6)))
    assert inside.solve(np.ones(6), np.zeros(6)) is not None
    monkeypatch.setattr(linear, "REFINEMENTS", 1)
    assert inside.solve(np.ones(6), np.zeros(6)) is None


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("seed", few(range(4), range(2)))
def test_factorised_is_dense_algebra_wherever_it_begins(seed, transposed):
    random = np.random.default_rng(seed)
    P = 0.999 * random.dirichlet(np.full(40, 0.1), size=40)
    right, near = random.normal(size=40), 1e3 * random.normal(size=40)
    found = linear.Factorised(csr_array(P)).solve(right, near, transposed=transposed)
    matrix = (np.eye(40) - P).T if transposed else np.eye(40) - P
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9)


@pytest.mark.parametrize("leaving", [1.0, 0.5, 0.1, 1e-3, 1e-6], ids=str)
@pytest.mark.parametrize("seed", few(range(3), range(2)))
def test_the_longest_stay_is_never_below_the_truth(seed, leaving):
    """(I - P)^-1 1 by dense algebra; the bound is at most a sixteenth above it."""
    P = (1 - leaving) * random_rows(seed, 8) * np.random.default_rng(seed).uniform(0.9, 1, size=(8, 1))
    truth = dense_solution(P, np.ones(8), 1.0).max()
    assert truth * (1 - 1e-9) <= longest_stay(csr_array(P)) <= truth * (16 / 15 + 1e-9)


def test_the_longest_stay_by_hand():
    """Left for good with probability q a step: 1 / q.  Up a path of n: n.  Nowhere: 0.  For ever: infinite."""
    for q in (1.0, 0.3, 1e-4, 1e-9):
        assert 1 / q <= longest_stay(csr_array([[1 - q]])) * (1 + 1e-6) <= 16 / 15 / q
    assert longest_stay(csr_array(np.eye(600, k=1))) == pytest.approx(600, rel=1e-9)
    assert longest_stay(csr_array((0, 0))) == 0
    assert longest_stay(csr_array(cycle(3))) == np.inf


def test_the_longest_stay_of_what_is_too_large_to_factorise(monkeypatch):
    monkeypatch.setattr(linear, "SMALL", 2)
    assert longest_stay(csr_array(0.9999 * cycle(5))) == pytest.approx(10_000, rel=1e-6)


def test_a_quick_chain_too_large_to_factorise_is_iterated(monkeypatch):
    monkeypatch.setattr(linear, "SMALL", 2)
    P, right = np.full((5, 5), 0.2), np.arange(5.0)
    solution, error = solve_discounted(csr_array(P), right, 0.999)
    assert np.abs(solution - (right + 0.999 * 2 / 0.001)).max() <= error < 1e-6


def test_what_was_given_stays_as_it_was():
    right = np.array([1.0, 0.0])
    solve_discounted(csr_array(cycle(2)), right, 0.5)
    assert right.tolist() == [1.0, 0.0]
