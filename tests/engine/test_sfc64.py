"""The generator inside compiled code against NumPy's, which it must equal bit for bit."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.engine.kernels import make_callable
from everlearn.engine.sfc64 import step
from everlearn.randomness import choose, uniform, words

make_callable(choose)


@numba.njit
def drawn(address, number):
    return [step(address) for _ in range(number)]


@numba.njit
def mixed(address, number):
    return uniform(address), choose(address, number), uniform(address)


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


@given(seed=st.integers(0, 2**64))
def test_it_draws_what_numpy_draws(seed):
    four = words(generator(seed))
    assert drawn(four.ctypes.data, 50) == generator(seed).random(50).tolist()


def test_it_leaves_the_stream_where_numpy_does():
    oracle = generator(5)
    four = words(oracle)
    drawn(four.ctypes.data, 1000)
    oracle.random(1000)
    assert four.tolist() == words(oracle).tolist()


@pytest.mark.parametrize("number", [1, 2, 3, 7, 10**6])
def test_an_agents_draws_are_the_interpreted_ones(number):
    oracle = generator(8)
    expected = uniform(oracle), choose(oracle, number), uniform(oracle)
    assert mixed(words(generator(8)).ctypes.data, number) == expected
