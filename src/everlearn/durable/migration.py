"""Bringing an older file up to date: a new one is made beside it, and then takes its place; the old one is kept.

- Version 1 had neither a check in each row nor a gauge in each snapshot.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from pathlib import Path

from everlearn.durable.core import Core
from everlearn.durable.database import FILE, NEW, connect, connect_to_read, errors, put_in_place, remove, sync
from everlearn.durable.entry import checked, first_check
from everlearn.durable.reader import Enrolled, Snapshot
from everlearn.durable.schema import INSERT_AGENT, INSERT_ROW, INSERT_SNAPSHOT, begin, digest
from everlearn.durable.setup import Setup

LOG = logging.getLogger("everlearn.durable")

_ROWS_1 = """SELECT
    seq, kind, step, mode, at, state, allowed, proposed, executed, observation, reward, following, payload
FROM journal WHERE agent = ? ORDER BY seq"""


def migrate(directory: Path, found: int) -> None:
    """Bring the file of a directory that is held to the present version."""
    old, made = directory / FILE, directory / f"{NEW}.part"
    remove(made)
    with errors(old):
        source, target = connect_to_read(old), connect(made)
        try:
            begin(target)
            target.execute("BEGIN")
            _from_1(source, target)
            target.execute("COMMIT")
        finally:
            target.close()
            source.close()
    sync(made)
    made.replace(directory / NEW)
    before = put_in_place(directory)
    LOG.warning("%s: brought from schema version %d up to date; the old file is kept as %s", old, found, before)


def _from_1(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    for number, name, document, created in source.execute("SELECT id, name, setup, created FROM agents"):
        setup = Setup(json.loads(document))
        row = Enrolled(number, name, setup.encoded(), setup.face(), created, "")
        target.execute(INSERT_AGENT, (*row[:-1], digest(*row[:-1])))
        checks = _rows_from_1(source, target, number)
        _snapshots_from_1(source, target, Core(setup, number), checks)


def _rows_from_1(source: sqlite3.Connection, target: sqlite3.Connection, number: int) -> dict[int, int]:
    """Copy the rows of an agent, each with its check; return the check after each row."""
    checks = {0: first_check(number)}
    for row in source.execute(_ROWS_1, (number,)):
        checks[row[0]] = checked(checks[row[0] - 1], tuple(row))
        target.execute(INSERT_ROW, (number, *row, checks[row[0]]))
    return checks


def _snapshots_from_1(
    source: sqlite3.Connection, target: sqlite3.Connection, core: Core, checks: dict[int, int]
) -> None:
    query = "SELECT seq, step, at, more, state FROM snapshots WHERE agent = ? ORDER BY seq"
    for place, (seq, step, at, text, state) in enumerate(source.execute(query, (core.number,))):
        more = {**json.loads(text), "check": checks[seq], "gauge": None}
        core.restore(seq, more, state)  # a damaged one is refused
        row = Snapshot(core.number, seq, place, step, at, json.dumps(more), state, "")
        target.execute(INSERT_SNAPSHOT, (*row[:-1], digest(*row[:-1])))
