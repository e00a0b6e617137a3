"""Checking a store: every seal, every row, every snapshot, and that each agent can be recovered."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.durable.database import FILE, connect_to_read
from everlearn.durable.entry import Entry, checked, first_check
from everlearn.durable.reader import Enrolled, Reader, Snapshot
from everlearn.durable.reopening import stored_setup
from everlearn.durable.schema import COLUMNS, READABLE, SCHEMA, version
from everlearn.durable.wal import inspect
from everlearn.errors import EverlearnError, Held, LiveError
from everlearn.locks import working

UNREADABLE = (sqlite3.Error, UnicodeDecodeError, TypeError, ValueError, KeyError, OverflowError)
"""What reading a damaged row may raise."""

WITHOUT = "without rows up to, agent "
"""Under this key and its number ``meta`` says of an agent that a repair could save none of its rows up to one."""

LISTED = 100
"""How many findings of one kind are listed."""


class Finding(NamedTuple):
    """One thing that is not as it was written: where, and what."""

    file: str
    table: str | None
    agent: str | None
    row: int | None
    what: str

    def __str__(self) -> str:
        parts = [self.file, self.table and f"table {self.table}", self.agent and f"agent {self.agent}"]
        parts += [None if self.row is None else f"row {self.row}", self.what]
        return ": ".join(part for part in parts if part)


class Report(NamedTuple):
    """What a check found."""

    directory: str
    in_use: bool
    """Whether another process holds the directory; its write-ahead log is then not looked at."""
    findings: list[Finding]
    agents: list[dict[str, Any]]

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        found = [finding._asdict() for finding in self.findings]
        return {**self._asdict(), "sound": self.sound, "findings": found}


def check(directory: str | os.PathLike[str]) -> Report:
    """Check a directory; another process may hold it.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station", seed=1) as agent:
    ...     _ = agent.act(), agent.observe("arrival")
    >>> report = check(directory)
    >>> report.sound, report.agents
    (True, [{'name': 'agent', 'step': 1, 'rows': 1, 'snapshots': 1}])

    """
    place = Path(directory)
    if not (place / FILE).is_file():
        raise LiveError(f"{place / FILE}: there is no such file")
    with ExitStack() as held:
        try:
            held.enter_context(working(place))
        except Held:
            return check_file(place / FILE, in_use=True)
        return check_file(place / FILE)


def check_file(path: Path, in_use: bool = False) -> Report:
    """Check one file, which may also be a backup."""
    findings = [] if in_use else list(_log(path))
    agents: list[dict[str, Any]] = []
    connection = connect_to_read(path)
    try:
        findings += _structure(connection, path)
        for enrolled in _enrolled(connection, path, findings):
            agents.append(_agent(connection, path, enrolled, findings))  # noqa: PERF401 - what comes before an error counts
    except UNREADABLE as error:
        findings.append(Finding(path.name, None, None, None, f"cannot be read ({error})"))
    finally:
        connection.close()
    return Report(str(path.parent), in_use, findings, agents)


def _log(path: Path) -> Iterator[Finding]:
    found = inspect(path)
    if found is not None and found.lost:
        yield Finding(f"{path.name}-wal", None, None, found.frames + 1, f"{found.lost} commits from here on are lost")
    if found is not None and found.missing:
        yield Finding(f"{path.name}-wal", None, None, None, f"{found.missing} frames at its end are missing")


def _structure(connection: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({LISTED})").fetchall():
        if line != "ok":
            yield Finding(path.name, None, None, None, " ".join(str(line).split()))
    found = version(connection)
    if found not in READABLE:
        yield Finding(path.name, "meta", None, None, f"schema version {found}, and {SCHEMA} is read")


def _enrolled(connection: sqlite3.Connection, path: Path, findings: list[Finding]) -> list[Enrolled]:
    listed = []
    for row in connection.execute("SELECT * FROM agents ORDER BY id").fetchall():
        found = Enrolled(*row)
        if found.whole:
            listed.append(found)
        else:
            findings.append(Finding(path.name, "agents", str(found.name), found.number, "is damaged"))
    return listed


def _agent(connection: sqlite3.Connection, path: Path, enrolled: Enrolled, findings: list[Finding]) -> dict[str, Any]:
    found: list[Finding] = []
    checks: dict[int, int] = {0: first_check(enrolled.number)}
    snapshots = _snapshots(connection, path, enrolled, checks, found)
    rows, last = _rows(connection, path, enrolled, checks, found)
    without = connection.execute("SELECT value FROM meta WHERE key = ?", (f"{WITHOUT}{enrolled.number}",)).fetchone()
    last = max(last, int(without[0]) if without else 0)
    if snapshots and max(checks) > last:
        what = f"rows {last + 1} to {max(checks)} are missing"
        found.append(Finding(path.name, "journal", enrolled.name, last + 1, what))
    step = _step(connection, path, enrolled, found)
    findings += found[:LISTED]
    return {"name": enrolled.name, "step": step, "rows": rows, "snapshots": snapshots}


def _step(connection: sqlite3.Connection, path: Path, enrolled: Enrolled, found: list[Finding]) -> int:
    """Return how far an agent comes when it is recovered; one that needs the user's design is taken at its word."""
    if stored_setup(enrolled.setup, enrolled.face).has_own_design:
        query = "SELECT step FROM journal WHERE agent = ? ORDER BY seq DESC LIMIT 1"
        row = connection.execute(query, (enrolled.number,)).fetchone()
        return int(row[0]) if row else 0
    try:
        with _Opened(connection, path) as reader:
            return int(reader.look(enrolled.name).step)
    except EverlearnError as error:
        found.append(Finding(path.name, None, enrolled.name, None, f"cannot be recovered ({error})"))
        return 0


class _Opened(Reader):
    """A reader on a connection that is there already."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection, self.path, self.directory = connection, path, path.parent

    def close(self) -> None:
        """Leave it to who opened it."""


def _snapshots(
    connection: sqlite3.Connection, path: Path, agent: Enrolled, checks: dict[int, int], found: list[Finding]
) -> int:
    """Check the snapshots of an agent; enter into ``checks`` what the check of the journal is after each."""
    listed = connection.execute("SELECT seq FROM snapshots WHERE agent = ? ORDER BY seq", (agent.number,)).fetchall()
    for (seq,) in listed:
        try:
            query = "SELECT * FROM snapshots WHERE agent = ? AND seq = ?"
            snapshot = Snapshot(*connection.execute(query, (agent.number, seq)).fetchone())
            what = None if snapshot.whole else "is damaged"
            if snapshot.whole:
                checks[seq] = json.loads(snapshot.more)["check"]
        except UNREADABLE as error:
            what = f"cannot be read ({error})"
        if what:
            found.append(Finding(path.name, "snapshots", agent.name, seq, what))
    return len(listed)


def _rows(
    connection: sqlite3.Connection, path: Path, agent: Enrolled, checks: dict[int, int], found: list[Finding]
) -> tuple[int, int]:
    """Check the rows of a journal; return how many there are, and the number of the last."""
    count, last, check = 0, 0, None
    try:
        query = f"SELECT {COLUMNS} FROM journal WHERE agent = ? ORDER BY seq"  # noqa: S608 - no input in it
        for row in connection.execute(query, (agent.number,)):
            entry = Entry(*row)
            if count and entry.seq != last + 1:
                found.append(Finding(path.name, "journal", agent.name, last + 1, f"is missing, up to {entry.seq - 1}"))
                check = None
            before = checks.get(entry.seq - 1, check)
            if before is not None and entry.check != checked(before, entry[:-1]):
                found.append(Finding(path.name, "journal", agent.name, entry.seq, "is damaged"))
            count, last, check = count + 1, entry.seq, entry.check
    except UNREADABLE as error:
        found.append(Finding(path.name, "journal", agent.name, last + 1, f"cannot be read ({error})"))
    return count, last
