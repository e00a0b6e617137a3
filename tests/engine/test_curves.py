"""Recording times: log-spaced, and dependent on t alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.engine.curves import recording_times


@given(steps=st.integers(1, 10**12))
def test_times_rise_from_one_to_the_end(steps):
    times = recording_times(steps)
    assert times[0] == 1
    assert times[-1] == steps
    assert (np.diff(times) > 0).all()


@given(short=st.integers(1, 10**9), longer=st.integers(1, 10**9))
def test_times_do_not_depend_on_the_length_of_the_run(short, longer):
    short, longer = sorted((short, longer))
    grid = recording_times(longer)[:-1]
    assert recording_times(short)[:-1].tolist() == grid[grid < short].tolist()


def test_times_by_hand():
    assert recording_times(25).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 18, 20, 22, 25]
    assert recording_times(1).tolist() == [1]


@pytest.mark.parametrize("decade", range(2, 10))
def test_there_are_twenty_a_decade(decade):
    times = recording_times(10**12)
    assert ((times >= 10**decade) & (times < 10 ** (decade + 1))).sum() == 20


def test_powers_of_ten_are_among_them():
    assert set(10 ** np.arange(13)) <= set(recording_times(10**12).tolist())
