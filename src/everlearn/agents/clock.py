"""The clock of an agent: what its schedule says of each step, evaluated in blocks and checked.

A schedule depends on t alone, so a block is evaluated once and serves every run; blocks begin at fixed places in t, so
that nothing depends on where a run was interrupted.  What accumulates over time, the sum of foo3 and the product of
foo4, is carried from block to block.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.schedule import Schedule
from everlearn.errors import ScheduleError
from everlearn.protocol import Now, Table

BLOCK = 4096
"""Steps in a block."""

FORGET = 1 << 20
"""How far the exponent falls where foo4 is zero: any count times 2 ** -FORGET is zero."""


class Carry(NamedTuple):
    """What has accumulated before a block.

    c = 1 + the sum of foo3, as a rounded sum and its error; the product of foo4, as a mantissa and a binary exponent,
    which neither vanishes nor underflows.
    """

    level: float = 1.0
    level_error: float = 0.0
    scale: float = 1.0
    exponent: int = 0


class Block(NamedTuple):
    """The fields of :class:`everlearn.protocol.Now` over consecutive steps, from ``first``."""

    first: int
    horizon: Table
    discount: Table
    optimism: Table
    drift: Table
    ceiling: Table
    scale: Table
    unscale: Table
    exponent: NDArray[np.int64]


def first_step(index: int) -> int:
    """Return the first step of a block.

    Examples
    --------
    >>> first_step(0), first_step(1)
    (1, 4097)

    """
    return index * BLOCK + 1


def evaluate(schedule: Schedule, index: int, carry: Carry) -> tuple[Block, Carry]:
    """Evaluate a block of a schedule, and return it with what is carried on to the next.

    Examples
    --------
    >>> from everlearn.agents.schedule import smooth
    >>> block, _ = evaluate(smooth(), 0, Carry())
    >>> float(block.horizon[31]), float(block.ceiling[31])
    (3.0, -1.0)

    """
    steps = range(first_step(index), first_step(index + 1))
    horizon = _values(schedule.horizon, steps, "horizon", least=1.0)
    optimism = _values(schedule.optimism, steps, "optimism", least=0.0)
    if schedule.ceiling is None:
        shift = _values(schedule.value_shift, steps, "value shift", least=-math.inf)
        ceiling, level, level_error = _summed(shift, horizon, carry)
    else:
        ceiling, level, level_error = np.full(BLOCK, schedule.ceiling), carry.level, carry.level_error
    count_scale = _values(schedule.count_scale, steps, "count scale", least=0.0)
    scale, exponent = _product(count_scale, carry)
    discount = 1 - 1 / horizon
    drift = (horizon - ceiling) / horizon
    block = Block(steps[0], horizon, discount, optimism, drift, ceiling, scale, 1 / scale, exponent)
    return block, Carry(level, level_error, float(scale[-1]), int(exponent[-1]))


def _values(function: object, steps: range, argument: str, least: float) -> Table:
    values = np.empty(len(steps))
    for position, t in enumerate(steps):
        value = function(t)  # type: ignore[operator]  # a schedule's function
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ScheduleError(argument, value, "must be a number", t) from None
        if not math.isfinite(number):
            raise ScheduleError(argument, number, "must be finite", t)
        if number < least:
            raise ScheduleError(argument, number, f"must be at least {least:g}", t)
        values[position] = number
    return values


def _summed(shift: Table, horizon: Table, carry: Carry) -> tuple[Table, float, float]:
    """Return tau - c at each step, with c summed by Neumaier's method, and the sum with its error."""
    ceiling = np.empty(len(shift))
    level, error = carry.level, carry.level_error
    for position, (added, tau) in enumerate(zip(shift.tolist(), horizon.tolist(), strict=True)):
        total = level + added
        error += (level - total) + added if abs(level) >= abs(added) else (added - total) + level
        level = total
        ceiling[position] = (tau - level) - error
    return ceiling, level, error


def _product(count_scale: Table, carry: Carry) -> tuple[Table, NDArray[np.int64]]:
    scale, exponent = np.full(len(count_scale), carry.scale), np.full(len(count_scale), carry.exponent)
    if np.all(count_scale == 1.0):
        return scale, exponent
    mantissa, power = carry.scale, carry.exponent
    for position, factor in enumerate(count_scale.tolist()):
        if factor == 0.0:
            mantissa, power = 1.0, power - FORGET
        elif factor != 1.0:
            half, shifted = math.frexp(factor)  # apart from the mantissa, so that no product under- or overflows
            again, shifted_again = math.frexp(mantissa * half)
            mantissa, power = 2 * again, power + shifted + shifted_again - 1
        scale[position], exponent[position] = mantissa, power
    return scale, exponent


class Clock:
    """Tells what a schedule says at any step, best asked in order.

    Examples
    --------
    >>> from everlearn.agents.schedule import smooth
    >>> clock = Clock(smooth())
    >>> clock.at(32).horizon, clock.at(32).discount
    (3.0, 0.6666666666666667)

    """

    def __init__(self, schedule: Schedule | None) -> None:
        self.schedule = schedule
        self._index = -1
        self._carry = self._next = Carry()
        self._rows: list[Now] = []

    def at(self, t: int) -> Now:
        """Return what is known of step t."""
        if self.schedule is None:
            return Now(t, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0)
        index = (t - 1) // BLOCK
        if index < self._index:
            self.wind(0, Carry())
        while self._index < index:
            self._turn(self.schedule)
        return self._rows[t - self._rows[0].t]

    @property
    def carry(self) -> tuple[int, Carry]:
        """The index of the current block, and what was carried into it."""
        return max(self._index, 0), self._carry

    def wind(self, index: int, carry: Carry) -> None:
        """Set the clock to the beginning of a block."""
        self._index, self._next = index - 1, carry
        if self.schedule is not None:
            self._turn(self.schedule)

    def _turn(self, schedule: Schedule) -> None:
        block, following = evaluate(schedule, self._index + 1, self._next)
        self._carry, self._next, self._index = self._next, following, self._index + 1
        steps = range(block.first, block.first + BLOCK)
        self._rows = [Now(*row) for row in zip(steps, *(column.tolist() for column in block[1:]), strict=True)]
