"""Rate limits: a token bucket for everyone who sends requests, kept as one number each.

The bucket holds ``burst`` requests and is filled with ``rate`` of them per second.  What is kept is the time at which
it will be full again (the generic cell rate algorithm): a bucket that is full needs no entry.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from operator import itemgetter

MOST_KEPT = 10_000
"""After how many entries those of full buckets are removed."""


class Rates:
    """The buckets of all senders.

    Examples
    --------
    >>> now = 0.0
    >>> rates = Rates(rate=10, burst=2, clock=lambda: now)
    >>> [rates.take("a"), rates.take("a"), rates.take("b")]
    [0.0, 0.0, 0.0]
    >>> rates.take("a")
    0.1
    >>> now = 0.15
    >>> rates.take("a")
    0.0

    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval, self._clock = 1.0 / rate, clock
        self._slack = (burst - 1) / rate
        self._full_at: dict[Hashable, float] = {}

    def take(self, sender: Hashable) -> float:
        """Take a request of a sender out of its bucket; return 0, or after how many seconds there will be one."""
        now = self._clock()
        full_at = max(now, self._full_at.get(sender, now))
        wait = full_at - now - self._slack
        if wait > 1e-9:  # rounding must not make anyone wait
            return wait
        if len(self._full_at) >= MOST_KEPT and sender not in self._full_at:
            self._forget(now)
        self._full_at[sender] = full_at + self._interval
        return 0.0

    def _forget(self, now: float) -> None:
        """Remove full buckets, and if more than half are left, those that will be full first.

        So this is not done again before half as many others have sent something.
        """
        left = [bucket for bucket in self._full_at.items() if bucket[1] > now]
        self._full_at = dict(sorted(left, key=itemgetter(1))[-(MOST_KEPT // 2) :])
