"""The drift alarm: it tells when the recent average reward is low against its own past.

Rewards are averaged over batches.  Each new batch mean x_n is ranked among those before it,

    p_n = #{i <= n : x_i <= x_n} / n,

and R_n = (1 + R_{n-1}) e_n with e_n = 1 / (2 sqrt(p_n)) is the Shiryaev-Roberts statistic of these conformal p-values
(Vladimir Vovk, "Testing Randomness Online", Statistical Science 36(4), 595-611, 2021; arXiv 1906.09256).  The alarm
is raised when R_n reaches a threshold c.

So that the past stays recent, time is divided into epochs of ``EPOCH`` batches: ranks go back to the beginning of the
epoch before the present one, and R begins again at 0 with each epoch and after each alarm.

What is promised.  Where batch means are exchangeable (a stationary stream, batches long against its memory), ranks are
independent and E[e_n] <= 1, as the integral of 1 / (2 sqrt(p)) over [0, 1] is 1; ties only lower e_n.  Hence within
an epoch R_n + c (alarms so far) - n is a supermartingale, and the expected number of alarms in its M batches is at
most M / c.  That holds for every epoch, whatever happened in others.  Thus: among n batches, n a multiple of M, the
expected number of false alarms is at most n / c, with c the ``rarity`` that was asked for, whatever the distribution
of rewards.  Averages that rise while an agent learns only make alarms rarer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from everlearn.agents.agent import whole
from everlearn.errors import require
from everlearn.registry import convert

EPOCH = 100
"""Batches in an epoch: the past is that of one to two epochs."""

BATCH, RARITY = 1000, 10_000
"""Steps in a batch, and batches to a false alarm at the most often, unless told otherwise."""


class Alarm(NamedTuple):
    """One alarm: after which step, the mean of the batch that raised it, and the mean of the past."""

    step: int
    recent: float
    past: float


class Gauge:
    """Watches rewards: their averages, and whether they drift downwards.

    Parameters
    ----------
    batch:
        how many steps are averaged
    rarity:
        how many batches there are, on average, to a false alarm at the least

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
        self.alarms = 0
        self.last: Alarm | None = None
        self._within, self._sum = 0, 0.0
        self._before: list[float] = []
        self._present: list[float] = []
        self._statistic = 0.0

    def add(self, reward: float, step: int) -> None:
        """Take in the reward of a step."""
        self.count += 1
        self.total += reward
        self._within += 1
        self._sum += reward
        if self._within == self.batch:
            self._close(self._sum / self.batch, step)
            self._within, self._sum = 0, 0.0

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
        return self.total / self.count if self.count else None

    @property
    def recent(self) -> float | None:
        """The average over the batch that is under way and the one before it."""
        closed = (self._present or self._before)[-1:]
        number = self._within + self.batch * len(closed)
        return (self._sum + self.batch * sum(closed)) / number if number else None

    def report(self) -> dict[str, Any]:
        """Return what there is to say, as JSON can hold it."""
        return {
            "alarms": self.alarms,
            "last_alarm": None if self.last is None else self.last._asdict(),
            "statistic": self._statistic,
            "threshold": self.rarity,
            "batch": self.batch,
        }

    def dump(self) -> dict[str, Any]:
        """Return the whole condition; numbers read back from JSON to the last bit."""
        return {
            "sums": [self.count, self.total, self._within, self._sum, self._statistic],
            "batches": [self._before, self._present],
            "alarms": [self.alarms, None if self.last is None else list(self.last)],
        }

    def restore(self, condition: dict[str, Any]) -> None:
        """Go on from what :meth:`dump` returned."""
        self.count, self.total, self._within, self._sum, self._statistic = condition["sums"]
        before, present = condition["batches"]
        self._before, self._present = list(before), list(present)
        self.alarms, last = condition["alarms"]
        self.last = None if last is None else Alarm(*last)
