"""The check of a store: every seal, every row, every snapshot, and whether each agent can be recovered."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.durable.database import FILE, READABLE, SCHEMA, connect_to_read, read_version
from everlearn.durable.entry import first_check
from everlearn.durable.reader import Reader
from everlearn.durable.records import UNREADABLE, AgentRecord, scan_rows, scan_snapshots
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
    findings = [] if in_use else [*_check_log(path)]
    agents: list[dict[str, Any]] = []
    connection = connect_to_read(path)
    try:
        findings += _check_structure(connection, path)
        for row in connection.execute("SELECT * FROM agents ORDER BY id").fetchall():
            record = AgentRecord(*row)
            if record.whole:
                agents.append(_check_agent(connection, path, record, findings))
            else:
                findings.append(Damage(path.name, "agents", str(record.name), record.number, "is damaged"))
    except UNREADABLE as error:
        findings.append(Damage(path.name, None, None, None, f"cannot be read ({error})"))
    finally:
        connection.close()
    return Report(str(path.parent), in_use, findings, agents)


def _check_log(path: Path) -> Iterator[Damage]:
    log = inspect(path)
    if log is not None and log.lost:
        yield Damage(f"{path.name}-wal", None, None, log.frames + 1, f"{log.lost} commits from here on are lost")
    if log is not None and log.missing:
        yield Damage(f"{path.name}-wal", None, None, None, f"{log.missing} frames at its end are missing")


def _check_structure(connection: sqlite3.Connection, path: Path) -> Iterator[Damage]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({MOST_LISTED})").fetchall():
        if line != "ok":
            yield Damage(path.name, None, None, None, " ".join(str(line).split()))
    version = read_version(connection)
    if version not in READABLE:
        yield Damage(path.name, "meta", None, None, f"schema version {version}, this everlearn reads {SCHEMA}")


def _check_agent(
    connection: sqlite3.Connection, path: Path, record: AgentRecord, findings: list[Damage]
) -> dict[str, Any]:
    damages: list[Damage] = []
    checks: dict[int, int] = {0: first_check(record.number)}
    rows = snapshots = last = 0
    for snapshot in scan_snapshots(connection, record.number):
        snapshots += 1
        if snapshot.damage is not None:
            damages.append(Damage(path.name, "snapshots", record.name, snapshot.seq, snapshot.damage))
        elif snapshot.record is not None:
            checks[snapshot.record.seq] = json.loads(snapshot.record.more)["check"]
    for row in scan_rows(connection, record.number, checks=checks):
        if row.damage is not None:
            damages.append(Damage(path.name, "journal", record.name, row.seq, row.damage))
        if row.entry is not None:
            rows, last = rows + 1, row.seq
    unsaved = connection.execute("SELECT value FROM meta WHERE key = ?", (f"{WITHOUT}{record.number}",)).fetchone()
    last = max(last, int(unsaved[0]) if unsaved else 0)
    if snapshots and max(checks) > last:
        what = f"rows {last + 1} to {max(checks)} are missing"
        damages.append(Damage(path.name, "journal", record.name, last + 1, what))
    step = _recoverable_step(connection, path, record, damages)
    findings += damages[:MOST_LISTED]
    return {"name": record.name, "step": step, "rows": rows, "snapshots": snapshots}


def _recoverable_step(connection: sqlite3.Connection, path: Path, record: AgentRecord, damages: list[Damage]) -> int:
    """Return the step that an agent recovers to; if it needs the user's design, the step of its last row."""
    if record.stored_setup().has_own_design:
        query = "SELECT step FROM journal WHERE agent = ? ORDER BY seq DESC LIMIT 1"
        row = connection.execute(query, (record.number,)).fetchone()
        return int(row[0]) if row else 0
    try:
        return Reader.on(connection, path).look(record.name).step
    except EverlearnError as error:
        damages.append(Damage(path.name, None, record.name, None, f"cannot be recovered ({error})"))
        return 0
