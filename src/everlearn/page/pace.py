"""The pace of a race: from one step per second to the speed of the engine, and faster as time passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

FASTEST = 0
"""The speed that stands for the speed of the engine."""

SPEEDS = (1, 3, 10, 30, 100, 1_000, 10_000, 100_000, 1_000_000, FASTEST)
"""Steps per second that can be chosen."""

SECONDS_A_DECADE = 3.0
"""How long a decade of steps takes at least, if the speed grows."""

SLICE = 0.02
"""Seconds between two looks at a race that runs."""

LONGEST = 0.1
"""Seconds that the steps of a slice may take: so long that little of the engine's speed is lost between slices."""

FOLLOWED = 12.0
"""How many steps per second can be followed one by one."""

LEAST = 1024
"""A slice may have this many steps at any speed: the engine needs about as long for a thousand steps as for one, so its
speed cannot be judged by fewer."""


@dataclass
class Pace:
    """Says how many steps are due; the fraction of a step that is left is kept for the next time."""

    speed: int = 10
    """Steps per second, or :data:`FASTEST`."""
    growing: bool = False
    """Whether the speed grows with time, so that a decade of steps takes :data:`SECONDS_A_DECADE`."""
    measured: float = 0.0
    """Steps per second that the engine took recently; 0 while that is not known."""
    _owed: float = 0.0

    def due(self, t: int, seconds: float) -> int:
        """Return how many steps to take at time t, so many seconds after the last call."""
        if self.speed == FASTEST:
            return self.most()
        self._owed += self._wanted(t) * seconds
        steps = int(self._owed)
        self._owed -= steps
        return min(steps, self.most())

    def flickers(self, t: int) -> bool:
        """Return whether single steps are too fast to be followed at time t."""
        return self.speed == FASTEST or self._wanted(t) > FOLLOWED

    def took(self, steps: int, seconds: float) -> None:
        """Note how many seconds a number of steps took."""
        if steps > 0:
            speed = steps / max(seconds, 1e-6)
            self.measured = speed if self.measured == 0 else 0.5 * (self.measured + speed)

    def describe(self, t: int) -> str:
        """Write for a person how fast a race goes at time t."""
        wanted = self._wanted(t)
        if self.speed == FASTEST or wanted <= self.speed:
            return _short(self.speed) + (", then faster" if self.growing and self.speed != FASTEST else "")
        speed = min(wanted, self.measured or wanted)
        digits = 10 ** max(0, int(math.log10(max(speed, 1.0))) - 1)
        return f"about {_short(int(speed) // digits * digits)}"

    def _wanted(self, t: int) -> float:
        """Return the steps per second to take at time t, if the engine can."""
        return max(float(self.speed), t * math.log(10) / SECONDS_A_DECADE if self.growing else 0.0)

    def most(self) -> int:
        """Return how many steps fit into a slice."""
        return max(LEAST, int(self.measured * LONGEST))


def describe(speed: int) -> str:
    """Write a speed for a person."""
    if speed == FASTEST:
        return "as fast as it goes"
    return f"{speed:,} step{'s' if speed > 1 else ''} per second"


def _short(speed: int) -> str:
    """Write a speed where there is little room."""
    if speed == FASTEST:
        return describe(speed)
    number = f"{speed / 1e6:,g} M" if speed >= 1_000_000 else f"{speed:,}"
    return f"{number} step{'s' if speed > 1 else ''}/s"
