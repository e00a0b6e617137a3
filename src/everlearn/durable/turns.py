"""Admit one thread at a time to a durable agent."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everlearn.durable.agent import Live


class Turn:
    """Admits one thread at a time; if an interruption left memory behind the disk, reads the agent again."""

    def __init__(self, live: Live) -> None:
        self._live, self.lock = live, threading.RLock()

    def __enter__(self) -> None:
        self.lock.acquire()
        if not self._live._current:
            try:
                self._live._recover()
            except BaseException:
                self.lock.release()
                raise

    def __exit__(self, *_exception: object) -> None:
        self.lock.release()
