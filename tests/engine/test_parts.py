"""Views of stacked arrays in compiled code: the same numbers, without a reference count."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from everlearn.engine.parts import by_field, whole


class Known(NamedTuple):
    """What a design of these tests knows."""

    table: np.ndarray
    scale: float


def test_a_whole_array_is_a_view_that_owns_no_memory():
    view = numba.njit(lambda array: whole(array, 3))
    table = np.arange(12.0).reshape(2, 3, 2)[:, :, 1]
    seen = view(table)
    assert seen.shape == table.shape
    assert seen.strides == table.strides
    assert seen.tolist() == table.tolist()
    assert np.shares_memory(seen, table)
    assert seen.base is None  # nothing that it would keep alive, and so no references to count
    assert not seen.flags.owndata


def test_every_array_of_a_named_tuple_is_replaced_and_nothing_else():
    known = Known(np.arange(3.0), 2.0)
    mapped = numba.njit(by_field(numba.typeof(known), whole))
    seen = mapped(0, known, 1)
    assert isinstance(seen, Known)
    assert np.shares_memory(seen.table, known.table)
    assert seen.table.base is None
    assert seen.scale == 2.0
