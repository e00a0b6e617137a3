"""The knowledge of a design, a NamedTuple of arrays and constants: list, copy and store its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Knowledge


def arrays(knowledge: Knowledge) -> dict[str, NDArray[Any]]:
    """Return the arrays of knowledge by name; everything else in it is constant, also an array that is read-only."""
    values = knowledge._asdict().items()
    return {name: value for name, value in values if isinstance(value, np.ndarray) and value.flags.writeable}


def copied(knowledge: Knowledge, rows: Sequence[int] | None = None) -> Knowledge:
    """Return knowledge with copies of its arrays; if rows are given, of these rows only."""
    chosen = slice(None) if rows is None else list(rows)
    return knowledge._replace(**{name: np.array(array[chosen]) for name, array in arrays(knowledge).items()})


def stored_arrays(knowledge: Knowledge) -> dict[str, NDArray[Any]]:
    """Return the arrays of knowledge as they are stored: tables of records as plain numbers, in shared memory."""
    return {name: _as_floats(array) for name, array in arrays(knowledge).items()}


def exchanged(present: Sequence[NDArray[Any]], given: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return a copy of arrays as one array, and put what was returned before in their place if it is passed.

    Zeros at its end may be left out.
    """
    kept = present[0].copy() if len(present) == 1 else np.concatenate([array.ravel() for array in present])
    if given is not None:
        numbers, begin = np.zeros(kept.size, dtype=kept.dtype), 0
        numbers[: given.size] = given.ravel()
        for array in present:
            array[...] = numbers[begin : begin + array.size].reshape(array.shape)
            begin += array.size
    return kept


def _as_floats(array: NDArray[Any]) -> NDArray[Any]:
    kinds = {array.dtype[name].base for name in array.dtype.names or ()}
    if kinds != {np.dtype(np.float64)} or array.size == 0:
        return array
    return array.view(np.float64).reshape(*array.shape, -1)
