"""The recent past: what the agent ``remembering`` remembers of it, and a second model, whose states are these memories.

The agent remembers the last aleatoric state and action, and the last two changes: states that differ from the state
after them.  So it knows what happened in the last step, and, however long ago it was, what it saw before it came to
where it is.  A memory, with the present aleatoric state, has a row in a table of bounded size, which a hash finds.  The
rows are the states of a model as ``planner`` has it (:mod:`everlearn.agents.sparse_model`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.sparse_model import Planner

STATE, ACTION, CHANGE, EARLIER = range(4)
"""What is remembered, in ``seen``: the last state and action, the last change, and the one before it."""

ROWS_PER_STATE, NUMBERS, FEWEST_ROWS = 32, 60_000, 64
"""There are so many rows per aleatoric state, but not more than have so many numbers, or 64 if that is more."""

SUCCESSORS = 8
"""The most next rows per row and action."""

PER_PAIR = 7 + 3 * SUCCESSORS
"""About so many numbers are stored per row and action."""

PROBES = 8
"""The number of rows in which a memory may be."""

FREE = -1
"""In place of a code: a row that is not used."""


class Size(NamedTuple):
    """How many rows and actions there are, as a planner asks a task."""

    states: int
    actions: int


def size_of(states: int, actions: int) -> Size:
    """Return the size of the table for a task."""
    most = max(FEWEST_ROWS, NUMBERS // (PER_PAIR * actions))
    return Size(min(ROWS_PER_STATE * states, most), actions)


def begin(size: Size) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``seen`` and ``codes``, in which nothing is remembered."""
    return np.zeros(EARLIER + 1, dtype=np.int64), np.full(size.states, FREE, dtype=np.int64)


def code_of(seen: NDArray[np.int64], s: int) -> int:
    """Return a number for the memory in a state."""
    code = mixed(s + 1)
    for place in range(len(seen)):
        code = mixed(code ^ ((seen[place] + 1) << 8))
    return code


def mixed(code: int) -> int:
    """Return a number of 31 bits that depends on all bits of a number."""
    code = (code ^ (code >> 31)) & 0x7FFFFFFF
    code = ((code ^ (code >> 16)) * 0x45D9F3B) & 0x7FFFFFFF
    code = ((code ^ (code >> 15)) * 0x45D9F3B) & 0x7FFFFFFF
    return code ^ (code >> 16)


def row_of(codes: NDArray[np.int64], code: int) -> int:
    """Return the row of a code: the first one that is its own or is free, of some rows; if there is none, any."""
    rows = len(codes)
    for probe in range(PROBES):
        row = (code + probe) % rows
        if codes[row] == code or codes[row] == FREE:
            return int(row)
    return int(code % rows)


def take_row(codes: NDArray[np.int64], code: int) -> int:
    """Return the row of a code, and make it its own if it is free."""
    row = row_of(codes, code)
    if codes[row] == FREE:
        codes[row] = code
    return row


def move(seen: NDArray[np.int64], s: int, action: int, following: int) -> None:
    """Move what is remembered one step on."""
    if following != s:
        seen[EARLIER] = seen[CHANGE]
        seen[CHANGE] = s
    seen[STATE] = s
    seen[ACTION] = action


def rows_of(seen: NDArray[np.int64], codes: NDArray[np.int64], states: int) -> NDArray[np.int64]:
    """Return the row of every aleatoric state with the present memory, as :func:`row_of` finds it."""
    code = np.asarray(code_of(seen, np.arange(states)))  # type: ignore[arg-type]  # of all states at once
    rows = (code[:, None] + np.arange(PROBES)) % len(codes)
    fits = (codes[rows] == code[:, None]) | (codes[rows] == FREE)
    return np.asarray(rows[np.arange(states), fits.argmax(axis=1)])  # the first one if none fits


def allowed_in(model: Planner, rows: NDArray[np.int64], allowed: NDArray[Any]) -> Planner:
    """Return a model of copies of rows, in which actions are forbidden."""
    cells = model.cells[rows].copy()
    cells["value"][~allowed] = -np.inf
    return model._replace(cells=cells)
