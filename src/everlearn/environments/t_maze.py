"""An endless sequence of T-mazes: a cue at the start says which way to turn at the end of a corridor.

After Bakker (2002), on one stream: each trial is followed by another.  The cue, left or right with equal probability,
is seen only at the start.  Then come ``length`` - 1 places that look alike, and then the junction, where the turn that
the cue indicated leads to a prize.  Elsewhere every action moves forward, as in the memory length experiment of bsuite
(Osband et al., 2020), so that a trial always takes ``length`` + 2 steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.protocol import Label

LEFT, RIGHT = "left", "right"
ACTIONS = (LEFT, RIGHT)

CORRIDOR, JUNCTION, PRIZE, NOTHING = "corridor", "junction", "prize", "nothing"
OBSERVATIONS = (LEFT, RIGHT, CORRIDOR, JUNCTION, PRIZE, NOTHING)

LONGEST_CORRIDOR = 10_000

END = (-1, NOTHING)
"""The memory at the end of a trial, and at the start; otherwise the memory is the place and the cue."""


@dataclass(frozen=True)
class TMaze:
    """The length of the maze, and its dynamics.

    Examples
    --------
    >>> maze = TMaze(length=2).model()
    >>> [outcome.observation for outcome in maze.outcomes(END, "left")]
    ['left', 'right']
    >>> maze.outcomes((0, "left"), "right")[0].observation, maze.outcomes((2, "left"), "right")[0].observation
    ('corridor', 'nothing')

    """

    length: int = 4

    def __post_init__(self) -> None:
        require(1 <= self.length <= LONGEST_CORRIDOR, "length", self.length, f"give 1 to {LONGEST_CORRIDOR:,}")

    def model(self) -> Model:
        """Return the environment, before the first cue."""
        return Model(ACTIONS, OBSERVATIONS, END, self._rho)

    def _rho(self, memory: tuple[int, str], action: str) -> Iterator[tuple[str, float, Label]]:
        place, cue = memory
        if memory == END:
            for drawn in (LEFT, RIGHT):
                yield drawn, 0.5, (0, drawn)
        elif place == self.length:
            yield PRIZE if action == cue else NOTHING, 1.0, END
        else:
            yield JUNCTION if place + 1 == self.length else CORRIDOR, 1.0, (place + 1, cue)
