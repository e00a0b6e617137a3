"""Tables of records: what an agent keeps of each aleatoric state, by name and side by side in memory.

A step reads and writes a few numbers about two aleatoric states.  Once a table is large, what counts is that the
numbers about one state lie together.  So a table has one record per aleatoric state, and each field of a record holds
one number per action, one number, or none.  The size of a field is part of its type: compiled code knows how many
actions there are, and leaves out what handles an empty field.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table

Flag: TypeAlias = tuple[int, ...]
"""A switch in what an agent knows whose state compiled code knows: it is on if ``len(flag) > 0``."""


def flag(on: bool) -> Flag:
    """Return a switch; code behind ``if len(flag) > 0`` is left out where it is off.

    Examples
    --------
    >>> len(flag(True)), len(flag(False))
    (1, 0)

    """
    return (0,) if on else ()


def records(shape: int | tuple[int, ...], **fields: int) -> NDArray[Any]:
    """Return a table of zeros whose fields hold the given numbers of entries per record.

    Examples
    --------
    >>> table = records(3, value=2, count=2, stamp=0)
    >>> table["value"].shape, table["stamp"].shape
    ((3, 2), (3, 0))

    """
    return np.zeros(shape, dtype=[(name, np.float64, (size,)) for name, size in fields.items()])


def as_floats(array: NDArray[Any]) -> NDArray[Any]:
    """Return a table of records as a plain array that shares its memory; any other array is returned as it is.

    This is how tables are stored.

    Examples
    --------
    >>> table = records(3, value=2, count=2)
    >>> table["count"][1] = 7
    >>> as_floats(table)[1].tolist()
    [0.0, 0.0, 7.0, 7.0]

    """
    kinds = {array.dtype[name].base for name in array.dtype.names or ()}
    if kinds != {np.dtype(np.float64)} or array.size == 0:
        return array
    plain: Table = array.view(np.float64)
    return plain.reshape(*array.shape, -1)
