"""The clock of an agent: what its schedule says of each step, evaluated in blocks and checked.

A schedule depends on t alone, so a block is evaluated once and serves every run.  Every value is computed from its own
t by scalar arithmetic, so that nothing depends on where a block begins.  What accumulates over time, the sum of foo3
and the product of foo4, is carried from block to block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from everlearn.agents.schedule import Formula, Schedule
from everlearn.blame import blame
from everlearn.errors import ScheduleError
from everlearn.protocol import ScheduleValues, Table

BLOCK = 4096
"""Steps in a block."""

FORGET = 1 << 26
"""How far the exponent falls where foo4 is zero: any count times 2 ** -FORGET is zero.

Large, so that no growth after it brings a count back; small enough for 2 ** 27 zeros to stay exact in a double."""


class Carry(NamedTuple):
    """What has accumulated before a block.

    c = 1 + the sum of foo3, as a rounded sum and its error; the product of foo4, as a mantissa and a binary exponent,
    which neither vanishes nor underflows.
    """

    level: float = 1.0
    level_error: float = 0.0
    scale: float = 1.0
    exponent: float = 0.0


class Samples(NamedTuple):
    """foo1, foo2 and foo4 at consecutive steps, and foo3 where the ceiling is not known."""

    horizon: Table
    optimism: Table
    count_scale: Table
    value_shift: Table | None


class Block(NamedTuple):
    """The fields of :class:`everlearn.protocol.ScheduleValues` over consecutive steps, from ``first``."""

    first: int
    horizon: Table
    discount: Table
    optimism: Table
    drift: Table
    ceiling: Table
    scale: Table
    unscale: Table
    exponent: Table


def evaluate(schedule: Schedule, steps: range, carry: Carry) -> tuple[Block, Carry]:
    """Evaluate a schedule at consecutive steps; return that, and what is carried on to the step after.

    Examples
    --------
    >>> from everlearn.agents.schedule import smooth
    >>> block, _ = evaluate(smooth(), range(1, 33), Carry())
    >>> float(block.horizon[31]), float(block.ceiling[31])
    (3.0, -1.0)

    """
    return assemble(schedule, steps[0], sample(schedule, steps), carry)


def sample(schedule: Schedule, steps: range) -> Samples:
    """Evaluate foo1 to foo4 step by step, and check them."""
    if schedule.formula is not None and schedule.ceiling is not None:
        rows = np.array([_formula_at(schedule, schedule.formula, t) for t in steps])
        columns: list[Table | None] = [*rows.T.copy(), None]
    else:
        functions = (schedule.horizon, schedule.optimism, schedule.count_scale, schedule.value_shift)
        known = schedule.ceiling is not None
        columns = [_called(schedule, function, name, steps) for function, name in zip(functions, NAMES, strict=True)]
        columns[3] = None if known else columns[3]
    samples = Samples(*columns)  # type: ignore[arg-type]  # only the last may be None
    check(samples, steps[0])
    return samples


NAMES = ("horizon", "optimism", "count scale", "value shift")
LEAST = (1.0, 0.0, 0.0, -math.inf)


def check(samples: Samples, first: int) -> None:
    """Refuse values outside their domain, at the first step at which there is one."""
    worst: tuple[int, str, float, float] | None = None
    for values, name, least in zip(samples, NAMES, LEAST, strict=True):
        if values is None:
            continue
        wrong = np.flatnonzero(~(np.isfinite(values) & (values >= least)))
        if wrong.size and (worst is None or wrong[0] < worst[0]):
            worst = int(wrong[0]), name, float(values[wrong[0]]), least
    if worst is not None:
        position, name, value, least = worst
        remedy = f"must be at least {least:g}" if math.isfinite(value) else "must be finite"
        raise ScheduleError(name, value, remedy, first + position)


def _formula_at(schedule: Schedule, formula: Formula, t: int) -> tuple[float, float, float]:
    constants: Any = schedule.constants
    with blame(f"schedule {schedule.name!r}: formula", f"t = {t}"):
        try:
            return formula(t, constants)
        except OverflowError:  # where compiled code has infinity; either is refused
            return math.inf, math.inf, math.inf


def _called(schedule: Schedule, function: Callable[[int], float], name: str, steps: range) -> Table:
    values = np.empty(len(steps))
    for position, t in enumerate(steps):
        with blame(f"schedule {schedule.name!r}: {name.replace(' ', '_')}", f"t = {t}"):
            try:
                value: Any = function(t)
            except OverflowError:
                value = math.inf
        if isinstance(value, str):  # which float() would read
            raise ScheduleError(name, value, "must be a number", t)
        try:
            values[position] = float(value)
        except OverflowError:
            values[position] = math.inf
        except (TypeError, ValueError):
            raise ScheduleError(name, value, "must be a number", t) from None
    return values


def assemble(schedule: Schedule, first: int, samples: Samples, carry: Carry) -> tuple[Block, Carry]:
    """Make a block from samples, with what accumulates over time; return it, and what is carried on."""
    horizon = samples.horizon
    if samples.value_shift is None:
        ceiling = np.full(len(horizon), schedule.ceiling)
        level, level_error = carry.level, carry.level_error
    else:
        ceiling, level, level_error = _summed(samples.value_shift, horizon, carry)
    scale, exponent = _product(samples.count_scale, carry)
    discount = 1 - 1 / horizon
    drift = (horizon - ceiling) / horizon
    block = Block(first, horizon, discount, samples.optimism, drift, ceiling, scale, 1 / scale, exponent)
    return block, Carry(level, level_error, float(scale[-1]), float(exponent[-1]))


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


def _product(count_scale: Table, carry: Carry) -> tuple[Table, Table]:
    """Return the running product of foo4, as mantissas and exponents."""
    scale, exponent = np.full(len(count_scale), carry.scale), np.full(len(count_scale), carry.exponent)
    mantissa, power = carry.scale, carry.exponent
    changes = np.flatnonzero(count_scale != 1.0).tolist()
    for position, end in pairwise([*changes, len(count_scale)]):
        mantissa, power = multiplied(mantissa, power, float(count_scale[position]))
        scale[position:end], exponent[position:end] = mantissa, power
    return scale, exponent


def multiplied(mantissa: float, power: float, factor: float) -> tuple[float, float]:
    """Multiply mantissa 2^power by a factor, the mantissa staying in [1, 2); a factor of zero drops the power.

    Examples
    --------
    >>> multiplied(1.5, 0.0, 0.5), multiplied(1.5, 0.0, 0.0)
    ((1.5, -1.0), (1.0, -67108864.0))

    """
    if factor == 0.0:
        return 1.0, power - FORGET
    half, moved = math.frexp(factor)  # apart from the mantissa, so that no product under- or overflows
    again, moved_again = math.frexp(mantissa * half)
    return 2.0 * again, power + moved + moved_again - 1.0


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
        self._carry = self._next = self._last = Carry()
        self._rows: list[ScheduleValues] = []
        self._before: list[ScheduleValues] = []

    def at(self, t: int) -> ScheduleValues:
        """Return what is known of step t."""
        if self.schedule is None:
            return ScheduleValues(t, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
        index = (t - 1) // BLOCK
        if index == self._index - 1 and self._before:
            return self._before[t - self._before[0].t]
        if index < self._index:
            self.wind(0, Carry())
        while self._index < index:
            self._turn(self.schedule)
        return self._rows[t - self._rows[0].t]

    def carry(self, t: int) -> tuple[int, Carry]:
        """Return the index of the block of step t, which is the current one or the one before, and its carry.

        Wound there, the clock tells of t and of all that follows.
        """
        if self._before and (t - 1) // BLOCK == self._index - 1:
            return self._index - 1, self._last
        return max(self._index, 0), self._carry

    def wind(self, index: int, carry: Carry) -> None:
        """Set the clock to the beginning of a block."""
        self._index, self._next, self._rows, self._before = index - 1, carry, [], []
        if self.schedule is not None:
            self._turn(self.schedule)

    def _turn(self, schedule: Schedule) -> None:
        begin = (self._index + 1) * BLOCK + 1
        block, following = evaluate(schedule, range(begin, begin + BLOCK), self._next)
        self._last, self._carry, self._next, self._index = self._carry, self._next, following, self._index + 1
        steps = range(begin, begin + BLOCK)
        self._before = self._rows
        self._rows = [
            ScheduleValues(*row) for row in zip(steps, *(column.tolist() for column in block[1:]), strict=True)
        ]
