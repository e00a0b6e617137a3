"""Puckworld: push a puck towards a goal that jumps to another place every 300 steps.

After csuite (Google DeepMind, 2022), whose puckworld follows that of Karpathy (REINFORCEjs, 2015).  The velocity and
place of the puck in each direction follow v += (a - mu v) dt and x += v dt, with a push a of 0.1 in one of four
directions.  At a wall the puck stops, and half of its speed is reversed.

Interpretation.  The description of csuite says mu = 0.1 and no dt; its code has mu = 0.5 and dt = 0.05, four times per
step, so that the greatest speed is a / mu = 0.2.  We take these.  The puck begins in the middle and at rest, and the
first goal is drawn in the first step.  A place is shown as one of 256 levels per coordinate, and both coordinates of a
goal are taken from one uniform number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from everlearn.errors import LabelError
from everlearn.grids import Grid
from everlearn.protocol import Label
from everlearn.randomness import set_words, uniform, words

PUSHES = {"up": (0.0, -1.0), "left": (-1.0, 0.0), "down": (0.0, 1.0), "right": (1.0, 0.0)}

SIDE, RADIUS, PUSH, FRICTION, SPEED = 5.0, 0.5, 0.1, 0.5, 0.2
"""The side of the arena, the radius of the puck, the acceleration, mu, and the greatest speed."""

TICK, TICKS = 0.05, 4
"""dt, and how often it passes in a step."""

LEVELS = 256
POINTS = Grid(*[range(LEVELS)] * 6, ordered=[True] * 6)
"""The place of the puck, its velocity, and the place of the goal, in levels."""

_INSIDE = range(int(LEVELS * (RADIUS / SIDE)), int(LEVELS * ((SIDE - RADIUS) / SIDE)) + 1)

OBSERVED = Grid(_INSIDE, _INSIDE, *[range(LEVELS)] * 4, ordered=[True] * 6)
"""What can be observed: those points at which the puck does not reach into a wall."""

MIDDLE: Label = (LEVELS // 2,) * 6
"""The observation of a puck at rest in the middle, and of a goal there."""


class Puckworld:
    """The stream: the place and the velocity of the puck, and the place of the goal.

    Examples
    --------
    >>> world = Puckworld()
    >>> world.start(np.random.default_rng(1))
    >>> [world.step("right")[:4] for _ in range(3)]
    [(128, 128, 140, 128), (128, 128, 151, 128), (128, 128, 161, 128)]

    """

    def __init__(self, interval: int = 300) -> None:
        self.interval = interval

    def start(self, rng: np.random.Generator) -> None:
        """Put the puck in the middle, at rest."""
        self._rng, self.t = rng, 0
        self.place, self.velocity, self.goal = [SIDE / 2] * 2, [0.0] * 2, [SIDE / 2] * 2

    def step(self, action: Label) -> Label:
        """Push the puck, and return the observation."""
        if action not in PUSHES:
            raise LabelError("action", action, f"known: {', '.join(PUSHES)}")
        drawn = uniform(self._rng)
        for axis, side in enumerate(PUSHES[action]):
            self._move(axis, PUSH * side)
        if self.t % self.interval == 0:
            across, rest = divmod(drawn * 2.0**26, 1.0)
            self.goal = [SIDE * across / 2.0**26, SIDE * rest]
        self.t += 1
        return self.observation

    @property
    def observation(self) -> Label:
        """The levels of the six coordinates."""
        places, speeds = [each / SIDE for each in (*self.place, *self.goal)], [v / SPEED for v in self.velocity]
        shares = (*places[:2], *((v + 1.0) / 2.0 for v in speeds), *places[2:])
        return tuple(min(max(int(share * LEVELS), 0), LEVELS - 1) for share in shares)

    def _move(self, axis: int, push: float) -> None:
        place, velocity = self.place[axis], self.velocity[axis]
        for _ in range(TICKS):
            velocity += (push - FRICTION * velocity) * TICK
            place += velocity * TICK
        inside = min(max(place, RADIUS), SIDE - RADIUS)
        self.place[axis], self.velocity[axis] = inside, velocity if place == inside else -0.5 * velocity

    def snapshot(self) -> dict[str, Any]:
        """Return what it remembers, and the random stream."""
        numbers = [*self.place, *self.velocity, *self.goal]
        return {"t": self.t, "numbers": numbers, "stream": [int(word) for word in words(self._rng)]}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Resume from a snapshot, exactly as if the stream had never stopped."""
        numbers = list(snapshot["numbers"])
        self.t, self.place, self.velocity, self.goal = snapshot["t"], numbers[:2], numbers[2:4], numbers[4:]
        self._rng = np.random.Generator(np.random.SFC64(0))
        set_words(self._rng, np.array(snapshot["stream"], dtype=np.uint64))
