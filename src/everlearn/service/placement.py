"""Where each agent is: the shard that has it on disk, or else the shard that its name leads to.

A new agent is placed by a hash of its name.  An agent that is on disk is where it is, whatever the number of shards was
when it was created.
"""

from __future__ import annotations

import logging
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from everlearn.durable import database, layout, notes
from everlearn.durable.moving import Arrivals, cancel, complete
from everlearn.durable.reader import Reader
from everlearn.durable.store import Store
from everlearn.errors import Corrupt, LiveError
from everlearn.service.logs import log

_PATH = re.compile(rb"[A-Z]+ /v1/agents/([a-z0-9_-]+)[ /?]")


@dataclass
class Placement:
    """The shard of each agent.

    Parameters
    ----------
    shards:
        the number of shards
    elsewhere:
        the shards of the agents that are not where their names lead

    Examples
    --------
    >>> placement = Placement(2, {"north": 1})
    >>> placement.owner("north"), placement.owner("south")
    (1, 0)

    """

    shards: int
    elsewhere: dict[str, int] = field(default_factory=dict)

    def by_name(self, name: str) -> int:
        """Return the shard in which an agent of a name is created."""
        return zlib.crc32(name.encode()) % self.shards

    def owner(self, name: str) -> int:
        """Return the shard of an agent."""
        shard = self.elsewhere.get(name)
        return self.by_name(name) if shard is None else shard

    def put(self, name: str, shard: int) -> None:
        """Note where an agent is; a shard that there is not, such as one that was given up, is not noted."""
        if shard >= self.shards:
            return
        if shard == self.by_name(name):
            self.elsewhere.pop(name, None)
        else:
            self.elsewhere[name] = shard


def named(head: bytes) -> str | None:
    """Return the agent that the first line of a request names, if the line is there and names one.

    Examples
    --------
    >>> named(b"POST /v1/agents/north/step HTTP/1.1"), named(b"GET /metrics HTTP/1.1"), named(b"POST /v1/agents/no")
    ('north', None, None)

    """
    match = _PATH.match(head)
    return None if match is None else match[1].decode()


def adopt_store(directory: Path) -> None:
    """Let the store of a directory without shards be its first shard, if there is one."""
    if not layout.shards_of(directory) and database.is_begun(directory):
        with Store(directory):
            pass  # which completes what a kill left, and empties the log
        layout.adopt(directory)


def lay_out(directory: Path, shards: int) -> Placement:
    """Make the directories of a number of shards, and return where the agents are.

    More shards than before are begun empty.  Fewer are possible if those that are to go have no agents.
    """
    layout.refuse_experiment(directory)
    before = layout.shards_of(directory)
    stores = layout.stores_of(directory) if before else []
    _finish_moves(stores)
    placement = _locate(directory, stores, shards)
    _forget(stores[:shards], {f"shard-{number}" for number in range(shards)})
    if shards != before or not (directory / layout.RECORD).exists():
        for number in range(before, shards):
            with Store(layout.shard_directory(directory, number)):
                pass
        layout.record(directory, shards)
    return placement


def _locate(directory: Path, stores: list[Path], shards: int) -> Placement:
    """Return where the agents are; one that is leaving a shard belongs to another shard that has it, if one has."""
    gone, leaving, owned = dict[str, int](), dict[str, int](), dict[str, int]()
    for number, store in enumerate(stores):
        names, departing, moved = _names(store)
        if moved and number >= shards:
            raise LiveError(f"{store.name} knows where agents were moved; give --shards {len(stores)}", directory)
        if names and number >= shards:
            what = f"{store.name} has {len(names):,} agents, such as {names[0]}"
            raise LiveError(f"{what}; give --shards {len(stores)}, or move them to other shards first", directory)
        gone |= dict.fromkeys(moved, number)
        leaving |= dict.fromkeys((name for name in names if name in departing), number)
        present = dict.fromkeys((name for name in names if name not in departing), number)
        for name in present.keys() & owned.keys():
            what = f"the agent {name} is in shard-{owned[name]} and in {store.name}"
            raise LiveError(f"{what}; find out which is older, and delete it there", directory)
        owned |= present
    placement = Placement(shards)
    for name, number in {**gone, **leaving, **owned}.items():
        placement.put(name, number)
    return placement


def _forget(stores: list[Path], shards: set[str]) -> None:
    """Forget what was moved to shards that there are not, which have no agents; their names can be given again."""
    for store in stores:
        with Reader(store) as reader:
            moved = notes.read(reader, notes.MOVED)
        gone = [name for name, note in moved.items() if note["to"].startswith("shard-") and note["to"] not in shards]
        if gone:
            with Store(store) as opened, opened.transaction() as run:
                for name in gone:
                    notes.write(run, notes.MOVED, name, None)


def _names(store: Path) -> tuple[list[str], set[str], list[str]]:
    """Return the agents of a shard, those that are leaving it, and those that have moved to other services."""
    with Reader(store) as reader:
        moved, leaving = notes.read(reader, notes.MOVED), set(notes.read(reader, notes.LEAVING))
        gone = [name for name, note in moved.items() if not note["to"].startswith("shard-")]
        return reader.names(), leaving, gone


def _finish_moves(stores: list[Path]) -> None:
    """Complete or undo the moves between shards that were under way when all shards ended.

    A move is complete if the agent came to the other shard by it.  Where damage hides whether it did, everything stays
    as it is: this concerns one agent, and must not keep the others from being served.
    """
    for store in stores:
        with Reader(store) as reader:
            leaving = notes.read(reader, notes.LEAVING)
        for name, note in leaving.items():
            if note["to"].startswith("shard-"):
                try:
                    _finish_move(stores, store, name, note)
                except Corrupt as error:
                    log(logging.ERROR, "a move between shards cannot be finished", agent=name, error=str(error))


def _finish_move(stores: list[Path], store: Path, name: str, note: dict[str, Any]) -> None:
    taken = False
    if (other := store.with_name(note["to"])) in stores:  # there may have been more shards
        with Reader(other) as reader:
            taken = Arrivals.of(reader, name).has_taken(note["move"])
            if not taken and name in reader.names():
                raise Corrupt(f"there is an agent {name!r}, and it did not come by the move {note['move']}", other)
    with Store(store) as opened:
        if taken:
            complete(opened, name)
        else:
            cancel(opened, name, note["move"])
