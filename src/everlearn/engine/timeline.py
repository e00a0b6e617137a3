"""The timeline of a run: its schedule evaluated in stretches, once for all runs.

Built-in schedules are evaluated in compiled code, a user's own by calling it; both engines read the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from everlearn.agents.clock import Block, Carry, evaluate, sample
from everlearn.agents.schedule import Schedule
from everlearn.engine import driver
from everlearn.engine.compiling import compiled
from everlearn.engine.kernels import Token
from everlearn.holding import is_ours
from everlearn.protocol import Table


class Timeline:
    """Evaluates a schedule stretch by stretch, in order.

    Examples
    --------
    >>> from everlearn.agents.schedule import smooth
    >>> timeline = Timeline(smooth())
    >>> float(timeline.next(32).horizon[-1]), timeline.next(10).first
    (3.0, 33)

    """

    def __init__(self, schedule: Schedule | None, t: int = 0, carry: Carry | None = None) -> None:
        self.schedule = schedule
        self.t = t
        self.carry = carry or Carry()
        self._token: Token | None = None
        if schedule is not None and schedule.formula is not None and schedule.ceiling is not None:
            self._token = Token(schedule.formula) if is_ours(schedule.formula) else None

    def next(self, number: int) -> Block:
        """Return the next so many steps."""
        first, self.t = self.t + 1, self.t + number
        if self.schedule is None:
            return _still(first, number)
        if self._token is None:
            block, self.carry = evaluate(self.schedule, range(first, first + number), self.carry)
            return block
        return self._compiled(self.schedule, self._token, first, number)

    def _compiled(self, schedule: Schedule, token: Token, first: int, number: int) -> Block:
        columns = [np.empty(number) for _ in Block._fields[1:]]
        block = Block(first, *columns)
        block.ceiling.fill(schedule.ceiling)
        constants = np.array(schedule.constants, dtype=np.float64)
        begin = 0
        while begin < number:
            length = number if schedule.steady is None else 1
            part = Block(first + begin, *(column[begin : begin + length] for column in columns))
            done, scale, exponent = compiled(driver.fill, token)(token, constants, part, self.carry)
            if done < len(part.horizon):
                sample(schedule, range(part.first + done, part.first + done + 1))  # refuses it, with the reason
            self.carry = self.carry._replace(scale=scale, exponent=exponent)
            begin += length if schedule.steady is None else self._hold(schedule.steady, columns, part.first, begin)
        return block

    @staticmethod
    def _hold(steady: Callable[[int], int], columns: list[Table], t: int, begin: int) -> int:
        """Keep what holds at t for as long as it does; return for how many steps that is, in this block."""
        length = min(steady(t), len(columns[0]) - begin)
        for column in columns:
            column[begin + 1 : begin + length] = column[begin]
        return length


def _still(first: int, number: int) -> Block:
    """Return a block for a design without a schedule; every field is there, and the same at every step."""
    zero, one = np.zeros(number), np.ones(number)
    return Block(first, zero, zero, zero, zero, zero, one, one, zero)


def stretches(steps: int, at_most: int) -> Iterator[int]:
    """Yield the lengths of stretches that make up so many steps, short ones first, so that progress begins at once.

    Examples
    --------
    >>> list(stretches(100_000, 65536))
    [1024, 4096, 16384, 65536, 12960]

    """
    length, left = 1024, steps
    while left > 0:
        yield min(length, left)
        left -= min(length, left)
        length = min(4 * length, at_most)
