"""The drift alarm: it is raised when the recent average reward is low compared with its own past.

Rewards are averaged over batches.  Each new batch mean x_n is ranked among those before it,

    p_n = #{i <= n : x_i <= x_n} / n,

and R_n = (1 + R_{n-1}) e_n with e_n = 1 / (2 sqrt(p_n)) is the Shiryaev-Roberts statistic of these conformal p-values
(Vladimir Vovk, "Testing Randomness Online", Statistical Science 36(4), 595-611, 2021; arXiv 1906.09256).  The alarm
is raised when R_n reaches a threshold c.

So that the past stays recent, time is divided into epochs of ``EPOCH`` batches: ranks go back to the beginning of the
previous epoch, and R restarts at 0 with each epoch and after each alarm.

The guarantee: if batch means are exchangeable (a stationary stream, and batches that are long compared with its
correlation time), ranks are independent and E[e_n] <= 1, since the integral of 1 / (2 sqrt(p)) over [0, 1] is 1; ties
only lower e_n.  Hence within an epoch R_n + c (alarms so far) - n is a supermartingale, and the expected number of
alarms in its M batches is at most M / c, whatever happened in other epochs.  So among n batches, n a multiple of M, the
expected number of false alarms is at most n / c, where c is the ``rarity``, for any distribution of rewards.  Averages
that rise while an agent learns only make alarms rarer.

If decisions take different times, every average, that of a batch included, is per unit of time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from everlearn.agents.agent import whole
from everlearn.errors import require
from everlearn.registry import convert

EPOCH = 100
"""Batches per epoch: the past consists of one to two epochs."""

BATCH, RARITY = 1000, 10_000
"""The defaults: steps per batch, and the least expected number of batches per false alarm."""


class Alarm(NamedTuple):
    """An alarm: the step after which it was raised, the mean of the batch that raised it, and the mean of the past."""

    step: int
    recent: float
    past: float


class Gauge:
    """A gauge of rewards: their averages, and an alarm if they drift downwards.

    Parameters
    ----------
    batch:
        the number of steps per batch
    rarity:
        the least expected number of batches per false alarm

    Examples
    --------
    >>> gauge = Gauge(batch=1, rarity=100)
    >>> for step in range(1, 55):
    ...     gauge.add(1.0 + step % 7 if step < 50 else 0.0, step)
    >>> gauge.alarms, gauge.last.step
    (1, 53)

    """

    def __init__(self, batch: int = BATCH, rarity: float = RARITY) -> None:
        self.batch = whole(batch, "drift.batch", least=1)
        self.rarity = float(convert(rarity, float, "drift.rarity"))
        require(1 < self.rarity < math.inf, "drift.rarity", rarity, "give a finite number of batches above 1")
        self.count, self.total = 0, 0.0
        self.time, self.cost = 0.0, 0.0  # sums of durations, one per step unless they are given, and of costs
        self.alarms = 0
        self.last: Alarm | None = None
        self._within, self._sum, self._span = 0, 0.0, 0.0
        self._last_span = float(self.batch)  # how long the last batch took
        self._before: list[float] = []
        self._present: list[float] = []
        self._statistic = 0.0

    def add(self, reward: float, step: int, duration: float = 1.0, cost: float = 0.0) -> None:
        """Add the reward of a step."""
        self.count += 1
        self.total += reward
        self.time += duration
        self.cost += cost
        self._within += 1
        self._sum += reward
        self._span += duration
        if self._within == self.batch:
            self._close(self._sum / self._span, step)
            self._within, self._sum, self._span, self._last_span = 0, 0.0, 0.0, self._span

    def _close(self, mean: float, step: int) -> None:
        past = self._before + self._present
        lower = sum(other <= mean for other in past) + 1
        self._statistic = (1.0 + self._statistic) * 0.5 / math.sqrt(lower / (len(past) + 1))
        self._present.append(mean)
        if self._statistic >= self.rarity:
            self.alarms += 1
            self.last = Alarm(step, mean, math.fsum(past) / len(past))
            self._statistic = 0.0
        if len(self._present) == EPOCH:
            self._before, self._present, self._statistic = self._present, [], 0.0

    @property
    def average(self) -> float | None:
        """The average of all rewards."""
        return self.total / self.time if self.count else None

    @property
    def average_cost(self) -> float | None:
        """The average of all costs."""
        return self.cost / self.time if self.count else None

    @property
    def recent(self) -> float | None:
        """The average over the current batch and the one before it."""
        closed = (self._present or self._before)[-1:]
        time = self._span + self._last_span * len(closed)
        return (self._sum + self._last_span * sum(closed)) / time if time else None

    @property
    def batches(self) -> list[tuple[int, float]]:
        """For each batch that is remembered, the number of rewards until its end, and its average."""
        means, closed = self._before + self._present, self.count - self._within
        return [(closed - self.batch * place, mean) for place, mean in enumerate(reversed(means))][::-1]

    def report(self) -> dict[str, Any]:
        """Return the state of the alarm, as a JSON document."""
        return {
            "alarms": self.alarms,
            "last_alarm": None if self.last is None else self.last._asdict(),
            "statistic": self._statistic,
            "threshold": self.rarity,
            "batch": self.batch,
        }

    def snapshot(self) -> dict[str, Any]:
        """Return everything that it holds; JSON preserves the numbers to the last bit."""
        times = [self.time, self.cost, self._span, self._last_span]
        measured = times != [self.count, 0.0, self._within, self.batch]  # otherwise they follow from the counts
        return {
            "sums": [self.count, self.total, self._within, self._sum, self._statistic],
            "batches": [self._before, self._present],
            "alarms": [self.alarms, None if self.last is None else list(self.last)],
            **({"times": times} if measured else {}),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Resume from what :meth:`snapshot` returned."""
        self.count, self.total, self._within, self._sum, self._statistic = snapshot["sums"]
        counted = [float(self.count), 0.0, float(self._within), float(self.batch)]
        self.time, self.cost, self._span, self._last_span = snapshot.get("times", counted)
        before, present = snapshot["batches"]
        self._before, self._present = list(before), list(present)
        self.alarms, last = snapshot["alarms"]
        self.last = None if last is None else Alarm(*last)
