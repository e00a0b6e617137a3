"""The driver: the loops that run any design on any table, to be compiled.

It is compiled for each set of functions that a token stands for.  It advances several runs side by side, in *lanes*, so
that one run can work while another waits for memory.  Lane l has the rows from ``base[l]`` of a design's arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.clock import Block, Carry, multiplied
from everlearn.engine.kernels import act_by, first_by, formula_by, lane_by, learn_by, note_by
from everlearn.engine.sfc64 import STRIDE, step, stream_at
from everlearn.protocol import Experience, Knowledge, ScheduleValues, Table
from everlearn.tables import UNSEEN

int64: Any = np.int64
uint64: Any = np.uint64

FAILED = -1
"""Returned instead of a lane if a user's function returned a value that is not allowed."""

BISECTED = 16
"""Rows with at least this many outcomes are searched by bisection."""


class Lanes(NamedTuple):
    """For each lane: its pair, its aleatoric state, its first row, the sum of its rewards, and its two random streams.

    ``place`` is the position and the lane for which a user's functions were called last.
    """

    pair: NDArray[np.uint32]
    state: NDArray[np.uint32]
    base: NDArray[np.uint32]
    total: Table
    environment: NDArray[np.uint64]
    agent: NDArray[np.uint64]
    place: NDArray[np.int64]


def advance(
    token: Any,
    knowledge: Knowledge,
    block: Block,
    first: int,
    last: int,
    first_lane: int,
    rows: Any,
    width: int,
    outcomes: tuple[int, ...],
    actions: int,
    lanes: Lanes,
    environments: int,
    agents: int,
) -> tuple[int, int]:
    """Advance every lane over the steps of a block from ``first`` to before ``last``.

    ``outcomes`` is as long as a row is wide if rows are narrow, else empty; ``environments`` and ``agents`` are the
    addresses of the streams.  Return (last, 0), or the position and the lane at which a pair has not been expanded, or
    the position and ``FAILED`` if a user's function returned a value that is not allowed.
    """
    span = len(outcomes) if len(outcomes) > 0 else width
    first_known = first_by(token, knowledge, len(lanes.pair))
    for i in range(first, last):
        now = ScheduleValues(
            block.first + i,
            block.horizon[i],
            block.discount[i],
            block.optimism[i],
            block.drift[i],
            block.ceiling[i],
            block.scale[i],
            block.unscale[i],
            block.exponent[i],
        )
        for number in range(first_lane if i == first else 0, len(lanes.pair)):
            lane = uint64(number)  # an index that cannot be negative needs no check for it
            row = int64(lanes.pair[lane]) * actions * span
            if rows[uint64(row)].next == UNSEEN:
                return i, number
            base = int64(lanes.base[lane])
            s = int64(lanes.state[lane]) + base
            agent = stream_at(agents + number * STRIDE)
            note_by(token, lanes.place, i, number)
            known = lane_by(token, first_known, number)
            a = act_by(token, known, s, now, agent, actions)
            if a < 0:  # never true for a built-in design, and costs it nothing
                return i, FAILED
            draw = step(environments + number * STRIDE)
            outcome = rows[uint64(pick(rows, row + a * span, width, outcomes, draw))]
            following = int64(outcome.state)
            seen = Experience(s, a, int64(outcome.observation), outcome.learned, following + base)
            if not learn_by(token, known, seen, now, agent):
                return i, FAILED
            lanes.total[lane] += outcome.reward
            lanes.pair[lane] = outcome.next
            lanes.state[lane] = outcome.state
    return last, 0


def pick(rows: Any, row: int, width: int, outcomes: tuple[int, ...], draw: float) -> int:
    """Return the first outcome whose bound exceeds the draw; the bound of the last outcome is infinite."""
    if len(outcomes) > 0:  # known to the compiler, which then needs no branch
        place = row
        for j in range(len(outcomes) - 1):
            place += int64(draw >= rows[uint64(row + j)].bound)
        return place
    if width < BISECTED:
        while draw >= rows[uint64(row)].bound:
            row += 1
        return row
    low = row
    high = row + width - 1
    while low < high:
        middle = (low + high) // 2
        if draw >= rows[uint64(middle)].bound:
            low = middle + 1
        else:
            high = middle
    return low


def fill(token: Any, constants: Table, block: Block, carry: Carry) -> tuple[int, float, float]:
    """Evaluate the formula of a schedule over a block whose ceilings are known.

    Return the number of steps with values in their domain, and the product of foo4 after them.  The loop ends at the
    first value outside, so no compiler vectorises it: scalar arithmetic gives the same values as interpreted code.
    """
    scale = carry.scale
    exponent = carry.exponent
    for i in range(len(block.horizon)):
        tau, beta, factor = formula_by(token, block.first + i, constants)
        if not (1.0 <= tau < np.inf and 0.0 <= beta < np.inf and 0.0 <= factor < np.inf):
            return i, scale, exponent
        if factor != 1.0:
            scale, exponent = multiplied(scale, exponent, factor)
        block.horizon[i] = tau
        block.discount[i] = 1 - 1 / tau
        block.optimism[i] = beta
        block.drift[i] = (tau - block.ceiling[i]) / tau
        block.scale[i] = scale
        block.unscale[i] = 1 / scale
        block.exponent[i] = exponent
    return len(block.horizon), scale, exponent
