"""An entry of the journal: one thing that changed an agent, in indices, so that replay never calls f or r."""

from __future__ import annotations

import json
import zlib
from typing import Any, NamedTuple

OBSERVED, WARM, MODE, ROLLBACK, IMPORT, CHANGE = range(6)
KINDS = ("observed", "warm", "mode", "rollback", "import", "change")

LEARN, FROZEN, SHADOW = range(3)
MODES = ("learn", "frozen", "shadow")


class Entry(NamedTuple):
    """One row of the journal; indices are those of the task.

    An observation has everything; other kinds have a payload, and what was pending when they came.
    """

    seq: int
    """Its number among all rows of its agent."""
    kind: int
    step: int
    """How many observations there were after it."""
    mode: int
    """The mode in which it was made."""
    at: float
    """When, in seconds since 1970."""
    state: int
    """The aleatoric state before it."""
    allowed: bytes | None
    """The mask given with the call of ``act``; see :func:`packed`."""
    proposed: int | None
    """What ``act`` had answered, if it was asked."""
    executed: int | None
    observation: int | None
    reward: float | None
    """In the units of the task."""
    following: int
    """The aleatoric state after it."""
    payload: bytes | None
    """The state of the agent after a rollback or an import, the name of a mode, what a change was."""
    check: int
    """See :func:`checked`."""

    @property
    def is_observation(self) -> bool:
        """Whether it completed a step."""
        return self.kind in (OBSERVED, WARM)


class Accepted(NamedTuple):
    """What the row of a change says: what the agent depends on changed, the user accepted it, and it resumed from here.

    Examples
    --------
    >>> change = Accepted(["the reward range was 0 to 1 and is now 0 to 2"], None, {"step": 3}, b"state")
    >>> Accepted.parsed(change.payload()) == change
    True

    """

    changes: list[str]
    relearned_since: int | None
    """The step since which rows were learned from again, with functions that changed; None where none were."""
    more: dict[str, Any]
    state: bytes
    """With ``more`` all that the agent was, so that rows before this one need not be read again."""

    def payload(self) -> bytes:
        """Return it as bytes."""
        text = {"changes": self.changes, "relearned_since": self.relearned_since, "more": self.more}
        return json.dumps(text).encode() + b"\n" + self.state

    @classmethod
    def parsed(cls, payload: bytes) -> Accepted:
        """Return what :meth:`payload` wrote."""
        text, _, state = payload.partition(b"\n")
        return cls(**json.loads(text), state=state)


def first_check(agent: int) -> int:
    """Return what the check of an agent's first row goes on from.

    Examples
    --------
    >>> first_check(1) == first_check(2)
    False

    """
    return zlib.crc32(b"everlearn agent %d" % agent)


def checked(previous: int, fields: tuple[object, ...]) -> int:
    """Return the check of a row: a CRC-32 of all that is in it, which goes on from that of the row before.

    So a row that was changed, lost, moved or put in shows.  It finds accidents; it is no signature.

    Examples
    --------
    >>> checked(0, (1, "busy")) == checked(1, (1, "busy"))
    False

    """
    return zlib.crc32(repr(fields).encode(), previous)


def packed(mask: int) -> bytes:
    r"""Return a set of actions, given as bits, as bytes, the least significant first.

    Examples
    --------
    >>> packed(0b100000001), unpacked(packed(0b100000001))
    (b'\x01\x01', 257)

    """
    return mask.to_bytes((mask.bit_length() + 7) // 8, "little")


def unpacked(mask: bytes) -> int:
    """Return what :func:`packed` was given."""
    return int.from_bytes(mask, "little")
