"""Records: the rows of the tables as they are stored, and the scanner that reads them, damaged or not.

Agents and snapshots are sealed with a SHA-256 of their contents; each row of a journal has a check that continues that
of the row before it.  Reading, checking and repairing share the scanner; they differ in what they do about damage.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from typing import Any, Generic, NamedTuple, Self, TypeVar

from everlearn.durable.database import COLUMNS
from everlearn.durable.entry import Checkpoint, Entry, checksum
from everlearn.durable.setup import Setup

Row = TypeVar("Row")

UNREADABLE = (sqlite3.Error, UnicodeDecodeError, TypeError, ValueError, KeyError, OverflowError)
"""The errors that reading a damaged row may raise."""

_ROWS = f"SELECT {COLUMNS} FROM journal WHERE agent = ? AND seq > ? ORDER BY seq"  # noqa: S608 - no input in it
PAGE = f"{_ROWS} LIMIT ?"
_NUMBERS = "SELECT seq FROM snapshots WHERE agent = ? ORDER BY seq DESC"
_SNAPSHOT = "SELECT * FROM snapshots WHERE agent = ? AND seq = ?"


class AgentRecord(NamedTuple):
    """An agent as it is stored: its name, its setup and its fingerprint."""

    number: int
    name: str
    setup: str
    face: str | None  # the fingerprint; None if the setup declares everything
    created: float
    sha256: str = ""

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
    number: int  # its number among the snapshots of its agent, from 0
    step: int
    at: float
    more: str
    state: bytes
    sha256: str = ""

    @classmethod
    def taken(cls, agent: int, number: int, checkpoint: Checkpoint) -> SnapshotRecord:
        """Return the sealed record of a checkpoint that was just taken."""
        seq, more, state = checkpoint
        fields = (agent, seq, number, more["step"], time.time(), json.dumps(more), state)
        return cls(*fields, digest(*fields))

    @property
    def checkpoint(self) -> Checkpoint:
        """The agent that it holds."""
        return Checkpoint(self.seq, json.loads(self.more), self.state)


def is_whole(record: AgentRecord | SnapshotRecord) -> bool:
    """Return whether a record is undamaged."""
    return record.sha256 == digest(*record[:-1])


def digest(*parts: object) -> str:
    """Return the SHA-256 of texts, numbers and bytes together."""
    sha256 = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        sha256.update(len(data).to_bytes(8, "little"))
        sha256.update(data)
    return sha256.hexdigest()


class Scanned(NamedTuple, Generic[Row]):
    """A row that was read, or the place where one is missing or unreadable."""

    seq: int | None  # its number; None if the numbers cannot be read
    row: Row | None
    damage: str | None = None
    error: Exception | None = None  # the error that ended the scan


def scan_rows(
    connection: sqlite3.Connection, agent: int, after: int = -1, checks: Mapping[int, int] | None = None
) -> Iterator[Scanned[Entry]]:
    """Yield the rows of an agent's journal after row ``after``, each compared with the row before it.

    ``checks`` has the checks of rows that something else vouches for, such as a snapshot.  If row ``after`` is one of
    them, the row that follows must be there; otherwise the journal may begin anywhere.
    """
    checks = checks or {}
    last, check, begun = after, None, after in checks
    try:
        for fields in connection.execute(_ROWS, (agent, after)):
            entry = Entry(*fields)
            if not isinstance(entry.seq, int):
                raise TypeError("its number is no integer")
            if begun and entry.seq != last + 1:
                yield Scanned(last + 1, None, f"is missing, up to {entry.seq - 1}")
                check = None
            before = checks.get(entry.seq - 1, check)
            fine = before is None or entry.check == checksum(before, entry[:-1])
            yield Scanned(entry.seq, entry, None if fine else "is damaged")
            last, check, begun = entry.seq, entry.check, True
    except UNREADABLE as error:
        yield Scanned(last + 1, None, f"cannot be read ({error})", error)


def is_chained(rows: list[tuple[Any, ...]], after: int, check: int | None) -> bool:
    """Return whether rows follow row ``after``, whose check is ``check``, and each other without a gap or damage.

    It is :func:`scan_rows` for readers of long journals, who want to know whether all is well, and nothing else.
    """
    for fields in rows:
        if type(fields[0]) is not int:
            return False
        if check is not None and (fields[0] != after + 1 or checksum(check, fields[:-1]) != fields[-1]):
            return False
        after, check = fields[0], fields[-1]
    return True


def read_rows(connection: sqlite3.Connection, query: str, *values: Any) -> tuple[list[Any], Exception | None]:
    """Return the rows of a query up to the first that cannot be read, and the error that it raised."""
    rows = []
    try:
        for row in connection.execute(query, values):
            rows.append(row)  # noqa: PERF402 - what is read before an error counts
    except UNREADABLE as error:
        return rows, error
    return rows, None


def scan_snapshots(connection: sqlite3.Connection, agent: int) -> Iterator[Scanned[SnapshotRecord]]:
    """Yield the snapshots of an agent, the newest first."""
    numbers, unreadable = read_rows(connection, _NUMBERS, agent)
    for (seq,) in numbers:
        try:
            row = connection.execute(_SNAPSHOT, (agent, seq)).fetchone()
            if row is not None:  # otherwise the process that writes has removed it since
                record = SnapshotRecord(*row)
                yield Scanned(seq, record, None if is_whole(record) else "is damaged")
        except UNREADABLE as error:
            yield Scanned(seq, None, f"cannot be read ({error})")
    if unreadable is not None:
        yield Scanned(None, None, f"cannot be read ({unreadable})")
