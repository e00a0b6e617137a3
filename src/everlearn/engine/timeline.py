"""Evaluate a schedule block by block, once for all runs.

Built-in schedules are evaluated in compiled code, a user's schedule by calling it; both engines use the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from everlearn.agents.clock import Block, Carry, evaluate, sample
from everlearn.agents.schedule import Schedule
from everlearn.engine import driver
from everlearn.engine.compiling import compiled
from everlearn.engine.kernels import Token
from everlearn.ownership import is_ours
from everlearn.protocol import Table


class Timeline:
    """The values of a schedule, in consecutive blocks.

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
        self._spare = self._current = np.empty((len(Block._fields) - 1, 0))
        self._token: Token | None = None
        if schedule is not None and schedule.formula is not None and schedule.ceiling is not None:
            self._token = Token(schedule.formula) if is_ours(schedule.formula) else None

    def next(self, number: int) -> Block:
        """Return the block of the next ``number`` steps.

        Its arrays may be used again for the block after the next one, since new memory takes longer to write to.
        """
        first, self.t = self.t + 1, self.t + number
        if self.schedule is None:  # every field must be there
            zero, ones = np.zeros(number), np.ones(number)
            return Block(first, zero, zero, zero, zero, zero, ones, ones, zero)
        if self._token is None:
            block, self.carry = evaluate(self.schedule, range(first, first + number), self.carry)
            return block
        return self._compiled(self.schedule, self._token, first, number)

    def _compiled(self, schedule: Schedule, token: Token, first: int, number: int) -> Block:
        columns = self._columns(number)
        block = Block(first, *columns)
        block.ceiling.fill(schedule.ceiling)
        constants = np.array(schedule.constants, dtype=np.float64)
        begin = 0
        while begin < number:
            length = number if schedule.steady is None else 1
            part = Block(first + begin, *(column[begin : begin + length] for column in columns))
            done, scale, exponent = compiled(driver.fill, token)(token, constants, part, self.carry)
            if done < len(part.horizon):
                sample(schedule, range(part.first + done, part.first + done + 1))  # raises, with the reason
            self.carry = self.carry._replace(scale=scale, exponent=exponent)
            begin += length if schedule.steady is None else _repeat(schedule.steady, columns, part.first, begin)
        return block

    def _columns(self, number: int) -> list[Table]:
        """Return arrays for the values of a block: those of the block before the last one, if they are long enough."""
        fields = len(Block._fields) - 1
        room = self._spare if self._spare.shape[1] >= number else np.empty((fields, number))
        self._spare, self._current = self._current, room
        return [row[:number] for row in room]


def _repeat(steady: Callable[[int], int], columns: list[Table], t: int, begin: int) -> int:
    """Repeat the values at time t for as long as they hold; return for how many steps of this block that is."""
    length = min(steady(t), len(columns[0]) - begin)
    for column in columns:
        column[begin + 1 : begin + length] = column[begin]
    return length


def stretches(steps: int, at_most: int) -> Iterator[int]:
    """Yield the lengths of stretches that add up to ``steps``, short ones first, so that progress begins at once."""
    length, left = 1024, steps
    while left > 0:
        yield min(length, left)
        left -= min(length, left)
        length = min(4 * length, at_most)
