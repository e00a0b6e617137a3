"""The clock of an agent: the values of its schedule at each step, evaluated in blocks and checked.

A schedule depends on t alone, so a block is evaluated once and serves every run.  Each value is computed from its own t
by scalar arithmetic, so that nothing depends on where a block begins.  The sum of foo3 and the product of foo4 are
carried from block to block.

A service has thousands of agents, each with a clock.  The clock of a built-in schedule therefore stores no values: it
checks a block before the block begins, a few steps at a time, and evaluates each row when it is asked for.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from everlearn.agents.schedule import FOREVER, Formula, Schedule
from everlearn.blame import blame
from everlearn.errors import ScheduleError
from everlearn.ownership import is_ours
from everlearn.protocol import ScheduleValues, Table

BLOCK = 4096
"""Steps in a block."""

ROWS = 16
"""Steps whose values a clock keeps: it computes them together, which is faster than one at a time."""

PORTION = 64
"""Steps of the next block that are checked with each set of rows: little work, and done long before the block begins.

It divides ``BLOCK``."""

FORGET = 1 << 26
"""How far the exponent falls if foo4 is zero: any count times 2 ** -FORGET is zero.

It is so large that no later growth restores a count, and so small that 2 ** 27 zeros stay exact in a double."""


_new = tuple.__new__  # faster than the constructor of a named tuple


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
            horizon, optimism, count_scale = formula(t, constants)
            return float(horizon), float(optimism), float(count_scale)
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
    """Returns the values of a schedule at any step, fastest in order."""

    def __init__(self, schedule: Schedule | None) -> None:
        self.schedule = schedule
        self._index = -1
        self._carry = self._next_carry = Carry()
        self._last_carry: Carry | None = None
        self._block: _Stored | _Computed | None = None
        self._ahead: _Ahead | None = None
        self._rows: list[ScheduleValues] = []
        self._first_row = 1

    def at(self, t: int) -> ScheduleValues:
        """Return the values at step t."""
        place = t - self._first_row
        if 0 <= place < len(self._rows):
            return self._rows[place]
        return self._find(t)

    def _find(self, t: int) -> ScheduleValues:
        """Return the values at a step that is not among the rows; keep a few rows from there, which are asked next."""
        if self.schedule is None:
            return ScheduleValues(t, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
        index = (t - 1) // BLOCK
        if index < self._index:
            if t == self._index * BLOCK:
                return self._at_last_of_before(self.schedule, t)
            self.start_at(0, Carry())
        while self._index < index or self._block is None:
            self._advance(self.schedule)
        if self._ahead is not None:
            self._ahead.check_portion()
        end = min(t + ROWS, (self._index + 1) * BLOCK + 1)
        self._rows, self._first_row = self._block.rows(range(t, end)), t
        return self._rows[0]

    def _at_last_of_before(self, schedule: Schedule, t: int) -> ScheduleValues:
        """Return the values at the last step before the current block; what accumulated until then is its carry."""
        samples, carry = sample(schedule, range(t, t + 1)), self._carry
        horizon, optimism = float(samples.horizon[0]), float(samples.optimism[0])
        summed = (horizon - carry.level) - carry.level_error
        ceiling = summed if schedule.ceiling is None else float(schedule.ceiling)
        return _row(t, horizon, optimism, ceiling, float(carry.scale), float(carry.exponent))

    def carry(self, t: int) -> tuple[int, Carry]:
        """Return the index of the block of step t, which is the current one or the one before, and its carry.

        A clock that is started there has the values at t and at all later steps.
        """
        if self._last_carry is not None and (t - 1) // BLOCK == self._index - 1:
            return self._index - 1, self._last_carry
        return max(self._index, 0), self._carry

    def start_at(self, index: int, carry: Carry) -> None:
        """Set the clock to the beginning of a block."""
        self._index, self._next_carry, self._block, self._ahead = index - 1, carry, None, None
        self._rows = []
        if self.schedule is not None:
            self._advance(self.schedule)

    def _advance(self, schedule: Schedule) -> None:
        first, carry = (self._index + 1) * BLOCK + 1, self._next_carry
        self._rows = []
        last_carry = None if self._block is None else self._carry
        if _is_computed(schedule):
            scalings = None if self._ahead is None else self._ahead.scalings
            self._block = _Computed(schedule, first, carry, scalings)
            self._ahead = None if schedule.monotone else _Ahead(schedule, first + BLOCK)
        else:
            self._block = _Stored(schedule, first, carry)
        self._last_carry, self._carry, self._next_carry = last_carry, carry, self._block.following
        self._index += 1


def _row(t: int, horizon: float, optimism: float, ceiling: float, scale: float, exponent: float) -> ScheduleValues:
    """Return the values at a step, with those that follow from others; :func:`assemble` computes the same in arrays."""
    drift = (horizon - ceiling) / horizon
    return ScheduleValues(t, horizon, 1 - 1 / horizon, optimism, drift, ceiling, scale, 1 / scale, exponent)


class _Stored:
    """A block that is evaluated at once and stored, for schedules that call a user's functions."""

    def __init__(self, schedule: Schedule, first: int, carry: Carry) -> None:
        block, self.following = evaluate(schedule, range(first, first + BLOCK), carry)
        self._first = first
        self._columns = (block.horizon, block.optimism, block.ceiling, block.scale, block.exponent)

    def rows(self, steps: range) -> list[ScheduleValues]:
        """Return the values at steps of the block."""
        first, last = steps[0] - self._first, steps[-1] + 1 - self._first
        columns = (column[first:last].tolist() for column in self._columns)
        return [_row(*row) for row in zip(steps, *columns, strict=True)]


Scaling = tuple[int, float]
"""A step at which foo4 is not 1, and its value there."""


class _Computed:
    """A block of a built-in schedule: it is checked, and each row is computed when it is asked for.

    ``scalings`` are those of the block, if it has been checked already.
    """

    def __init__(self, schedule: Schedule, first: int, carry: Carry, scalings: list[Scaling] | None) -> None:
        self._schedule: Any = schedule
        self._steps: list[int] = []
        self._products = [(float(carry.scale), float(carry.exponent))]
        for t, factor in _whole_block(schedule, first) if scalings is None else scalings:
            self._steps.append(t)
            self._products.append(multiplied(*self._products[-1], factor))
        scale, exponent = self._products[-1]
        self.following = carry._replace(scale=scale, exponent=exponent)

    def rows(self, steps: range) -> list[ScheduleValues]:
        """Return the values at steps of the block."""
        formula, constants, ceiling = self._schedule.formula, self._schedule.constants, float(self._schedule.ceiling)
        rows, place, following = [], bisect_right(self._steps, steps[0]) - 1, steps[0]
        for t in steps:
            if t >= following:  # the product of foo4 is another from here on
                place += 1
                scale, exponent = self._products[place]
                unscale, following = 1 / scale, self._steps[place] if place < len(self._steps) else FOREVER
            horizon, optimism, _ = formula(t, constants)
            tau = float(horizon)
            row = (t, tau, 1 - 1 / tau, float(optimism), (tau - ceiling) / tau, ceiling, scale, unscale, exponent)
            rows.append(_new(ScheduleValues, row))
        return rows


class _Ahead:
    """Checks the next block of a built-in schedule a few steps at a time, so that no step waits for a whole block."""

    def __init__(self, schedule: Schedule, first: int) -> None:
        self._formula, self._constants = schedule.formula, tuple(schedule.constants)
        self._next, self._end = first, first + BLOCK
        self._found: list[Scaling] | None = []

    def check_portion(self) -> None:
        """Check a few more steps.  If one is outside its domain, the block raises an error when it begins."""
        if self._found is not None and self._next < self._end:
            scalings = _portion_scalings(self._formula, self._constants, self._next)
            self._found = None if scalings is None else [*self._found, *scalings]
            self._next += PORTION

    @property
    def scalings(self) -> list[Scaling] | None:
        """Those of the whole block; None if it is not checked to its end."""
        return self._found if self._next == self._end else None


def _is_computed(schedule: Schedule) -> bool:
    """Return whether rows can be computed again at any time: a user's function might return something else then."""
    plain = all(isinstance(constant, int | float) for constant in schedule.constants)
    return schedule.formula is not None and schedule.ceiling is not None and plain and is_ours(schedule.formula)


def _whole_block(schedule: Schedule, first: int) -> list[Scaling]:
    """Check a block at once, and return its scalings."""
    stride = BLOCK - 1 if schedule.monotone else 1
    scalings = _block_scalings(schedule.formula, tuple(schedule.constants), first, stride)
    if scalings is None:
        samples = sample(schedule, range(first, first + BLOCK))  # raises, with the reason
        scalings = [(first + place, factor) for place, factor in enumerate(samples.count_scale) if factor != 1.0]
    return scalings


@lru_cache(maxsize=64)
def _block_scalings(formula: Any, constants: tuple[float, ...], first: int, stride: int) -> list[Scaling] | None:
    """Return the scalings of a block; agents with equal schedules that start together check it once."""
    return _scalings(formula, constants, range(first, first + BLOCK, stride))


@lru_cache(maxsize=64)
def _portion_scalings(formula: Any, constants: tuple[float, ...], first: int) -> list[Scaling] | None:
    """Return the scalings of a portion of a block; agents with equal schedules that keep step check it once."""
    return _scalings(formula, constants, range(first, first + PORTION))


def _scalings(formula: Any, constants: Any, steps: range) -> list[Scaling] | None:
    """Return the steps at which foo4 is not 1, with its values; None if any value is outside its domain."""
    scalings = []
    try:
        for t in steps:
            horizon, optimism, factor = map(float, formula(t, constants))
            if not (1.0 <= horizon < math.inf and 0.0 <= optimism < math.inf and 0.0 <= factor < math.inf):
                return None
            if factor != 1.0:
                scalings.append((t, factor))
    except Exception:  # the caller evaluates the block again, and reports it
        return None
    return scalings
