"""Notes of a store about agents that come and go, in its table ``meta``; each is sealed.

See :mod:`everlearn.durable.moving`.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.durable import database, heads
from everlearn.durable.records import read_rows
from everlearn.errors import Corrupt

if TYPE_CHECKING:
    from everlearn.durable.reader import Reader

LEAVING, MOVED, ARRIVALS = KINDS = ("leaving", "moved", "arrivals")
"""Where an agent is to go, where it went, and the numbers of the moves that have arrived or were refused."""


UNKNOWN = "an unknown place, since the note of it is damaged"
LOST: dict[str, Any] = {"to": UNKNOWN, "move": ""}
"""What stands for a damaged note of where an agent goes or went: it is not here, and nobody can complete its move."""

LOST_ARRIVALS: dict[str, Any] = {"origin": None, "spent": [], "refused": [], "lost": True}
"""What a repair writes for a damaged note of arrivals: until it is removed, no move is taken or refused."""

_OTHERS = ("schema", "everlearn", "shape", heads.WITHOUT)
"""How the keys of all other rows of the table begin."""

_ROWS = "SELECT typeof(key), typeof(value), CAST(key AS BLOB), CAST(value AS BLOB) FROM meta"
_OF_KIND = f"{_ROWS} WHERE typeof(key) <> 'text' OR NOT (key GLOB ? OR key GLOB ?)"
"""The rows but those of the two other kinds: a store may have very many of these, and parsing them takes long."""


class Note(NamedTuple):
    """A note as it was found."""

    key: str
    kind: str  # empty if it cannot be known
    name: str
    document: dict[str, Any] | None  # None if it is damaged
    whole: bool  # whether the row is as it was written


def scan(connection: sqlite3.Connection, kind: str | None = None) -> tuple[list[Note], Exception | None]:
    """Return all notes, damaged or not, or those that may be of a kind; and the error if not all rows could be read.

    A row whose key is damaged is a note as well.  The seal tells of which agent, if its value is undamaged.
    """
    if kind is None:
        rows, unreadable = read_rows(connection, _ROWS)
    else:
        rows, unreadable = read_rows(connection, _OF_KIND, *(f"{other} agent *" for other in KINDS if other != kind))
    scanned = []
    for *types, key, value in rows:
        key, value = (str(part or b"", errors="replace") for part in (key, value))
        if not key.startswith(_OTHERS):
            scanned.append(_note(connection, key, value, types == ["text", "text"]))
    return scanned, unreadable


def _note(connection: sqlite3.Connection, key: str, value: str, typed: bool) -> Note:
    seal, _, text = value.partition(" ")
    kind, _, name = key.partition(" agent ")
    kind = kind if kind in KINDS else ""
    if kind and seal == _seal(key, text):
        return Note(key, kind, name, json.loads(text), typed)
    for (other,) in read_rows(connection, "SELECT name FROM agents")[0]:
        for each in KINDS:
            if seal == _seal(f"{each} agent {other}", text):
                return Note(key, each, other, json.loads(text), False)
    return Note(key, kind, name, None, False)


def read(reader: Reader, kind: str) -> dict[str, dict[str, Any]]:
    """Return all notes of where agents go or went, by the names of agents; :data:`LOST` where one is damaged."""
    scanned, unreadable = scan(reader.connection, kind)
    if unreadable is not None:
        with database.errors(reader.path):
            raise unreadable
    return {note.name: note.document or LOST for note in scanned if note.kind == kind}


def of(reader: Reader, kind: str, name: str) -> dict[str, Any] | None:
    """Return the note of a kind about an agent, if there is one; raise if it is damaged."""
    key = f"{kind} agent {name}"
    with database.errors(reader.path):
        row = reader.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else _opened(reader, key, row[0])


def _opened(reader: Reader, key: str, value: object) -> dict[str, Any]:
    seal, _, text = value.partition(" ") if isinstance(value, str) else ("", "", "")
    if seal != _seal(key, text):
        remedy = database.how_to_repair(reader.path)
        raise Corrupt(f"the row {key!r} is damaged; {remedy}", reader.path, table="meta")
    document: dict[str, Any] = json.loads(text)
    return document


def write(run: Callable[..., Any], kind: str, name: str, document: dict[str, Any] | None) -> None:
    """Write a note about an agent, or remove it, within a transaction."""
    key = f"{kind} agent {name}"
    if document is None:
        run("DELETE FROM meta WHERE key = ?", (key,))
    else:
        text = json.dumps(document)
        run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, f"{_seal(key, text)} {text}"))


def _seal(key: str, text: str) -> str:
    return f"{zlib.crc32(f'{key} {text}'.encode()):08x}"
