"""Rows of the tables of agents and snapshots, each sealed with a SHA-256 of its contents."""

from __future__ import annotations

import hashlib
import json
import time
from typing import NamedTuple, Self

from everlearn.durable.entry import Checkpoint
from everlearn.durable.setup import Setup


class AgentRecord(NamedTuple):
    """An agent as it is stored: its name, its setup and its fingerprint."""

    number: int
    name: str
    setup: str
    face: str | None
    """The fingerprint; None if the setup declares everything."""
    created: float
    sha256: str = ""

    @property
    def whole(self) -> bool:
        """Whether it is undamaged."""
        return self.sha256 == digest(*self[:-1])

    @property
    def changed(self) -> int | None:
        """The number of the row in which a change of its fingerprint was last accepted."""
        return None if self.face is None else json.loads(self.face).get("changed")

    def sealed(self) -> Self:
        """Return it with the digest of its contents."""
        return self._replace(sha256=digest(*self[:-1]))

    def stored_setup(self) -> Setup:
        """Return its setup, to read but not to learn: neither functions nor objects are needed."""
        return Setup(json.loads(self.setup), None if self.face is None else json.loads(self.face))


class SnapshotRecord(NamedTuple):
    """A snapshot as it is stored; see :class:`everlearn.durable.entry.Checkpoint`."""

    agent: int
    seq: int
    number: int
    """Its number among the snapshots of its agent, from 0."""
    step: int
    at: float
    more: str
    state: bytes
    sha256: str = ""

    @classmethod
    def taken(cls, agent: int, number: int, checkpoint: Checkpoint) -> SnapshotRecord:
        """Return the sealed record of a checkpoint that was just taken."""
        seq, more, state = checkpoint
        return cls(agent, seq, number, more["step"], time.time(), json.dumps(more), state).sealed()

    @property
    def whole(self) -> bool:
        """Whether it is undamaged."""
        return self.sha256 == digest(*self[:-1])

    def sealed(self) -> Self:
        """Return it with the digest of its contents."""
        return self._replace(sha256=digest(*self[:-1]))

    @property
    def checkpoint(self) -> Checkpoint:
        """The agent that it holds."""
        return Checkpoint(self.seq, json.loads(self.more), self.state)


def digest(*parts: object) -> str:
    """Return the SHA-256 of texts, numbers and bytes together."""
    sha256 = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        sha256.update(len(data).to_bytes(8, "little") + data)
    return sha256.hexdigest()
