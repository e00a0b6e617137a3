"""All agents of a directory, as the committer's thread holds them: loaded when they are first needed, then kept."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.durable import notes
from everlearn.durable.control import FORGETTING
from everlearn.durable.core import Core
from everlearn.durable.entry import Entry
from everlearn.durable.moving import Arrivals, Luggage, arrive
from everlearn.durable.records import AgentRecord
from everlearn.durable.setup import Setup
from everlearn.durable.store import Store
from everlearn.errors import Failed, LiveError, shown
from everlearn.service.committer import Unready
from everlearn.service.logs import log
from everlearn.service.settings import Limits


class Missing(LiveError):  # noqa: N818 - reads as what it is
    """There is no such agent, or no such snapshot."""


class Stale(LiveError):  # noqa: N818 - reads as what it is
    """The agent is not as the request expects it; ``version`` says how it is."""

    def __init__(self, version: str) -> None:
        super().__init__(f"the agent is at version {version} now; look at it, and decide again")
        self.version = version


class Moved(LiveError):  # noqa: N818 - reads as what it is
    """The agent was moved; ``to`` says where."""

    def __init__(self, name: str, to: str) -> None:
        super().__init__(f"the agent {name} was moved to {to}")
        self.to = to


class Moving(LiveError):  # noqa: N818 - reads as what it is
    """The agent is being moved, and nobody may use it meanwhile; or nobody knows where it was moved."""

    def __init__(self, message: str, move: str = "") -> None:
        super().__init__(message)
        self.move = move  # its number, if it is known


class Unloaded(Unready):
    """An agent must be loaded first, by a thread that may take its time."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the agent {name} is not loaded")
        self.name = name


class Loaded(NamedTuple):
    """An agent as another thread read it from the disk, and its record as it was before that."""

    record: AgentRecord
    core: Core
    recorded: bool = True  # whether its fingerprint is on disk


class Agents:
    """The store, and the agents in it by name.  Only the committer's thread may use it.

    Other threads may put agents into ``loaded``.
    """

    def __init__(self, directory: Path, limits: Limits) -> None:
        self.store = Store(directory)
        self.limits = limits
        self.cores: dict[str, Core] = {}
        self.names = set(self.store.names())
        self.loaded: dict[str, Loaded] = {}
        self.quarantined: set[int] = set()  # the numbers of agents whose designs have failed
        self._failed: dict[str, tuple[int, Failed]] = {}  # those that must be loaded again, with their numbers
        self.looking: set[Core] = set()  # those whose promotion rules are to look at their evidence
        self._changed: set[Core] = set()
        leaving = notes.read(self.store, notes.LEAVING)
        self.leaving = {name: leaving[name] for name in self.names & leaving.keys()}  # where agents are to go
        self.moved = notes.read(self.store, notes.MOVED)  # where agents went
        self.damaged_notes = [note.key for note in notes.scan(self.store.connection)[0] if not note.whole]
        for key in self.damaged_notes:
            log(logging.ERROR, "a note about an agent that moves is damaged", note=key)
        self.shards = 0  # how many shards the service has, if it has any
        self.placed: Callable[[str, str], None] = lambda _name, _to: None  # called when an agent was moved

    def core(self, name: str, leaving: bool = False) -> Core:
        """Return an agent; raise :class:`Unloaded` if it must be loaded first.

        One that is being moved is returned only if ``leaving`` is set.
        """
        if self.leaving and not leaving:
            self._refuse_leaving(name)
        if name not in self.cores:
            self.require_here(name)
            self._take(name)
        return self.cores[name]

    def _refuse_leaving(self, name: str) -> None:
        """Raise if an agent is being moved."""
        if (note := self.leaving.get(name)) is not None:
            raise Moving(f"the agent {name} is being moved to {note['to']}; come again", note["move"])

    def mended(self, kind: str, name: str) -> None:
        """Note that a note is no longer damaged, since it was removed."""
        self.damaged_notes = [key for key in self.damaged_notes if key != f"{kind} agent {name}"]

    def require_here(self, name: str) -> None:
        """Raise if there is no agent of a name."""
        if name not in self.names:
            self._refuse_moved(name)
            raise Missing(f"there is no agent {name}; create it, or see GET /v1/agents")

    def _refuse_moved(self, name: str) -> None:
        """Raise if an agent was moved from here."""
        if name in self.moved:
            if (to := self.moved[name]["to"]) == notes.UNKNOWN:
                raise Moving(f"the agent {name} was moved to {to}")
            raise Moved(name, to)

    def is_from(self, name: str, move: str) -> bool:
        """Return whether an agent has come here by a move; raise if another one is here, or the move is past."""
        arrivals = Arrivals.of(self.store, name)
        if name in self.names:
            if arrivals.origin != move:
                raise Taken(f"there is an agent {name} already")
            return True
        if move in arrivals.spent:
            raise Taken(f"the agent {name} came by this move before, or the move was refused")
        return False

    def arrive(self, setup: Setup, luggage: Luggage) -> bool:
        """Take an agent that moves here; return whether it was not here yet."""
        if self.is_from(luggage.name, luggage.move):
            return False
        self._require_room()
        self.loaded.pop(luggage.name, None)
        self.cores[luggage.name] = arrive(self.store, setup, luggage)
        self.names.add(luggage.name)
        self.moved.pop(luggage.name, None)
        self.placed(luggage.name, "")
        return True

    def drop_leaving(self, name: str) -> None:
        """Keep no agent that is being moved: another store may own it already."""
        if name in self.leaving and (core := self.cores.pop(name, None)) is not None:
            self._changed.discard(core)

    def _require_room(self) -> None:
        if len(self.names) >= self.limits.agents:
            raise Taken(f"there are {len(self.names)} agents, and no more are taken; see --max-agents")

    def _take(self, name: str) -> None:
        """Take over an agent that was loaded, unless it has changed on disk since, or is another of that name."""
        loaded = self.loaded.pop(name, None)
        if loaded is None or (record := self.store.enrolled(name)).created != loaded.record.created:
            raise Unloaded(name)
        if loaded.core.seq < self.store.last_row(record.number):  # it was loaded twice, and used in between
            raise Unloaded(name)
        if not loaded.recorded:
            self.store.record_face(record, loaded.core)
        core = self.cores[name] = loaded.core
        if core.step >= core.look_at:
            self.looking.add(core)
        _, failure = self._failed.pop(name, (record.number, None))
        if failure is not None and failure.seq > core.seq:  # it failed to act, which is not on disk
            core.failure = failure
        if core.failure is None:
            self.quarantined.discard(core.number)
        else:
            self._quarantine(name, core.number, core.failure)

    def _quarantine(self, name: str, number: int, failure: Failed) -> None:
        if number not in self.quarantined:
            self.quarantined.add(number)
            log(logging.ERROR, "agent quarantined", agent=name, error=str(failure))

    def create(self, name: str, setup: Setup) -> bool:
        """Create an agent; return whether it is new.  An agent of that name with another setup is a conflict."""
        if name in self.names:
            core = self.core(name)
            there, here = (_lasting(each, changed=core.changed is not None) for each in (core.setup, setup))
            if there != here:
                raise Taken(f"there is an agent {name} already, with another setup: {_difference(there, here)}")
            return False
        self._refuse_moved(name)
        self._require_room()
        self.loaded.pop(name, None)
        self.cores[name] = self.store.create(name, setup)
        self.names.add(name)
        return True

    def change_parameters(self, name: str, parameters: dict[str, Any]) -> None:
        """Let an agent resume with other parameters, which must not change how it acts on what it knows.

        A proposal that is pending is made again, as after a restart.  Others wait as long as loading the agent takes.
        An agent that failed is refused: it is rolled back first, since no snapshot of before fits afterwards.
        """
        core = self.core(name)
        core.require_working()
        self._snapshot([core])  # so that little is replayed
        changed = self.store.open(name, {"parameters": parameters}, accept=True)
        self._changed.discard(core)
        self.looking.discard(core)
        self.cores[name] = changed
        if changed.step >= changed.look_at:
            self.looking.add(changed)

    def delete(self, name: str) -> None:
        """Remove an agent and all that is recorded of it."""
        self.require_here(name)
        self._refuse_leaving(name)
        self.store.delete(name)
        self.forget(name)

    def forget(self, name: str) -> None:
        """Forget an agent that was deleted."""
        self.names.discard(name)
        self.leaving.pop(name, None)
        self.loaded.pop(name, None)
        number, _ = self._failed.pop(name, (None, None))
        self.quarantined.discard(number)
        if (core := self.cores.pop(name, None)) is not None:
            self._changed.discard(core)
            self.quarantined.discard(core.number)

    def write(self, core: Core, entry: Entry) -> None:
        """Commit an entry by itself, and do what it says."""
        self.append([(core.number, entry)])
        self.apply(core, entry)

    def apply(self, core: Core, entry: Entry) -> None:
        """Do what an entry says that is on disk; take a snapshot where one is due."""
        try:
            core.apply(entry)
        except Exception as error:  # memory is behind the disk: what is on disk counts, and is read again
            self.reread(core, error)
            raise
        self._changed.add(core)
        if core.step >= core.look_at:
            self.looking.add(core)
        if core.failure is None:
            self.quarantined.discard(core.number)
        if core.due:
            self._snapshot([core])

    def reread(self, core: Core, error: Exception) -> None:
        """Forget an agent after an error, so that it is read from the disk; if its design failed, quarantine it.

        A design that fails to act has nothing on disk that says so, and is quarantined in memory.
        """
        name = next(name for name, kept in self.cores.items() if kept is core)
        del self.cores[name]
        self.loaded.pop(name, None)
        self._changed.discard(core)
        if isinstance(error, Failed):
            self._failed[name] = core.number, error
            self._quarantine(name, core.number, error)

    def _snapshot(self, cores: list[Core]) -> None:
        """Take snapshots; none of an agent that failed, since what failed may pass, and a snapshot stays."""
        cores = [core for core in cores if core.failure is None]
        try:
            self.store.append([], cores)
        except LiveError as error:  # the journal has it all: recovery takes longer, nothing is lost
            log(logging.ERROR, "snapshot failed", agents=[core.number for core in cores], error=str(error))
        else:
            self._changed.difference_update(cores)

    def append(self, entries: list[Any]) -> None:
        """Write entries of several agents in one transaction.

        If the only one is there already, memory is behind the disk, and the agent is read again.
        """
        try:
            self.store.append(entries)
        except LiveError as error:
            if len(entries) == 1 and isinstance(error.__cause__, sqlite3.IntegrityError):
                number, _ = entries[0]
                for core in [core for core in self.cores.values() if core.number == number]:
                    self.reread(core, error)
            raise

    def close(self) -> None:
        """Take a snapshot of what changed, so that the next start has nothing to replay; let go of the directory."""
        if self._changed:
            self._snapshot(sorted(self._changed, key=lambda core: core.number))
        self.store.close()


def _lasting(setup: Setup, *, changed: bool) -> dict[str, Any]:
    """Return the document of a setup without what an operator may have changed since; ``changed`` if one changed it."""
    left_out = {FORGETTING} if changed else set()
    parameters = {name: value for name, value in setup.document["parameters"].items() if name not in left_out}
    return {**setup.document, "promotion": None, "parameters": parameters}


def _difference(there: dict[str, Any], here: dict[str, Any]) -> str:
    """Return the keys in which two documents differ, the first of them with both values."""
    key, *others = [key for key in {**there, **here} if there.get(key) != here.get(key)]
    first = f"{key} is {shown(there.get(key))[:80]}, not {shown(here.get(key))[:80]}"
    return f"{first}; {', '.join(others)} {'differs' if len(others) == 1 else 'differ'}, too" if others else first


class Taken(LiveError):  # noqa: N818 - reads as what it is
    """A name that is taken, or as many agents as there may be."""
