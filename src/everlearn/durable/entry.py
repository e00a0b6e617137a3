"""A row of the journal: one change of an agent, in indices, so that replay calls neither f nor r."""

from __future__ import annotations

import datetime
import json
import math
import zlib
from typing import Any, NamedTuple, TypeAlias

from everlearn.durable.choice import unpacked
from everlearn.durable.promotion import unpack_mode
from everlearn.errors import Corrupt
from everlearn.protocol import Label
from everlearn.tasks.task import Task

KINDS = ("observed", "warm", "mode", "rollback", "import", "change", "forgotten", "reward")
MODES = ("learn", "frozen", "shadow")
OTHER_WORDS = {"freeze": "frozen"}
"""Other words for modes."""

PROPENSITY = "propensity"
"""The name of the number that logged exploration records: the probability with which the action was proposed."""


def usual_mode(given: Any) -> Any:
    """Return the usual word for a mode, or the value itself if it is none of the other words."""
    return OTHER_WORDS.get(given, given) if isinstance(given, str) else given


class Kind:
    """The kinds of rows, by their numbers in the journal."""

    OBSERVED, WARM, MODE, ROLLBACK, IMPORT, CHANGE, FORGOTTEN, REWARD = range(8)


OBSERVATIONS = (Kind.OBSERVED, Kind.WARM)
"""The kinds of rows that complete a step."""


class Mode:
    """The modes of an agent, by their numbers in the journal."""

    LEARN, FROZEN, SHADOW = range(3)


class Outcome(NamedTuple):
    """What happened at a step, as the caller reports it.  What is None is left out."""

    observation: Label
    executed: Label | None = None
    reward: float | None = None
    state: Label | None = None  # the aleatoric state that followed
    duration: float | None = None  # how long the decision took
    cost: float | None = None


class Checkpoint(NamedTuple):
    """Everything that a durable agent is after row ``seq`` of its journal."""

    seq: int
    more: dict[str, Any]  # what the agent state does not hold, as a JSON document
    state: bytes  # the agent state, as everlearn.Agent.save writes it


class Accepted(NamedTuple):
    """The content of a row of kind change: the user accepted changes, and the agent resumed from a checkpoint."""

    changes: list[str]
    relearned_since: int | None  # the step since which rows were learned from again, with functions that changed
    checkpoint: Checkpoint  # the agent before the row, so that earlier rows need not be read

    def payload(self) -> bytes:
        """Return it as bytes; see :attr:`Entry.accepted`."""
        text = {"changes": self.changes, "relearned_since": self.relearned_since, "more": self.checkpoint.more}
        return json.dumps(text).encode() + b"\n" + self.checkpoint.state


_PIECE = 1 << 16
"""Bytes of a payload that are turned into text at once."""


Stored: TypeAlias = Any
"""The number of a state or an observation as it is stored: an int, or text if it has more than 63 bits."""


def stored(number: int) -> Stored:
    """Return the number of a state or an observation as it is stored; SQLite's integers have 64 bits.

    Examples
    --------
    >>> stored(5), stored(2**70), number_of(stored(2**70)) == 2**70
    (5, 'x400000000000000000', True)

    """
    return number if number < 1 << 63 else f"x{number:x}"


def number_of(kept: Stored) -> int:
    """Return the number that :func:`stored` was given."""
    return int(kept[1:], 16) if isinstance(kept, str) else kept


class Entry(NamedTuple):
    """One row of the journal; indices are those of the task.

    An observation has every field but the payload, which it has if there are numbers beside the reward.  Other kinds
    have a payload where they need one, and the proposal that was pending; a row of kind forgotten withdraws it.  An
    observation whose reward comes late has no reward; a row of kind reward brings it, with the number of the step as
    its payload.
    """

    seq: int  # its number among all rows of its agent
    kind: int
    step: int  # the number of observations after it
    mode: int  # the mode in which it was made
    at: float  # when it was made, in seconds since 1970
    state: Stored  # the aleatoric state before it
    allowed: bytes | None  # the mask given with the call of act, as choice.packed returns it
    proposed: int | None  # the action that act returned, if it was called
    executed: int | None
    observation: Stored | None
    reward: float | None  # in the units of the task
    following: Stored  # the aleatoric state after it
    payload: bytes | None  # numbers, a state after a rollback or import, a mode and a note, a change, or a step
    check: int  # see checksum

    @property
    def is_observation(self) -> bool:
        """Whether it completed a step."""
        return self.kind in OBSERVATIONS

    @property
    def numbers(self) -> dict[str, float]:
        """The named numbers that an observation has beside its reward; see :func:`pack_numbers`."""
        if self.payload is None or not self.is_observation:
            return {}
        try:
            numbers = {str(name): float(value) for name, value in json.loads(self.payload).items()}
        except (AttributeError, TypeError, ValueError):
            numbers = {"": math.nan}
        if not all(map(math.isfinite, numbers.values())):
            raise Corrupt("the numbers in it cannot be read", row=self.seq)
        return numbers

    @property
    def rewarded(self) -> int:
        """The step whose reward a row of kind reward brings."""
        text = self.payload or b""
        if not text.isdigit():
            raise Corrupt("a reward without its step", row=self.seq)
        return int(text)

    @property
    def changed_mode(self) -> tuple[str, dict[str, Any] | None]:
        """The mode after a row of kind mode, and its note, if the promotion rule has one."""
        mode, note = unpack_mode(self.payload or b"", self.seq)
        if mode not in MODES:
            raise Corrupt(f"{mode!r} is no mode", row=self.seq)
        return mode, note

    @property
    def accepted(self) -> Accepted:
        """The content of a row of kind change."""
        try:
            text, _, state = (self.payload or b"").partition(b"\n")
            document = json.loads(text)
            checkpoint = Checkpoint(self.seq - 1, document["more"], state)
            return Accepted(document["changes"], document["relearned_since"], checkpoint)
        except (LookupError, TypeError, ValueError):
            raise Corrupt("the change in it cannot be read", row=self.seq) from None

    def described(self, task: Task) -> dict[str, Any]:
        """Return the row by labels, as a JSON document."""
        mask = None if self.allowed is None else unpacked(self.allowed)
        document: dict[str, Any] = {
            "seq": self.seq,
            "step": self.step,
            "kind": KINDS[self.kind],
            "at": moment(self.at),
            "mode": MODES[self.mode],
            "state": task.states[number_of(self.state)],
            "allowed": None
            if mask is None
            else [label for place, label in enumerate(task.actions) if mask >> place & 1],
            "proposed": label_at(task.actions, self.proposed),
            "executed": label_at(task.actions, self.executed),
            "observation": label_at(task.observations, self.observation),
            "reward": self.reward,
            "next_state": task.states[number_of(self.following)],
            **self.numbers,
        }
        payload = self.payload or b""
        if self.kind == Kind.MODE:
            mode, note = self.changed_mode
            document |= {"to": mode} if note is None else {"to": mode, "promotion": note}
        elif self.kind in (Kind.ROLLBACK, Kind.IMPORT):
            document["bytes"] = len(payload)
        elif self.kind == Kind.REWARD:
            document["rewarded"] = self.rewarded
        elif self.kind == Kind.CHANGE:
            document |= {"changes": self.accepted.changes, "relearned_since": self.accepted.relearned_since}
        return document


def moment(at: float) -> str:
    """Return a time in seconds since 1970 as a text."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="microseconds")


def pack_numbers(numbers: dict[str, float]) -> bytes | None:
    """Return named numbers as the payload of an observation, None if there are none; see :attr:`Entry.numbers`.

    Examples
    --------
    >>> pack_numbers({"propensity": 0.99})
    b'{"propensity":0.99}'

    """
    return json.dumps(numbers, sort_keys=True, separators=(",", ":")).encode() if numbers else None


def label_at(labels: tuple[Label, ...], index: Stored | None) -> Label | None:
    """Return the label of an index, if there is one."""
    return None if index is None else labels[number_of(index)]


def first_check(agent: int) -> int:
    """Return the number from which the check of an agent's first row continues."""
    return zlib.crc32(b"everlearn agent %d" % agent)


def checksum(previous: int, fields: tuple[object, ...]) -> int:
    """Return the check of a row: a CRC-32 of its other fields that continues from the check of the row before.

    It reveals rows that were changed, lost, moved or inserted by accident; it is no signature.
    """
    payload = fields[-1]
    if payload.__class__ is bytes and len(payload) > _PIECE:
        return _long_checksum(previous, fields[:-1], payload)
    return zlib.crc32(repr(fields).encode(), previous)


def _long_checksum(previous: int, fields: tuple[object, ...], payload: bytes) -> int:
    """Return the same for fields that end with a long payload, in pieces: its text would take nine times its memory.

    Python quotes bytes by ``"`` if they contain ``'`` and no ``"``.  To write a piece as a part of the whole, a quote
    is added to it where the whole would be quoted by ``'``, and removed from the text.
    """
    quote, added = ('"', b"") if b"'" in payload and b'"' not in payload else ("'", b'"')
    check = zlib.crc32(f"{repr((*fields, None))[:-5]}b{quote}".encode(), previous)
    for start in range(0, len(payload), _PIECE):
        text = repr(payload[start : start + _PIECE] + added)
        check = zlib.crc32(text[2 : -1 - len(added)].encode(), check)
    return zlib.crc32(f"{quote})".encode(), check)
