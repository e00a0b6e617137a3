"""Options that are good in turn: their chances of success rise and fall slowly, no matter what the agent does.

A bandit whose means drift, as in Garivier and Moulines (2011, where they jump) and Besbes, Gur and Zeevi (2014, where
they may change at any pace within a budget).  Here they are periodic, so that averages over an endless stream are
defined.  At phase x, a fraction of the period, option k of K succeeds with probability floor + height wave(x - k / K),
where the wave is 1 at 0, falls to 0 at 1/2 and rises to 1 again: as a triangle |1 - 2 x|, or as a cosine
(1 + cos(2 pi x)) / 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from everlearn.environments.model import Model
from everlearn.errors import require

FAILURE, SUCCESS = 0, 1
TRIANGLE, COSINE = "triangle", "cosine"

MOST_CHANCES = 1_000_000
"""The largest number of chances, one per option and phase."""


@dataclass(frozen=True)
class Drifting:
    """The constants of the drift, and its dynamics; a memory is the phase, 0 to ``period`` - 1.

    Examples
    --------
    >>> options = Drifting(period=4, floor=0.1, height=0.8)
    >>> [[round(options.chance(phase, option), 3) for phase in range(4)] for option in range(2)]
    [[0.9, 0.5, 0.1, 0.5], [0.1, 0.5, 0.9, 0.5]]

    """

    options: int = 2
    period: int = 500
    floor: float = 0.1
    height: float = 0.8
    wave: str = TRIANGLE

    def __post_init__(self) -> None:
        require(self.options >= 1, "options", self.options, "give at least 1")
        require(self.period >= 1, "period", self.period, "give at least 1 step")
        given, remedy = (self.options, self.period), f"give at most {MOST_CHANCES:,} as their product"
        require(self.options * self.period <= MOST_CHANCES, "options and period", given, remedy)
        require(0 <= self.floor <= 1, "floor", self.floor, "give a probability")
        room = 1 - self.floor
        require(0 <= self.height <= room + 1e-12, "height", self.height, f"give 0 to {room:.6g}")
        require(self.wave in (TRIANGLE, COSINE), "wave", self.wave, f"give {TRIANGLE} or {COSINE}")

    def chance(self, phase: int, option: int) -> float:
        """Return the probability that an option succeeds at a phase."""
        x = (phase / self.period - option / self.options) % 1.0
        high = abs(1 - 2 * x) if self.wave == TRIANGLE else (1 + math.cos(2 * math.pi * x)) / 2
        return min(1.0, self.floor + self.height * high)

    def model(self) -> Model:
        """Return the environment, at phase 0."""
        return Model(tuple(range(self.options)), (FAILURE, SUCCESS), 0, self._rho)

    def _rho(self, phase: int, option: int) -> Iterator[tuple[int, float, int]]:
        chance, following = self.chance(phase, option), (phase + 1) % self.period
        yield SUCCESS, chance, following
        yield FAILURE, 1 - chance, following
