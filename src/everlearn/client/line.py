"""A line to the service that is tried until a deadline, and left alone for a while after it failed."""

from __future__ import annotations

import logging
import random
import time
from typing import Any

from everlearn.client.connection import Connection, Unreachable

FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.5
"""Seconds between attempts within a deadline; each pause is up to twice the last, with a random part."""
SHORTEST = 0.01
"""Seconds that an attempt has at the least, where the time was up before there was one."""
FIRST_ABSENCE, LONGEST_ABSENCE = 0.1, 30.0
"""Seconds for which a service that was not reached is not tried again; twice as long each time."""

_LOG = logging.getLogger("everlearn.client")


class Line:
    """Sends requests that may be repeated, until one is answered or time is up.

    Examples
    --------
    >>> line = Line(Connection("http://127.0.0.1:9"))  # nobody listens there
    >>> line.ask("POST", "/", {}, ends=time.monotonic() + 0.02) is None
    True

    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._absence, self._again_at = 0.0, 0.0
        self._random = random.Random()  # noqa: S311 - it spreads attempts over time, nothing more

    @property
    def connected(self) -> bool:
        """Whether the last attempt succeeded (or there was none yet)."""
        return self._absence == 0.0

    def ask(self, method: str, path: str, body: object, *, ends: float) -> Any:
        """Return what was answered; None where nothing was by the time ``ends``, or where it is not tried.

        A request that the service refuses raises :class:`ServiceError`: repeating it would not help.
        """
        now, pause = time.monotonic(), FIRST_PAUSE
        if now < self._again_at:
            return None
        while True:  # at least once, however late it is
            try:
                answer = self.connection.request(method, path, body, max(ends - now, SHORTEST))
            except Unreachable as error:
                problem = error
            else:
                self._reached()
                return answer
            time.sleep(max(0.0, min(pause * self._random.uniform(0.5, 1.0), ends - time.monotonic())))
            pause, now = min(2 * pause, LONGEST_PAUSE), time.monotonic()
            if now >= ends:
                self._missed(problem)
                return None

    def insist(self) -> None:
        """Try at the next request, whatever happened before."""
        self._again_at = 0.0

    def _reached(self) -> None:
        if self._absence:
            _LOG.warning("the service is back")
        self._absence, self._again_at = 0.0, 0.0

    def _missed(self, problem: Unreachable) -> None:
        if not self._absence:
            _LOG.warning("the service cannot be reached: %s", problem)
        self._absence = min(2 * self._absence, LONGEST_ABSENCE) or FIRST_ABSENCE
        self._again_at = time.monotonic() + self._absence
