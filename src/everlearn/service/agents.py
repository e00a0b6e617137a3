"""All agents of a directory, as the committer's thread holds them: opened when they are first needed, then kept."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from everlearn.durable.core import Core
from everlearn.durable.entry import Entry
from everlearn.durable.setup import Setup
from everlearn.durable.store import Store
from everlearn.errors import EverlearnError, Failed, LiveError
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
        self.quarantined: set[int] = set()  # the numbers of agents whose designs have failed
        self._changed: set[Core] = set()

    def core(self, name: str) -> Core:
        """Return an agent, recovered from the disk if it is not loaded yet."""
        if name not in self.cores:
            if name not in self.names:
                raise Missing(f"there is no agent {name}")
            self._keep(name, self.store.open(name))
        return self.cores[name]

    def _keep(self, name: str, core: Core) -> None:
        self.cores[name] = core
        if core.failure is not None:
            self.quarantined.add(core.number)
            log(logging.ERROR, "agent quarantined", agent=name, error=str(core.failure))

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
        self.names.discard(name)
        if (core := self.cores.pop(name, None)) is not None:
            self._changed.discard(core)
            self.quarantined.discard(core.number)

    def write(self, core: Core, entry: Entry) -> None:
        """Commit an entry by itself, and do what it says."""
        self.store.append([(core.number, entry)])
        self.apply(core, entry)

    def apply(self, core: Core, entry: Entry) -> None:
        """Do what an entry says that is on disk; take a snapshot where one is due."""
        try:
            core.apply(entry)
        except Exception as error:  # memory is behind the disk: what is on disk counts, and is read again
            self.reread(core, error)
            raise
        self._changed.add(core)
        if core.failure is None:
            self.quarantined.discard(core.number)
        if core.due:
            self._snapshot([core])

    def reread(self, core: Core, error: Exception) -> None:
        """Read an agent from the disk after an error; if its design fails, it is quarantined from now on.

        A design that fails to act has nothing on disk that says so, and is quarantined in memory.
        """
        name = next(name for name, kept in self.cores.items() if kept is core)
        del self.cores[name]
        self._changed.discard(core)
        fresh = self.store.open(name)
        if isinstance(error, Failed) and error.seq > fresh.seq:
            fresh.failure = error
        self._keep(name, fresh)

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
