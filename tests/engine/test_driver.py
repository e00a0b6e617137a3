"""The driver's search for an outcome, in its three ways, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.engine.driver import BISECTED, pick
from everlearn.tables import OUTCOME


@given(draw=st.floats(0, 1, exclude_max=True), seed=st.integers(0, 1000), width=st.integers(1, 3 * BISECTED))
def test_it_picks_the_first_bound_above_the_draw(draw, seed, width):
    bounds = np.cumsum(np.random.default_rng(seed).dirichlet(np.ones(width)))
    bounds[-1] = np.inf
    rows = np.zeros(width + 7, dtype=OUTCOME)
    rows[7:]["bound"] = bounds
    expected = 7 + int(np.searchsorted(bounds, draw, side="right"))
    records = rows.view(np.recarray)
    assert pick(records, 7, width, (), draw) == expected
    assert pick(records, 7, width, (0,) * width, draw) == expected


@pytest.mark.parametrize("width", [1, 3, BISECTED])
def test_a_draw_on_a_bound_goes_to_the_next(width):
    rows = np.zeros(width, dtype=OUTCOME).view(np.recarray)
    rows.bound = np.append(np.arange(1, width) / width, np.inf)
    for place in range(width - 1):
        assert pick(rows, 0, width, (), (place + 1) / width) == place + 1
