"""The check of a store: every seal, every row, every snapshot, and whether each agent can be recovered.

There are three verdicts on an agent.  It is *sound* if everything is as it was written and the agent can be recovered,
and *damaged* if something is not as it was written.  It is *unknown* if everything is as it was written, but the agent
cannot be recovered here: its design was given as an object, or its setup cannot be run.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.durable import database, heads, notes
from everlearn.durable.entry import first_check
from everlearn.durable.layout import require_agents, shards_of, stores_of
from everlearn.durable.reader import Reader
from everlearn.durable.records import UNREADABLE, AgentRecord, is_whole, read_rows, scan_rows, scan_snapshots
from everlearn.durable.wal import inspect
from everlearn.errors import EverlearnError, Held
from everlearn.files import expanded
from everlearn.locks import working

SOUND, DAMAGED, UNKNOWN = "sound", "damaged", "unknown"
"""The verdicts on an agent."""

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
    warnings: list[Damage]
    """What may be damage, and may as well be what a power cut leaves."""
    agents: list[dict[str, Any]]
    """Name, step, number of rows and of snapshots, verdict, and the reason if the verdict is ``unknown``."""

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON document."""
        lists = {name: [damage._asdict() for damage in getattr(self, name)] for name in ("findings", "warnings")}
        return {**self._asdict(), "sound": self.sound, **lists}


def check(directory: str | os.PathLike[str]) -> Report:
    """Check a directory, and all its shards if it has some; another process may hold it.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station", seed=1) as agent:
    ...     _ = agent.act(), agent.observe("arrival")
    >>> report = check(directory)
    >>> report.sound, report.agents[0]["step"], report.agents[0]["verdict"]
    (True, 1, 'sound')

    """
    place = expanded(directory)
    path = place / database.FILE
    with ExitStack() as held, database.errors(path):
        if not path.is_file():
            if shards_of(place):
                return _joined(place, [check(shard) for shard in stores_of(place)])
            require_agents(directory)
        try:
            held.enter_context(working(place, patience=database.PATIENCE))
        except Held:
            return _report(path, held.enter_context(closing(database.connect_to_read(path))), in_use=True, replay=True)
        return _report(path, held.enter_context(database.viewed(path)), in_use=False, replay=True)


def _joined(place: Path, reports: list[Report]) -> Report:
    """Return one report of all shards, in which the files have the names of their shards."""
    lists: dict[str, list[Damage]] = {"findings": [], "warnings": []}
    for report in reports:
        for name, joined in lists.items():
            shard = Path(report.directory).name
            joined += [damage._replace(file=f"{shard}/{damage.file}") for damage in getattr(report, name)]
    in_use = any(report.in_use for report in reports)
    return Report(str(place), in_use, **lists, agents=[agent for report in reports for agent in report.agents])


def check_file(path: Path) -> Report:
    """Check one file that is not in use, such as a backup, without recovering its agents."""
    with closing(database.connect_to_read(path)) as connection:
        return _report(path, connection, in_use=False, replay=False)


def is_sound(connection: sqlite3.Connection, record: AgentRecord) -> bool:
    """Return whether an agent is as it was written."""
    checker = Checker(Path(database.FILE), connection, replay=False)
    try:
        checker.check_agent(record)
    except (EverlearnError, *UNREADABLE):  # a table that tells of all agents cannot be read
        return False
    return not checker.findings


def _report(path: Path, connection: sqlite3.Connection, in_use: bool, replay: bool) -> Report:
    checker = Checker(path, connection, replay)
    if not in_use:
        checker.check_log()
    connection.execute("BEGIN")  # everything is read as of one moment, though another process may be writing
    try:
        checker.check_structure()
        checker.check_notes()
        checker.check_agents()
    except UNREADABLE as error:
        checker.note(f"cannot be read ({_line(error)})")
    return Report(str(path.parent), in_use, checker.findings, checker.warnings, checker.agents)


def _line(error: Exception) -> str:
    text = str(error) if isinstance(error, EverlearnError | sqlite3.Error) else repr(error)
    return " ".join(text.split())[:200]


class Checker:
    """A check of a file, and what it has found so far."""

    def __init__(self, path: Path, connection: sqlite3.Connection, replay: bool) -> None:
        self.path, self.connection, self.replay = path, connection, replay
        self.findings: list[Damage] = []
        self.warnings: list[Damage] = []
        self.agents: list[dict[str, Any]] = []

    def note(self, what: str, table: str | None = None, agent: str | None = None, row: int | None = None) -> None:
        """Add a finding."""
        self.findings.append(Damage(self.path.name, table, agent, row, what))

    def check_log(self) -> None:
        """Check the write-ahead log."""
        log, file = inspect(self.path), f"{self.path.name}-wal"
        if log is not None and log.damage:
            self.findings.append(Damage(file, None, None, None, log.damage))
        if log is not None and log.warning:
            self.warnings.append(Damage(file, None, None, None, log.warning))

    def check_structure(self) -> None:
        """Check the pages of the file, and the declarations of its tables."""
        for (line,) in self.connection.execute(f"PRAGMA integrity_check({MOST_LISTED})").fetchall():
            if line != "ok":
                self.note(" ".join(str(line).split()))
        version = database.read_version(self.connection)
        if version not in database.READABLE:
            self.note(f"schema version {version}, this everlearn reads {database.SCHEMA}", "meta")
        elif version >= heads.SINCE and database.read_meta(self.connection, "shape") != database.shape(self.connection):
            self.note("the declaration of a table is damaged")

    def check_notes(self) -> None:
        """Check the notes about agents that come and go."""
        every_note, unreadable = notes.scan(self.connection)
        for note in [note for note in every_note if not note.whole][:MOST_LISTED]:
            self.note(f"the row {note.key!r} is damaged", "meta", note.name or None)
        if unreadable is not None:
            self.note(f"cannot be read ({_line(unreadable)})", "meta")

    def check_agents(self) -> None:
        """Check each agent, whatever is found at others."""
        rows, unreadable = read_rows(self.connection, "SELECT * FROM agents NOT INDEXED ORDER BY id")
        for record in (AgentRecord(*row) for row in rows):
            before = len(self.findings)
            try:
                size = self.check_agent(record)
            except (EverlearnError, *UNREADABLE) as error:
                self.note(f"cannot be read ({_line(error)})", agent=str(record.name))
                size = {"step": 0, "rows": 0, "snapshots": 0}
            damaged, reason = len(self.findings) > before, None
            if not damaged and self.replay:
                reason = self._why_unknown(record)
            verdict = DAMAGED if damaged else SOUND if reason is None else UNKNOWN
            self.agents.append({"name": str(record.name), **size, "verdict": verdict, "reason": reason})
            del self.findings[before + MOST_LISTED :]
        if unreadable is not None:
            self.note(f"cannot be read ({_line(unreadable)})", "agents")
        if not heads.Roster.of(self.connection, database.read_version(self.connection) or 0).agrees:
            self.note("the table, its index and the heads have different agents", "agents")

    def check_agent(self, record: AgentRecord) -> dict[str, int]:
        """Check everything that is recorded of an agent; return its step, and how much there is."""
        if not is_whole(record):
            self.note("is damaged", "agents", str(record.name), record.number)
            return {"step": 0, "rows": 0, "snapshots": 0}
        checks: dict[int, int] = {0: first_check(record.number)}
        rows = snapshots = last = step = 0
        for snapshot in scan_snapshots(self.connection, record.number):
            snapshots += 1
            if snapshot.damage is not None:
                self.note(snapshot.damage, "snapshots", record.name, snapshot.seq)
            elif snapshot.row is not None:
                checks[snapshot.row.seq] = snapshot.row.checkpoint.more["check"]
                step = max(step, snapshot.row.step)
        for scanned in scan_rows(self.connection, record.number, checks=checks):
            if scanned.damage is not None:
                self.note(scanned.damage, "journal", record.name, scanned.seq)
            if scanned.row is not None:
                rows, last = rows + 1, scanned.row.seq
                step = max(step, scanned.row.step)
        self._check_end(record, last, max(checks) if snapshots else 0)
        return {"step": step, "rows": rows, "snapshots": snapshots}

    def _check_end(self, record: AgentRecord, last: int, known: int) -> None:
        """Check that the journal of an agent reaches as far as a snapshot or its head knows."""
        last = max(last, heads.last_unsaved(self.connection, record.number))
        if (database.read_version(self.connection) or 0) >= heads.SINCE:
            head = heads.read(self.connection, record.number)
            if head is None:
                self.note("is damaged", "heads", record.name)
            known = max(known, head or 0)
        if known > last:
            self.note(f"rows {last + 1} to {known} are missing", "journal", record.name, last + 1)

    def _why_unknown(self, record: AgentRecord) -> str | None:
        """Return why an agent that is as it was written cannot be recovered here, if so."""
        try:
            if record.stored_setup().has_own_design:
                yours = "its design or schedule is yours or was given as an object"
                return f"{yours}, and check runs no code of yours; el.live(DIR, ...) does"
            failure = Reader.on(self.connection, self.path).look(record.name).failure
        except Exception as error:  # whatever an agent raises, the others are checked too
            return f"it cannot be run ({_line(error)})"
        return None if failure is None else f"it is quarantined ({_line(failure)})"
