"""The service station of Section 1.4 and Appendix B: long services today keep customers away tomorrow.

At most one customer is present.  In mode *fast* a service is completed in one step, in mode *slow* with
probability ``slow_completion`` at each step.  W_t is the longest service among the last ``window`` customers
served (or among all, if they are fewer; 1 at the beginning), and a vacant place is filled with probability
P_t = ``floor`` + ``height`` exp(-``decay`` (W_t - 1)).

Interpretation.  rho(o | H_t, a) is a function of H_t, so the arrival at the end of a step uses W_t *before* that
step's departure is counted.  And service times beyond ``cap`` count as ``cap``: with the paper's constants a cap
of 5 is exact, since adding 0.9 exp(-40) to 0.1 does not change it in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.protocol import Label

FAST, SLOW = "fast", "slow"
ACTIONS = (FAST, SLOW)

ARRIVAL, DEPARTURE, BOTH, NOTHING = "arrival", "departure", "arrival+departure", "nothing"
OBSERVATIONS = (ARRIVAL, DEPARTURE, BOTH, NOTHING)

VACANT = -1
"""The clock while nobody is served; otherwise the clock is the number of steps that the service has taken."""

LARGEST_CAP = 400


@dataclass(frozen=True)
class ServiceStation:
    """The constants of a station, and its dynamics.

    A memory is (clock, ages): the serving clock, and for each j = 2, ..., cap how many customers ago a service of
    at least j steps was completed, 0 if there was none among the last ``window``.

    Examples
    --------
    >>> station = ServiceStation()
    >>> [round(station.arrival_probability(w), 6) for w in (1, 2, 3)]
    [1.0, 0.100041, 0.1]
    >>> station.cap
    5

    """

    window: int = 12
    slow_completion: float = 0.5
    floor: float = 0.1
    height: float = 0.9
    decay: float = 10.0
    longest: int | None = None
    cap: int = field(init=False)

    def __post_init__(self) -> None:
        require(self.window >= 1, "window", self.window, "give at least 1 customer")
        completion = self.slow_completion
        require(0 < completion <= 1, "slow_completion", completion, "give a probability in (0, 1]")
        require(0 < self.floor <= 1, "arrival_floor", self.floor, "give a probability in (0, 1]")
        room = 1 - self.floor
        require(0 <= self.height <= room + 1e-12, "arrival_height", self.height, f"give 0 to {room:.6g}")
        require(0 < self.decay < math.inf, "arrival_decay", self.decay, "give a positive, finite number")
        require(self.longest is None or self.longest >= 2, "cap", self.longest, "give at least 2, or none")
        object.__setattr__(self, "cap", self.longest or self._lossless_cap())

    def _lossless_cap(self) -> int:
        for cap in range(2, LARGEST_CAP):
            if self.floor + self.height * math.exp(-self.decay * (cap - 1)) == self.floor:
                return cap
        return LARGEST_CAP

    def arrival_probability(self, longest_service: int) -> float:
        """Return P_t given W_t."""
        return min(1.0, self.floor + self.height * math.exp(-self.decay * (longest_service - 1)))

    def model(self) -> Model:
        """Return the environment, vacant, with nobody served yet."""
        return Model(ACTIONS, OBSERVATIONS, (VACANT, (0,) * (self.cap - 1)), self._rho)

    def _rho(self, memory: tuple[int, tuple[int, ...]], action: str) -> Iterator[tuple[str, float, Label]]:
        clock, ages = memory
        arrival = self.arrival_probability(longest_service(ages))
        if clock == VACANT:
            yield ARRIVAL, arrival, (0, ages)
            yield NOTHING, 1 - arrival, (VACANT, ages)
            return
        departure = 1.0 if action == FAST else self.slow_completion
        served = self._served(ages, min(clock + 1, self.cap))
        yield BOTH, departure * arrival, (0, served)
        yield DEPARTURE, departure * (1 - arrival), (VACANT, served)
        yield NOTHING, 1 - departure, (min(clock + 1, self.cap - 1), ages)

    def _served(self, ages: tuple[int, ...], service: int) -> tuple[int, ...]:
        """Return the ages after another customer, whose service took ``service`` steps."""
        older = (0 if age in (0, self.window) else age + 1 for age in ages)
        return tuple(1 if service >= j else age for j, age in enumerate(older, start=2))


def longest_service(ages: tuple[int, ...]) -> int:
    """Return W_t, the longest recent service time, at most the cap."""
    return 1 + sum(age > 0 for age in ages)
