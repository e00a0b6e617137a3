"""The check of a store: every seal, every row, every snapshot, and whether each agent can be recovered."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.durable.database import FILE, READABLE, SCHEMA, connect_to_read, read_version
from everlearn.durable.entry import first_check
from everlearn.durable.reader import Reader
from everlearn.durable.records import UNREADABLE, AgentRecord, is_whole, read_rows, scan_rows, scan_snapshots
from everlearn.durable.wal import inspect
from everlearn.errors import EverlearnError, Held, LiveError
from everlearn.locks import working

WITHOUT = "without rows up to, agent "
"""With the number of an agent, the key in ``meta`` for the last of its rows that a repair could not save."""

MOST_LISTED = 100
"""How much damage of one kind is listed."""


class Damage(NamedTuple):
    """Something that is not as it was written: where, and what."""

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
    """The result of a check."""

    directory: str
    in_use: bool
    """Whether another process holds the directory; its write-ahead log is then not checked."""
    findings: list[Damage]
    agents: list[dict[str, Any]]

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON document."""
        return {**self._asdict(), "sound": self.sound, "findings": [damage._asdict() for damage in self.findings]}


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
    with closing(connect_to_read(path)) as connection:
        checker = _Checker(path, connection)
        if not in_use:
            checker.check_log()
        try:
            checker.check_structure()
            checker.check_agents()
        except UNREADABLE as error:
            checker.note(f"cannot be read ({error})")
    return Report(str(path.parent), in_use, checker.findings, checker.agents)


class _Checker:
    """A check of a file, and what it has found so far."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection
        self.findings: list[Damage] = []
        self.agents: list[dict[str, Any]] = []

    def note(self, what: str, table: str | None = None, agent: str | None = None, row: int | None = None) -> None:
        self.findings.append(Damage(self.path.name, table, agent, row, what))

    def check_log(self) -> None:
        log, file = inspect(self.path), f"{self.path.name}-wal"
        if log is not None and log.lost:
            what = f"{log.lost} commits from here on are lost"
            self.findings.append(Damage(file, None, None, log.frames + 1, what))
        if log is not None and log.missing:
            self.findings.append(Damage(file, None, None, None, f"{log.missing} frames at its end are missing"))

    def check_structure(self) -> None:
        for (line,) in self.connection.execute(f"PRAGMA integrity_check({MOST_LISTED})").fetchall():
            if line != "ok":
                self.note(" ".join(str(line).split()))
        version = read_version(self.connection)
        if version not in READABLE:
            self.note(f"schema version {version}, this everlearn reads {SCHEMA}", "meta")

    def check_agents(self) -> None:
        """Check each agent, whatever is found at others."""
        rows, unreadable = read_rows(self.connection, "SELECT * FROM agents ORDER BY id")
        for record in (AgentRecord(*row) for row in rows):
            try:
                self.check_agent(record)
            except (EverlearnError, *UNREADABLE) as error:
                self.note(f"cannot be read ({error})", agent=str(record.name))
        if unreadable is not None:
            self.note(f"cannot be read ({unreadable})", "agents")

    def check_agent(self, record: AgentRecord) -> None:
        if not is_whole(record):
            self.note("is damaged", "agents", str(record.name), record.number)
            return
        before = len(self.findings)
        checks: dict[int, int] = {0: first_check(record.number)}
        rows = snapshots = last = 0
        for snapshot in scan_snapshots(self.connection, record.number):
            snapshots += 1
            if snapshot.damage is not None:
                self.note(snapshot.damage, "snapshots", record.name, snapshot.seq)
            elif snapshot.row is not None:
                checks[snapshot.row.seq] = snapshot.row.checkpoint.more["check"]
        for scanned in scan_rows(self.connection, record.number, checks=checks):
            if scanned.damage is not None:
                self.note(scanned.damage, "journal", record.name, scanned.seq)
            if scanned.row is not None:
                rows, last = rows + 1, scanned.row.seq
        query, key = "SELECT value FROM meta WHERE key = ?", f"{WITHOUT}{record.number}"
        unsaved = self.connection.execute(query, (key,)).fetchone()
        last = max(last, int(unsaved[0]) if unsaved else 0)
        if snapshots and max(checks) > last:
            self.note(f"rows {last + 1} to {max(checks)} are missing", "journal", record.name, last + 1)
        step = self._recoverable_step(record)
        del self.findings[before + MOST_LISTED :]
        self.agents.append({"name": record.name, "step": step, "rows": rows, "snapshots": snapshots})

    def _recoverable_step(self, record: AgentRecord) -> int:
        """Return the step that an agent recovers to; if it needs the user's design, the step of its last row."""
        if record.stored_setup().has_own_design:
            query = "SELECT step FROM journal WHERE agent = ? ORDER BY seq DESC LIMIT 1"
            row = self.connection.execute(query, (record.number,)).fetchone()
            return int(row[0]) if row else 0
        try:
            return Reader.on(self.connection, self.path).look(record.name).step
        except (EverlearnError, *UNREADABLE) as error:
            self.note(f"cannot be recovered ({error})", agent=record.name)
            return 0
