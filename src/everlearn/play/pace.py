"""How fast a stream goes: from one step a second to as fast as the engine does, and faster as time goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass

FASTEST = 0
"""The speed that stands for as fast as the engine goes."""

SPEEDS = (1, 3, 10, 30, 100, 1_000, 10_000, 100_000, 1_000_000, FASTEST)
"""Steps a second that can be chosen."""

SECONDS_A_DECADE = 3.0
"""How long a decade takes at least on logarithmic time, where speed grows with it."""

SLICE = 0.02
"""Seconds between two looks at a stream that runs."""

LEAST = 1024
"""How many steps a slice may have whatever the speed: the engine needs about as long for a thousand as for one, so
that its speed is not to be judged by fewer."""


@dataclass
class Pace:
    """Tells how many steps are due; what is left of a step is kept for the next time.

    Parameters
    ----------
    speed:
        steps a second, or :data:`FASTEST`
    growing:
        whether the speed grows with time, so that a decade of steps takes :data:`SECONDS_A_DECADE`

    Examples
    --------
    >>> pace = Pace(speed=10)
    >>> [pace.due(t=0, seconds=0.15) for _ in range(4)]
    [1, 2, 1, 2]
    >>> Pace(speed=10, growing=True, measured=1e7).due(t=10**6, seconds=0.1)
    76752

    """

    speed: int = 10
    growing: bool = False
    measured: float = 0.0
    """Steps a second that the engine took of late; 0 while that is not known."""
    _owed: float = 0.0

    def due(self, t: int, seconds: float) -> int:
        """Return how many steps to take after so many seconds, at time t."""
        if self.speed == FASTEST:
            return self._most()
        wanted = max(float(self.speed), t * math.log(10) / SECONDS_A_DECADE if self.growing else 0.0)
        self._owed += wanted * seconds
        steps = int(self._owed)
        self._owed -= steps
        return min(steps, self._most())

    def took(self, steps: int, seconds: float) -> None:
        """Learn how long steps took."""
        if steps > 0:
            speed = steps / max(seconds, 1e-6)
            self.measured = speed if self.measured == 0 else 0.5 * (self.measured + speed)

    def _most(self) -> int:
        """Return how many steps fit into a slice."""
        return max(LEAST, int(self.measured * SLICE))


def say(speed: int) -> str:
    """Write a speed for a person.

    Examples
    --------
    >>> say(1), say(1000), say(FASTEST)
    ('1 step per second', '1,000 steps per second', 'as fast as it goes')

    """
    if speed == FASTEST:
        return "as fast as it goes"
    return f"{speed:,} step{'s' if speed > 1 else ''} per second"
