"""``live(DIR, ...)``: one durable agent in a directory, used like any agent."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

from everlearn.live.entry import Entry
from everlearn.live.setup import make_setup
from everlearn.live.store import Store
from everlearn.protocol import Label

NAME = "agent"
"""What the one agent of such a directory is called."""


def live(directory: str | os.PathLike[str], **setup: Any) -> Live:
    """Open the durable agent in a directory, or create it there."""
    return Live(directory, **setup)


class Live:
    """A durable agent.

    Examples
    --------
    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> with Live(directory, task="service-station", seed=1) as agent:
    ...     agent.act(), agent.observe("arrival")
    ('fast', 1.0)
    >>> with Live(directory) as agent:
    ...     agent.step
    1

    """

    def __init__(self, directory: str | os.PathLike[str], **setup: Any) -> None:
        self._lock = threading.Lock()
        made = None
        self.store = Store(directory)
        try:
            if NAME in self.store.names():
                self.core = self.store.open(NAME, setup)
            else:
                made = make_setup(**setup)
                self.core = self.store.create(NAME, made)
        except BaseException:
            self.store.close()
            raise

    def act(self, allowed: Iterable[Label] | None = None) -> Label:
        """Return the action for the step that is due; asked again before ``observe``, it returns the same."""
        with self._lock:
            return self.core.act(allowed)

    def observe(
        self,
        observation: Label,
        executed: Label | None = None,
        reward: float | None = None,
        state: Label | None = None,
    ) -> float:
        """Take in an observation, durably, learn from it, and return the reward."""
        with self._lock:
            entry = self.core.prepare(observation, executed, reward, state)
            self._commit(entry)
            return entry.reward or 0.0

    def _commit(self, entry: Entry) -> None:
        self.store.append([(self.core.number, entry)])
        self.core.apply(entry)
        if self.core.due:
            self.store.append([], [self.core])

    @property
    def step(self) -> int:
        """How many observations were taken in."""
        return self.core.step

    @property
    def t(self) -> int:
        """How many steps were learned from."""
        return self.core.t

    def close(self) -> None:
        """Let go of the directory."""
        self.store.close()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
