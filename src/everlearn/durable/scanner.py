"""The scanner of journals and snapshots: it yields every row, sound or not, and says what is wrong with it.

Reading, checking and repairing share it; they differ in what they do about damage.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from everlearn.durable.database import COLUMNS
from everlearn.durable.entry import Entry, checksum
from everlearn.durable.records import SnapshotRecord

UNREADABLE = (sqlite3.Error, UnicodeDecodeError, TypeError, ValueError, KeyError, OverflowError)
"""The errors that reading a damaged row may raise."""

_ROWS = f"SELECT {COLUMNS} FROM journal WHERE agent = ? AND seq > ? ORDER BY seq"  # noqa: S608 - no input in it
_NUMBERS = "SELECT seq FROM snapshots WHERE agent = ? ORDER BY seq DESC"
_SNAPSHOT = "SELECT * FROM snapshots WHERE agent = ? AND seq = ?"


class Scanned(NamedTuple):
    """A row of a journal, or the place where one is missing or unreadable."""

    seq: int
    entry: Entry | None
    damage: str | None = None
    error: Exception | None = None
    """The error that ended the scan."""


class ScannedSnapshot(NamedTuple):
    """A snapshot, or the place where one is unreadable; ``seq`` is None where the numbers themselves are."""

    seq: int | None
    record: SnapshotRecord | None
    damage: str | None = None


def scan_rows(
    connection: sqlite3.Connection, agent: int, after: int = -1, checks: Mapping[int, int] | None = None
) -> Iterator[Scanned]:
    """Yield the rows of an agent's journal after row ``after``, each compared with the row before it.

    ``checks`` has the checks of rows that something else vouches for, such as a snapshot.  If row ``after`` is one of
    them, the row that follows must be there; otherwise the journal may begin anywhere.
    """
    checks = checks or {}
    last, check, begun = after, None, after in checks
    try:
        for fields in connection.execute(_ROWS, (agent, after)):
            entry = Entry(*fields)
            if begun and entry.seq != last + 1:
                yield Scanned(last + 1, None, f"is missing, up to {entry.seq - 1}")
                check = None
            before = checks.get(entry.seq - 1, check)
            fine = before is None or entry.check == checksum(before, entry[:-1])
            yield Scanned(entry.seq, entry, None if fine else "is damaged")
            last, check, begun = entry.seq, entry.check, True
    except UNREADABLE as error:
        yield Scanned(last + 1, None, f"cannot be read ({error})", error)


def scan_snapshots(connection: sqlite3.Connection, agent: int) -> Iterator[ScannedSnapshot]:
    """Yield the snapshots of an agent, the newest first."""
    numbers: list[int] = []
    unreadable: Exception | None = None
    try:
        for (seq,) in connection.execute(_NUMBERS, (agent,)):
            numbers.append(seq)
    except UNREADABLE as error:
        unreadable = error
    for seq in numbers:
        try:
            row = connection.execute(_SNAPSHOT, (agent, seq)).fetchone()
            if row is not None:  # otherwise the process that writes has removed it since
                record = SnapshotRecord(*row)
                yield ScannedSnapshot(seq, record, None if record.whole else "is damaged")
        except UNREADABLE as error:
            yield ScannedSnapshot(seq, None, f"cannot be read ({error})")
    if unreadable is not None:
        yield ScannedSnapshot(None, None, f"cannot be read ({unreadable})")
