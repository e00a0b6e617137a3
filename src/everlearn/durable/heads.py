"""The heads of a store: the number of the last row of each agent, by which rows missing at the end are noticed.

A damaged page of the database may lack rows without any sign of it.  Pages in the write-ahead log have checksums, so
heads need be written only before a checkpoint copies pages to the database: then every row that is not in the log is
known to the heads, and commits take no longer.
"""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import suppress
from typing import NamedTuple

from everlearn.durable import database

WITHOUT = "without rows up to, agent "
"""With the number of an agent, the key in ``meta`` for the last of its rows that a repair could not save."""

SINCE = 4
"""The first version of the tables that has heads."""

_INSERT = "INSERT OR REPLACE INTO heads VALUES (?, ?, ?)"

_AGENTS = """
SELECT 0, id, name FROM agents NOT INDEXED UNION ALL
SELECT 1, id, name FROM agents INDEXED BY sqlite_autoindex_agents_1"""
_HEADS = " UNION ALL SELECT 2, agent, '' FROM heads"


def seal(agent: int, seq: int) -> int:
    """Return the check of a head."""
    return zlib.crc32(b"everlearn agent %d ends with row %d" % (agent, seq))


def write(connection: sqlite3.Connection, last: dict[int, int]) -> None:
    """Write the last rows of agents, by their numbers."""
    connection.executemany(_INSERT, ((agent, seq, seal(agent, seq)) for agent, seq in last.items()))


def read(connection: sqlite3.Connection, agent: int) -> int | None:
    """Return the number of the row up to which the journal of an agent must reach; None if its head is damaged."""
    row = connection.execute("SELECT seq, seal FROM heads WHERE agent = ?", (agent,)).fetchone()
    whole = row is not None and isinstance(row[0], int) and row[1] == seal(agent, row[0])
    return row[0] if whole else None


def behind(connection: sqlite3.Connection) -> dict[int, int]:
    """Return the last rows of the agents whose journals reach further than their heads, as after a kill.

    A head that is damaged stays so, and damage of one agent does not concern the others.
    """
    last_rows = {}
    for agent, seq, sealed in connection.execute("SELECT agent, seq, seal FROM heads").fetchall():
        with suppress(sqlite3.Error, OverflowError, TypeError):
            (last,) = connection.execute("SELECT max(seq) FROM journal WHERE agent = ?", (agent,)).fetchone()
            if sealed == seal(agent, seq) and isinstance(last, int) and last > seq:
                last_rows[agent] = last
    return last_rows


def last_unsaved(connection: sqlite3.Connection, agent: int) -> int:
    """Return the number of the last row of an agent that a repair could not save, zero if there is none."""
    value = database.read_meta(connection, f"{WITHOUT}{agent}") or "0"
    if not value.isdecimal():
        raise sqlite3.DataError(f"{WITHOUT}{agent}: {value!r} is no number")
    return int(value)


def migrate(connection: sqlite3.Connection) -> None:
    """Add heads to a file of an earlier version, within a transaction."""
    connection.execute("DROP TABLE IF EXISTS heads")
    connection.execute(database.HEADS)
    query = "SELECT id, (SELECT max(seq) FROM journal WHERE agent = id) FROM agents"
    write(connection, {agent: seq or 0 for agent, seq in connection.execute(query).fetchall()})
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('shape', ?)", (database.shape(connection),))


class Roster(NamedTuple):
    """The agents of a store, found in three ways."""

    table: dict[int, str]
    indexed: dict[int, str]
    heads: set[int]  # for a version without heads, those of the table

    @classmethod
    def of(cls, connection: sqlite3.Connection, version: int) -> Roster:
        """Return the agents as of one moment."""
        rows = connection.execute(_AGENTS + (_HEADS if version >= SINCE else "")).fetchall()
        table, indexed = ({number: str(name) for way, number, name in rows if way == each} for each in (0, 1))
        return cls(table, indexed, {number for way, number, _ in rows if way == 2} if version >= SINCE else set(table))

    @property
    def names(self) -> list[str]:
        """The names of all agents, however they were found."""
        return sorted({name for known in (self.table, self.indexed) for name in known.values()})

    @property
    def agrees(self) -> bool:
        """Whether the same agents were found in all ways."""
        return self.table == self.indexed and self.heads == set(self.table)
