"""Numbers of the run: the row that was entered last has the current one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everlearn.agents.tabular import latest_rows


@given(states=st.integers(1, 5), paths=st.lists(st.lists(st.integers(0, 4), max_size=30), min_size=1, max_size=4))
def test_the_row_entered_last_is_found(states, paths):
    entered, expected = np.zeros((len(paths), states)), []
    for run, path in enumerate(paths):
        here = 0  # all rows are alike before the first step, so the first will do
        for t, place in enumerate(path, start=1):
            here = place % states
            entered[run, here] = t
        expected.append(run * states + here)
    assert latest_rows(entered.ravel(), states).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), max_size=60))
def test_a_sum_that_moves_from_row_to_row_is_the_sum(steps):
    carried, entered, here = np.zeros(4), np.zeros(4), 0
    for t, (following, added) in enumerate(steps, start=1):
        carried[following] = carried[here] + added
        entered[following] = t
        here = following
    assert carried[latest_rows(entered, 4)].tolist() == [sum(added for _, added in steps)]
