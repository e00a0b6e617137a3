"""Catch: balls fall down the columns of a board, and a paddle at the bottom catches them, without end.

After the continuing catch of csuite (Google DeepMind, 2022), which continues that of Mnih et al. (2014) and bsuite.  In
each step the paddle moves, then every ball falls by one row, and one that reaches the row of the paddle is caught or
missed.  Then a new ball appears in the top row with the probability ``spawn``, in a column drawn uniformly.

Interpretation.  The description of csuite says also that a ball always appears when another reaches the bottom; its
code does not do that, and neither do we.  There, a ball is on the board at the beginning; here the board is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.grids import Grid
from everlearn.protocol import Label

MOVES = {"left": -1, "stay": 0, "right": 1}

CAUGHT, MISSED, NEITHER = "caught", "missed", ""

NONE = 0
"""Stands where a row has no ball; otherwise the number of its column, counted from 1."""

MOST_BITS = 52


@dataclass(frozen=True)
class Catch:
    """The size of a board, and its dynamics.

    A memory is (paddle, ball, ball, ...): the column of the paddle, counted from 1, and for each row above it, from the
    lowest, the column of its ball or ``NONE``.  An observation is what happened to a ball, and the memory.

    Examples
    --------
    >>> small = Catch(rows=3, columns=2, spawn=0.5).model()
    >>> [outcome.observation for outcome in small.outcomes((1, 2, 0), "right")]
    [('caught', (2, 0, 0)), ('caught', (2, 0, 1)), ('caught', (2, 0, 2))]

    """

    rows: int = 10
    columns: int = 5
    spawn: float = 0.1

    def __post_init__(self) -> None:
        require(self.rows >= 2, "rows", self.rows, "give at least 2")
        require(self.columns >= 2, "columns", self.columns, "give at least 2")
        bits = math.log2(self.columns) + (self.rows - 1) * math.log2(self.columns + 1)
        require(bits <= MOST_BITS, "rows", self.rows, f"that is 2^{bits:.0f} boards, of at most 2^{MOST_BITS}")
        require(0 < self.spawn <= 1, "spawn", self.spawn, "give a probability in (0, 1]")

    @property
    def boards(self) -> Grid:
        """All memories."""
        balls = range(self.columns + 1)
        return Grid(range(1, self.columns + 1), *[balls] * (self.rows - 1))

    @property
    def start(self) -> tuple[int, ...]:
        """The empty board, with the paddle in the middle."""
        return ((self.columns + 1) // 2, *[NONE] * (self.rows - 1))

    def model(self) -> Model:
        """Return the environment, with an empty board."""
        observations = Grid((NEITHER, CAUGHT, MISSED), self.boards)
        return Model(tuple(MOVES), observations, self.start, self._rho)  # type: ignore[arg-type]  # used as a tuple

    def _rho(self, memory: tuple[int, ...], action: str) -> Iterator[tuple[Label, float, Label]]:
        paddle = min(max(memory[0] + MOVES[action], 1), self.columns)
        event = NEITHER if memory[1] == NONE else CAUGHT if memory[1] == paddle else MISSED
        left = (paddle, *memory[2:])
        for column in range(self.columns + 1):
            probability = 1 - self.spawn if column == NONE else self.spawn / self.columns
            if probability > 0:
                yield (event, (*left, column)), probability, (*left, column)
