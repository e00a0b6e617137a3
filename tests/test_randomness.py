"""Streams: which there are, that they differ, and that they can be taken and put back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everlearn.randomness import AGENT, ENVIRONMENT, choose, put_words, stream, uniform, words


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
    put_words(other, words(one))
    assert [uniform(one) for _ in range(5)] == [uniform(other) for _ in range(5)]
    assert words(one).tolist() == words(other).tolist()


@given(seed=st.integers(0, 1000), number=st.integers(1, 100))
def test_choosing_takes_one_uniform(seed, number):
    one, other = stream(seed, 0, AGENT), stream(seed, 0, AGENT)
    assert choose(one, number) == int(other.random() * number) < number
    assert one.random() == other.random()
