"""What is remembered of the recent past, and the rows in which it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from everlearn.agents import recent


def test_it_remembers_the_last_step_and_the_last_two_changes():
    seen, _ = recent.begin(recent.size_of(10, 2))
    states = [3, 4, 4, 4, 7, 7, 8]
    for step, (s, following) in enumerate(pairwise(states)):
        recent.move(seen, s, step % 2, following)
    assert seen.tolist() == [7, 1, 7, 4]
    recent.move(seen, 8, 0, 8)
    assert seen.tolist() == [8, 0, 7, 4]


def test_each_memory_has_a_row_of_its_own_as_long_as_there_is_room():
    seen, codes = recent.begin(recent.size_of(10, 2))
    rows = {}
    for number in range(100):
        seen[:] = number % 7, number % 2, number % 5, number % 3
        rows[number] = recent.take_row(codes, recent.code_of(seen, number % 10))
    assert len(set(rows.values())) == len({(n % 7, n % 2, n % 5, n % 3, n % 10) for n in range(100)})
    seen[:] = 0, 0, 0, 0
    assert recent.row_of(codes, recent.code_of(seen, 0)) == rows[0]


def test_a_full_table_shares_its_rows_and_keeps_their_codes():
    codes = np.arange(64)
    assert {recent.take_row(codes, code) for code in range(1000, 1400)} <= set(range(64))
    assert codes.tolist() == list(range(64))


def test_the_rows_of_all_states_are_those_of_each():
    random = np.random.default_rng(1)
    for taken in (20, 400):  # of 64 rows
        seen, codes = random.integers(50, size=4), np.full(64, recent.FREE)
        for s in random.integers(500, size=taken).tolist():
            recent.take_row(codes, recent.code_of(seen, s))
        rows = [recent.row_of(codes, recent.code_of(seen, s)) for s in range(500)]
        assert recent.rows_of(seen, codes, 500).tolist() == rows


def test_the_table_is_bounded():
    sizes = [recent.size_of(states, actions) for states, actions in ((2, 2), (6, 2), (1000, 2), (100_000, 500))]
    assert [size.states for size in sizes] == [64, 192, 967, 64]
