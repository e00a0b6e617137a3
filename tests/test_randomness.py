"""Streams: which there are, that they differ, and that they can be taken and put back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everlearn.randomness import (
    AGENT,
    ENVIRONMENT,
    KEY,
    WORDS,
    choose,
    draw_key,
    seed_words,
    set_words,
    stream,
    stream_of,
    uniform,
    words,
)


def test_a_stream_is_the_generator_that_the_documentation_names():
    for whose in (ENVIRONMENT, AGENT):
        other = np.random.Generator(np.random.SFC64(np.random.SeedSequence(5, spawn_key=(3, whose))))
        mine = stream(5, 3, whose)
        assert [uniform(mine) for _ in range(20)] == other.random(20).tolist()


def test_streams_of_seeds_runs_and_parts_differ():
    firsts = {stream(seed, run, whose).random() for seed in range(10) for run in range(10) for whose in (0, 1)}
    assert len(firsts) == 200


@given(seed=st.integers(0, 2**64), drawn=st.integers(0, 50))
def test_a_stream_put_back_goes_on_as_it_was(seed, drawn):
    one, other = stream(seed, 0, AGENT), stream(0, 0, AGENT)
    for _ in range(drawn):
        uniform(one)
    set_words(other, words(one))
    assert [uniform(one) for _ in range(5)] == [uniform(other) for _ in range(5)]
    assert words(one).tolist() == words(other).tolist()


@given(seed=st.integers(0, 1000), number=st.integers(1, 100))
def test_choosing_takes_one_uniform(seed, number):
    one, other = stream(seed, 0, AGENT), stream(seed, 0, AGENT)
    assert choose(one, number) == int(other.random() * number) < number
    assert one.random() == other.random()


def _numbered(key: np.ndarray, number: int, draws: int = 20) -> list[float]:
    room = np.zeros(WORDS, dtype=np.uint64)
    seed_words(room, key, number)
    return [uniform(stream_of(room)) for _ in range(draws)]


@given(seed=st.integers(0, 2**64), number=st.integers(0, 2**40))
def test_a_numbered_stream_is_numpys_from_the_same_words(seed, number):
    key = np.zeros(KEY)
    draw_key(key, stream(seed, 0, AGENT))
    oracle = np.random.Generator(np.random.SFC64(0))
    first, second, third = (int(draw * 2**53) for draw in key)
    set_words(oracle, np.array([first, second, third + number, 1], dtype=np.uint64))
    oracle.random(12)  # as NumPy does when it seeds
    assert _numbered(key, number) == oracle.random(20).tolist()


def test_numbered_streams_differ_and_each_is_uniform():
    key = np.zeros(KEY)
    draw_key(key, stream(1, 0, AGENT))
    drawn = np.array([_numbered(key, number) for number in range(500)])
    assert len(set(drawn.ravel().tolist())) == drawn.size
    # 500 x 20 draws: the mean has standard deviation 0.0029, a correlation of neighbouring streams 0.01
    assert abs(drawn.mean() - 0.5) < 0.012
    assert abs(np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]) < 0.04
    assert abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < 0.18  # first draws of 499 pairs: 0.045
