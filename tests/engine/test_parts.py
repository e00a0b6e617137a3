"""Views of stacked arrays in compiled code: the same numbers, without a reference count."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numba
import numpy as np
import pytest

from everlearn.agents.registry import make_design
from everlearn.engine import compiling
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.parts import by_field, whole
from everlearn.engine.plan import Plan
from everlearn.engine.runner import table_for


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


@pytest.mark.soak
def test_the_compiled_driver_counts_no_references(monkeypatch, tmp_path):
    """Numba leaves most of the counting out by itself, but not in functions with many branches, such as planner's."""
    monkeypatch.setenv("EVERLEARN_CACHE_DIR", str(tmp_path))  # code from a cache cannot be inspected
    compiling._compiled.cache_clear()
    plan = Plan("riverswim", make_design("planner"), 10, 1, 1)
    batch = CompiledBatch(plan, table_for(plan), [0], 1)
    with ThreadPoolExecutor(1) as pool:
        assert list(batch.advance(pool))
    (code,) = batch._advance.overloads.values()
    text = code.library.get_llvm_str()
    assert "define" in text
    assert not re.findall(r"call .*@NRT_incref\(.*", text)
