"""Notes of a store about agents that come and go, in its table ``meta``; each is sealed.

See :mod:`everlearn.durable.moving`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from everlearn.durable import database
from everlearn.errors import Corrupt

if TYPE_CHECKING:
    from everlearn.durable.reader import Reader

LEAVING, MOVED, ARRIVALS = KINDS = ("leaving", "moved", "arrivals")
"""Where an agent is to go, where it went, and the numbers of the moves that have arrived or were refused."""


def read(reader: Reader, kind: str) -> dict[str, dict[str, Any]]:
    """Return all notes of a kind, by the names of agents."""
    query = "SELECT key, value FROM meta WHERE key >= ? AND key < ?"
    with database.errors(reader.path):
        rows = reader.connection.execute(query, (f"{kind} agent ", f"{kind} agent!")).fetchall()
    return {key.removeprefix(f"{kind} agent "): _opened(reader, key, value) for key, value in rows}


def of(reader: Reader, kind: str, name: str) -> dict[str, Any] | None:
    """Return the note of a kind about an agent, if there is one."""
    key = f"{kind} agent {name}"
    with database.errors(reader.path):
        value = database.read_meta(reader.connection, key)
    return None if value is None else _opened(reader, key, value)


def _opened(reader: Reader, key: str, value: str) -> dict[str, Any]:
    seal, _, text = value.partition(" ")
    if seal != _seal(key, text):
        remedy = database.how_to_repair(reader.path)
        raise Corrupt(f"{reader.path}: table meta: the row {key!r} is damaged; {remedy}")
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
