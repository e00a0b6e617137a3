"""The generator inside compiled code against NumPy's, which it must equal bit for bit."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.engine.kernels import make_callable
from everlearn.engine.sfc64 import step, stream_at
from everlearn.randomness import KEY, WORDS, choose, draw_key, seed_words, stream_of, uniform, words

for function in (seed_words, choose, draw_key):
    make_callable(function)


@numba.njit
def drawn(address, number):
    return [step(address) for _ in range(number)]


@numba.njit
def mixed(address, number):
    stream = stream_at(address)
    return uniform(stream), choose(stream, number), uniform(stream)


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


def numbered(stream, key, room, number):
    draw_key(key, stream)
    seed_words(room, key, number)
    return uniform(stream_of(room)), choose(stream_of(room), 1000), uniform(stream)


make_callable(numbered)


@numba.njit
def numbered_at(address, key, room, number):
    return numbered(stream_at(address), key, room, number)


@given(seed=st.integers(0, 2**64), number=st.integers(0, 2**40))
def test_numbered_streams_are_the_interpreted_ones(seed, number):
    key, room = np.zeros(KEY), np.zeros(WORDS, dtype=np.uint64)
    other_key, other_room = key.copy(), room.copy()
    drawn = numbered_at(words(generator(seed)).ctypes.data, key, room, number)
    assert drawn == numbered(generator(seed), other_key, other_room, number)
    assert (key.tolist(), room.tolist()) == (other_key.tolist(), other_room.tolist())


def test_a_number_is_no_stream():
    with pytest.raises(numba.TypingError):
        numba.njit(lambda number: uniform(number))(5)
