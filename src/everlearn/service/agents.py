"""All agents of a directory, as the committer's thread holds them: opened when they are first needed, then kept."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from everlearn.durable.core import Core
from everlearn.durable.entry import Entry
from everlearn.durable.setup import Setup
from everlearn.durable.store import Store
from everlearn.errors import EverlearnError, LiveError
from everlearn.service.logs import log
from everlearn.service.settings import Limits


class Missing(LiveError):  # noqa: N818 - reads as what it is
    """There is no such agent, or no such snapshot."""


class Agents:
    """The store, and the agents in it by name.  Only the committer's thread may use it."""

    def __init__(self, directory: Path, limits: Limits) -> None:
        self.store = Store(directory)
        self.limits = limits
        self.cores: dict[str, Core] = {}
        self.names = set(self.store.names())
        self._unopened = sorted(self.names)
        self._changed: set[Core] = set()

    def core(self, name: str) -> Core:
        """Return an agent, recovered from the disk if it is not loaded yet."""
        if name not in self.cores:
            if name not in self.names:
                raise Missing(f"there is no agent {name}")
            self.cores[name] = self.store.open(name)
        return self.cores[name]

    def create(self, name: str, setup: Setup) -> bool:
        """Create an agent; return whether it is new.  An agent of that name with another setup is a conflict."""
        if name in self.names:
            if self.core(name).setup.document != setup.document:
                raise Taken(f"there is an agent {name} already, with another setup")
            return False
        if len(self.names) >= self.limits.agents:
            raise Taken(f"there are {len(self.names)} agents, and no more are taken; see --max-agents")
        self.cores[name] = self.store.create(name, setup)
        self.names.add(name)
        return True

    def delete(self, name: str) -> None:
        """Remove an agent and all that is recorded of it."""
        if name not in self.names:
            raise Missing(f"there is no agent {name}")
        self.store.delete(name)
        self._changed.discard(self.cores.pop(name, None))
        self.names.discard(name)

    def write(self, core: Core, entry: Entry) -> None:
        """Commit an entry by itself, and do what it says."""
        self.store.append([(core.number, entry)])
        self.apply(core, entry)

    def apply(self, core: Core, entry: Entry) -> None:
        """Do what an entry says that is on disk; take a snapshot where one is due."""
        try:
            core.apply(entry)
        except BaseException:  # memory is behind the disk: what is on disk counts, and is read again
            self._forget(core)
            raise
        self._changed.add(core)
        if core.due:
            self._snapshot([core])

    def _forget(self, core: Core) -> None:
        self.cores = {name: kept for name, kept in self.cores.items() if kept is not core}
        self._changed.discard(core)

    def _snapshot(self, cores: list[Core]) -> None:
        try:
            self.store.append([], cores)
        except LiveError as error:  # the journal has it all: recovery takes longer, nothing is lost
            log(logging.ERROR, "snapshot failed", agents=[core.number for core in cores], error=str(error))
        else:
            self._changed.difference_update(cores)

    def append(self, entries: list[Any]) -> None:
        """Write entries of several agents in one transaction."""
        self.store.append(entries)

    def idle(self) -> bool:
        """Open one more agent; return whether there are more."""
        while self._unopened:
            name = self._unopened.pop()
            if name in self.names and name not in self.cores:
                try:
                    self.core(name)
                except Exception as error:  # one agent must not end the thread of all
                    log(logging.ERROR, "agent cannot be opened", agent=name, error=_line(error))
                break
        return bool(self._unopened)

    def close(self) -> None:
        """Take a snapshot of what changed, so that the next start has nothing to replay; let go of the directory."""
        if self._changed:
            self._snapshot(sorted(self._changed, key=lambda core: core.number))
        self.store.close()


def _line(error: Exception) -> str:
    return str(error) if isinstance(error, EverlearnError) else repr(error)


class Taken(LiveError):  # noqa: N818 - reads as what it is
    """A name that is taken, or as many agents as there may be."""
