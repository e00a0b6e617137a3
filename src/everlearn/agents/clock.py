"""The clock of an agent: the values of its schedule at each step, evaluated in blocks and checked.

A schedule depends on t alone, so a block is evaluated once and serves every run.  Each value is computed from its own t
by scalar arithmetic, so that nothing depends on where a block begins.  The sum of foo3 and the product of foo4 are
carried from block to block.
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
"""How far the exponent falls if foo4 is zero: any count times 2 ** -FORGET is zero.

It is so large that no later growth restores a count, and so small that 2 ** 27 zeros stay exact in a double."""


class Carry(NamedTuple):
    """What has accumulated before a block.

    c = 1 + the sum of foo3, as a rounded sum and its error; the product of foo4, as a mantissa and a binary exponent,
    so that it does not underflow.
    """

    level: float = 1.0
    level_error: float = 0.0
    scale: float = 1.0
    exponent: float = 0.0


class Samples(NamedTuple):
    """foo1, foo2 and foo4 at consecutive steps, and foo3 if the ceiling is not known."""

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
    """Evaluate a schedule at consecutive steps; return the block, and what is carried to the step after it."""
    return assemble(schedule, steps[0], sample(schedule, steps), carry)


def sample(schedule: Schedule, steps: range) -> Samples:
    """Evaluate foo1 to foo4 step by step, and check them."""
    if schedule.formula is not None and schedule.ceiling is not None:
        rows = np.array([_call_formula(schedule, schedule.formula, t) for t in steps])
        horizon, optimism, count_scale = rows.T.copy()
        samples = Samples(horizon, optimism, count_scale, None)
    else:
        functions = (schedule.horizon, schedule.optimism, schedule.count_scale, schedule.value_shift)
        horizon, optimism, count_scale, value_shift = (
            _call(schedule, function, name, steps) for function, name in zip(functions, LEAST, strict=True)
        )
        samples = Samples(horizon, optimism, count_scale, None if schedule.ceiling is not None else value_shift)
    check(samples, steps[0])
    return samples


LEAST = {"horizon": 1.0, "optimism": 0.0, "count scale": 0.0, "value shift": -math.inf}
"""The least value of each field of :class:`Samples`."""


def check(samples: Samples, first: int) -> None:
    """Raise if a value is outside its domain, for the first step at which one is."""
    mistakes = []
    for values, (name, least) in zip(samples, LEAST.items(), strict=True):
        if values is not None:
            wrong = np.flatnonzero(~(np.isfinite(values) & (values >= least)))
            mistakes += [(int(position), name, float(values[position]), least) for position in wrong[:1]]
    if mistakes:
        position, name, value, least = min(mistakes, key=lambda mistake: mistake[0])
        remedy = f"must be at least {least:g}" if math.isfinite(value) else "must be finite"
        raise ScheduleError(name, value, remedy, first + position)


def _call_formula(schedule: Schedule, formula: Formula, t: int) -> tuple[float, float, float]:
    constants: Any = schedule.constants
    with blame(f"schedule {schedule.name!r}: formula", f"t = {t}"):
        try:
            return formula(t, constants)
        except OverflowError:  # compiled code has infinity here; check raises for both
            return math.inf, math.inf, math.inf


def _call(schedule: Schedule, function: Callable[[int], float], name: str, steps: range) -> Table:
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
    """Make a block from samples and what has accumulated; return it, and what is carried to the next."""
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
    """Return tau - c at each step, where c is summed by Neumaier's method, and the sum with its error."""
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
    """Multiply mantissa 2^power by a factor; the mantissa stays in [1, 2), and a factor of zero lowers the power."""
    if factor == 0.0:
        return 1.0, power - FORGET
    half, moved = math.frexp(factor)  # split first, so that no product underflows or overflows
    again, moved_again = math.frexp(mantissa * half)
    return 2.0 * again, power + moved + moved_again - 1.0


class Clock:
    """Returns the values of a schedule at any step, fastest in order; it keeps the current block and the one before."""

    def __init__(self, schedule: Schedule | None) -> None:
        self.schedule = schedule
        self._index = -1
        self._carry = self._next_carry = self._last_carry = Carry()
        self._rows: list[ScheduleValues] = []
        self._last_rows: list[ScheduleValues] = []

    def at(self, t: int) -> ScheduleValues:
        """Return the values at step t."""
        if self.schedule is None:
            return ScheduleValues(t, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
        index = (t - 1) // BLOCK
        if index == self._index - 1 and self._last_rows:
            return self._last_rows[t - self._last_rows[0].t]
        if index < self._index:
            self.start_at(0, Carry())
        while self._index < index:
            self._advance(self.schedule)
        return self._rows[t - self._rows[0].t]

    def carry(self, t: int) -> tuple[int, Carry]:
        """Return the index of the block of step t, which is the current one or the one before, and its carry.

        A clock that is started there has the values at t and at all later steps.
        """
        if self._last_rows and (t - 1) // BLOCK == self._index - 1:
            return self._index - 1, self._last_carry
        return max(self._index, 0), self._carry

    def start_at(self, index: int, carry: Carry) -> None:
        """Set the clock to the beginning of a block."""
        self._index, self._next_carry, self._rows, self._last_rows = index - 1, carry, [], []
        if self.schedule is not None:
            self._advance(self.schedule)

    def _advance(self, schedule: Schedule) -> None:
        first = (self._index + 1) * BLOCK + 1
        steps = range(first, first + BLOCK)
        block, following = evaluate(schedule, steps, self._next_carry)
        self._last_carry, self._carry, self._next_carry = self._carry, self._next_carry, following
        self._index += 1
        columns = (column.tolist() for column in block[1:])
        self._last_rows, self._rows = self._rows, [ScheduleValues(*row) for row in zip(steps, *columns, strict=True)]
