"""Draws made of uniform ones, against the distributions of SciPy, and compiled against interpreted."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from scipy import stats

from everlearn.agents.sampling import (
    LEAST_SHAPE,
    MOST_SHAPE,
    check_shape,
    fill_log_gamma,
    log_gamma_variate,
    normal,
    normalise,
)
from everlearn.engine.kernels import make_callable
from everlearn.engine.sfc64 import stream_at
from everlearn.randomness import words
from everlearn.sources import callees
from tests.few import few

NUMBER = 4000
LEVEL = 1e-3
"""Seeded tests of Kolmogorov and Smirnov; each would fail one correct seed in a thousand, and these do not."""


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def fits(draws, distribution) -> bool:
    return stats.kstest(draws, distribution.cdf).pvalue > LEVEL


def dirichlet(shapes, stream) -> np.ndarray:
    row = np.array(shapes)
    fill_log_gamma(row, stream)
    normalise(row)
    return row


@pytest.mark.parametrize("shape", [LEAST_SHAPE, 1e-17, 1e-15, 1e20, MOST_SHAPE])
def test_extreme_shapes_still_give_a_distribution(shape):
    stream = generator()
    check_shape(shape, "agent.prior")
    for _ in range(200):
        drawn = dirichlet([shape] * 3, stream)
        assert np.isfinite(drawn).all()
        assert drawn.sum() == pytest.approx(1)
    assert drawn.max() == pytest.approx(1.0 if shape < 1 else 1 / 3, abs=1e-6)


def test_normal():
    stream = generator()
    assert fits([normal(stream) for _ in range(NUMBER)], stats.norm())


@pytest.mark.parametrize("shape", [0.01, 0.1, 0.5, 0.999, 1.0, 1.5, 7.0, 300.0, 1e6])
def test_gamma(shape):
    # Of a shape of 0.01 an eighth of all variates are below the least double; so the logarithms are compared.
    stream = generator(2)
    draws = [log_gamma_variate(stream, shape) for _ in range(NUMBER)]
    assert all(map(math.isfinite, draws))
    assert fits(draws, stats.loggamma(shape))


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (1.0, 1.0), (0.1, 3.0), (1.0, 101.0), (5000.5, 2000.25)])
def test_beta(first, second):
    stream = generator(3)
    draws = [dirichlet([first, second], stream)[0] for _ in range(NUMBER)]
    assert fits(draws, stats.beta(first, second))


@pytest.mark.parametrize("shapes", [[0.1, 0.1, 0.1, 5.1], [2.0, 3.0, 4.0], [1.0]])
def test_dirichlet(shapes):
    # Each entry of a Dirichlet draw is a beta variate; its shapes are that entry's and the rest.
    stream = generator(4)
    rows = np.array([dirichlet(shapes, stream) for _ in range(NUMBER)])
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-14)
    if len(shapes) > 1:
        assert all(fits(rows[:, j], stats.beta(one, sum(shapes) - one)) for j, one in enumerate(shapes))


def test_a_dirichlet_draw_of_tiny_shapes_is_still_a_distribution():
    stream = generator(5)
    best = []
    for _ in range(300):
        row = dirichlet([1e-8] * 3, stream)
        assert np.isfinite(row).all()
        best.append(int(row.argmax()))
        assert row.max() == pytest.approx(1)
    assert min(np.bincount(best, minlength=3)) > 60  # each is the one about 100 times; 4.9 deviations


for function in (*callees(fill_log_gamma), normalise):
    make_callable(function)


def interpreted(stream, shapes):
    drawn = [normal(stream) for _ in range(50)]
    drawn += [log_gamma_variate(stream, shape) for shape in shapes]
    fill_log_gamma(shapes, stream)
    normalise(shapes)
    return drawn


make_callable(interpreted)


@numba.njit(error_model="numpy")
def compiled(address, shapes):
    return interpreted(stream_at(address), shapes)


@pytest.mark.parametrize("seed", few(range(5), range(2)))
def test_compiled_is_interpreted(seed):
    shapes = np.array([1e-4, 0.1, 0.9, 1.0, 2.5, 1e3, 1e7] * 20)
    other, four = shapes.copy(), words(generator(seed))
    assert compiled(four.ctypes.data, shapes) == interpreted(generator(seed), other)
    assert shapes.tolist() == other.tolist()
