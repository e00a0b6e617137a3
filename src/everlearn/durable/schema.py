"""What is in the file: tables, their version, and how its parts are sealed."""

from __future__ import annotations

import hashlib
import sqlite3

from everlearn._version import __version__
from everlearn.durable.entry import Entry

SCHEMA = 3
"""Version 2 had no fingerprint of most agents, and no rows of changes; it is read as it is."""

READABLE = (2, SCHEMA)

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE agents (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, setup TEXT NOT NULL, face TEXT, created REAL NOT NULL,
    sha256 TEXT NOT NULL
);
CREATE TABLE journal (
    agent INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL, step INTEGER NOT NULL, mode INTEGER NOT NULL,
    at REAL NOT NULL, state INTEGER NOT NULL, allowed BLOB, proposed INTEGER, executed INTEGER, observation INTEGER,
    reward REAL, following INTEGER NOT NULL, payload BLOB, "check" INTEGER NOT NULL, PRIMARY KEY (agent, seq)
) WITHOUT ROWID;
CREATE TABLE snapshots (
    agent INTEGER NOT NULL, seq INTEGER NOT NULL, number INTEGER NOT NULL, step INTEGER NOT NULL, at REAL NOT NULL,
    more TEXT NOT NULL, state BLOB NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (agent, seq)
);
"""

COLUMNS = ", ".join(f'"{name}"' for name in Entry._fields)
INSERT_ROW = f"INSERT INTO journal VALUES ({', '.join('?' * (1 + len(Entry._fields)))})"  # noqa: S608 - no input in it
INSERT_AGENT = "INSERT INTO agents VALUES (?,?,?,?,?,?)"
INSERT_SNAPSHOT = "INSERT OR REPLACE INTO snapshots VALUES (?,?,?,?,?,?,?,?)"


def begin(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty file."""
    versions = f"INSERT INTO meta VALUES ('schema', '{SCHEMA}'), ('everlearn', '{__version__}');"  # noqa: S608
    connection.executescript(f"BEGIN; {TABLES} {versions} COMMIT;")


def version(connection: sqlite3.Connection) -> int | None:
    """Return the version of what is in a file; None where nothing is; zero where that cannot be told."""
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        return None
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    return int(row[0]) if row is not None and str(row[0]).isdecimal() else 0


def digest(*parts: object) -> str:
    """Return the SHA-256 of texts, numbers and bytes together.

    Examples
    --------
    >>> digest("a", b"b") == digest("a", b"c")
    False

    """
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()
