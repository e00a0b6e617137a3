"""The repair of a damaged store: a new file is made from what is undamaged, and the damaged file is kept.

An agent that is undamaged is copied as it is.  Of any other, its newest undamaged snapshot is saved, and the rows that
continue from it without a gap and with the right checks.  An agent that cannot be run here, since its design was given
as an object or its setup fails, learns from these when it is next opened.  The new file is checked before it replaces
the damaged one.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.durable import database, heads, notes, records
from everlearn.durable.checking import check_file, is_sound
from everlearn.durable.core import Core
from everlearn.durable.declaration import FUNCTION
from everlearn.durable.entry import Entry, Kind, first_check
from everlearn.durable.fingerprint import FACE
from everlearn.durable.records import UNREADABLE, AgentRecord, SnapshotRecord, is_whole
from everlearn.errors import Corrupt, LiveError
from everlearn.files import expanded
from everlearn.locks import working

PAGE = 4096


def repair(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Make a sound store from what is undamaged, and return what was saved and what was lost.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station") as agent:
    ...     _ = agent.act(), agent.observe("arrival")
    >>> path = Path(directory) / "everlearn.db"
    >>> data = bytearray(path.read_bytes())
    >>> data[:16] = bytes(16)
    >>> _ = path.write_bytes(data)
    >>> repair(directory)["agents"]
    [{'name': 'agent', 'step': 1, 'rows': 1, 'unsaved_rows': 0, 'lost_rows': 0}]

    """
    place = expanded(directory)
    saved: list[dict[str, Any]] = []
    lost: list[str] = []
    with database.errors(place / database.FILE), working(place, patience=database.PATIENCE):
        database.put_in_place(place)
        with _readable(place / database.FILE) as source, database.new_file(place, _refuse_unsound) as target:
            target.execute("BEGIN")
            for record in _agent_records(source):
                try:
                    rescued = _rescue(source, record)
                except Exception:
                    lost.append(str(record.name))
                else:
                    saved.append(_write(target, rescued))
            damaged_notes = _write_notes(source, target)
            target.execute("COMMIT")
        before = database.put_in_place(place)
    return {"agents": saved, "lost_agents": lost, "damaged_notes": damaged_notes, "damaged_file": str(before)}


def _write_notes(source: sqlite3.Connection, target: sqlite3.Connection) -> list[str]:
    """Copy the notes about agents that come and go; return the keys of those that are damaged.

    An agent whose note says that it is leaving may belong to another store already.  So it stays unused, whatever is
    left of the note, until an operator cancels the move.  If it is lost by which moves an agent came, no move of it is
    taken or refused: its former store would serve it again if a move were refused by which it came.
    """
    scanned, unreadable = notes.scan(source)
    for note in scanned:
        if note.kind:
            lost_note = notes.LOST_ARRIVALS if note.kind == notes.ARRIVALS else notes.LOST
            notes.write(target.execute, note.kind, note.name, note.document or lost_note)
    lost = [note.key for note in scanned if note.document is None]
    return lost if unreadable is None else [*lost, "those that cannot be read"]


def _refuse_unsound(path: Path) -> None:
    report = check_file(path)
    if not report.sound:
        raise LiveError(f"what was saved is not sound ({report.findings[0]}); nothing was changed", path)


@contextmanager
def _readable(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a damaged file without changing it; or a copy with a new first page, if more can be read of that.

    The first page declares the tables and says where they lie.  One flipped bit there can make every row unreadable.
    """
    work = path.with_name(f"{database.NEW}.work")
    with ExitStack() as opened:
        connection = opened.enter_context(database.viewed(path))
        if not _is_declared(connection):
            opened.callback(database.remove, work)
            _copy_with_first_page(path, work)
            copy = opened.enter_context(closing(database.connect_to_read(work)))
            connection = max(copy, connection, key=_undamaged_records)
        yield connection


def _is_declared(connection: sqlite3.Connection) -> bool:
    """Return whether the tables are declared as they are in a new store."""
    try:
        with closing(sqlite3.connect(":memory:")) as fresh:
            database.create_tables(fresh)
            return database.shape(connection) == database.shape(fresh)
    except UNREADABLE:
        return False


def _undamaged_records(source: sqlite3.Connection) -> tuple[int, int]:
    """Return how many agents can be read, and how many of their rows and snapshots are undamaged."""
    try:
        agents = _agent_records(source)
        scanned = [
            scan(source, agent.number) for agent in agents for scan in (records.scan_rows, records.scan_snapshots)
        ]
        return len(agents), sum(each.row is not None and each.damage is None for part in scanned for each in part)
    except UNREADABLE:
        return 0, 0


def _copy_with_first_page(path: Path, work: Path) -> None:
    """Copy a database and its log, with the first page of a new database: tables always lie in the same places."""
    database.remove(work)
    with closing(database.connect(work)) as fresh:
        database.create_tables(fresh)
        fresh.execute("PRAGMA journal_mode = DELETE")
    first = bytearray(work.read_bytes()[:PAGE])
    database.copy(path, work)
    log = path.with_name(path.name + "-wal")
    if log.exists():
        shutil.copyfile(log, work.with_name(work.name + "-wal"))
    pages = max(work.stat().st_size // PAGE, 1)
    first[28:32] = pages.to_bytes(4, "big")
    first[32:40] = bytes(8)  # no free pages are known
    first[18:20] = b"\x02\x02" if log.exists() else b"\x01\x01"  # with a log, or without
    with work.open("rb+") as file:
        file.write(first)


def _agent_records(source: sqlite3.Connection) -> list[AgentRecord]:
    agents = []
    for (number,) in records.read_rows(source, "SELECT id FROM agents ORDER BY id")[0]:
        rows, _ = records.read_rows(source, "SELECT * FROM agents WHERE id = ?", number)
        if not rows:  # a fingerprint is long, and lies behind the setup, which may still be read
            query = "SELECT id, name, setup, NULL, 0.0, '' FROM agents WHERE id = ?"
            rows, _ = records.read_rows(source, query, number)
        agents += [AgentRecord(*row) for row in rows]
    return agents


class Rescued(NamedTuple):
    """What is undamaged of an agent."""

    record: AgentRecord
    seq: int  # the number of the last row that it has learned from
    step: int
    rows: list[Entry]
    snapshots: list[SnapshotRecord]  # those to write
    unsaved_rows: int  # rows that it has learned from, and that are not among ``rows``
    lost_rows: int


def _rescue(source: sqlite3.Connection, record: AgentRecord) -> Rescued:
    scanned = records.scan_snapshots(source, record.number)
    snapshots = [snapshot.row for snapshot in scanned if snapshot.row is not None and snapshot.damage is None]
    if is_sound(source, record):
        rows = [row.row for row in records.scan_rows(source, record.number) if row.row is not None]
        ends = [(snapshot.seq, snapshot.step) for snapshot in snapshots] + [(row.seq, row.step) for row in rows[-1:]]
        return Rescued(record, *max([(0, 0), *ends]), rows, snapshots, 0, 0)
    trusted = _trusted(record)
    seq, step, kept = _resumed(source, snapshots, record, trusted)
    if trusted.face is not None and (trusted.changed or 0) > seq:  # the change is lost
        trusted = trusted._replace(face=json.dumps({**json.loads(trusted.face), "changed": None}))
    lost_rows = max(_last_known(source, record.number) - seq, 0)
    rows = _rows_up_to(source, seq, snapshots, record)
    saved_from = rows[0].seq if rows else seq + 1
    unsaved_rows = max(saved_from - _first_known(source, record.number), 0)
    return Rescued(trusted.sealed(), seq, step, rows, kept, unsaved_rows, lost_rows)


def _first_known(source: sqlite3.Connection, agent: int) -> int:
    """Return the number of the first row that can be read; earlier ones may have been deleted, or lost before."""
    rows, _ = records.read_rows(source, "SELECT seq FROM journal WHERE agent = ? ORDER BY seq LIMIT 1", agent)
    if rows and isinstance(rows[0][0], int):
        return rows[0][0]
    try:
        return heads.last_unsaved(source, agent) + 1
    except UNREADABLE:
        return 1


def _last_known(source: sqlite3.Connection, agent: int) -> int:
    """Return the number of the last row of which anything is known."""
    query = "SELECT seq FROM journal WHERE agent = ? AND typeof(seq) = 'integer' ORDER BY seq DESC LIMIT 1"
    rows, _ = records.read_rows(source, query, agent)
    try:
        head = heads.read(source, agent) or 0
    except UNREADABLE:
        head = 0
    return max(rows[0][0] if rows else 0, head)


def _resumed(
    source: sqlite3.Connection, snapshots: list[SnapshotRecord], record: AgentRecord, trusted: AgentRecord
) -> tuple[int, int, list[SnapshotRecord]]:
    """Return the last row and the step to which an agent can be resumed, and the snapshots to keep."""
    try:
        setup = trusted.stored_setup()
        if setup.has_own_design:
            return *_reached(source, snapshots, record), snapshots
        core = Core(setup, record.number)
        _recover(source, core, snapshots, record)
    except Exception:
        if not is_whole(record):
            raise
        return *_reached(source, snapshots, record), snapshots  # it cannot be run, which is no damage
    number = max((snapshot.number for snapshot in snapshots), default=-1) + 1
    earlier = [snapshot for snapshot in snapshots if snapshot.seq < core.seq]
    return core.seq, core.step, [*earlier, SnapshotRecord.taken(core.number, number, core.snapshot())]


def _write(target: sqlite3.Connection, rescued: Rescued) -> dict[str, Any]:
    record, seq, step, rows, snapshots, unsaved_rows, lost_rows = rescued
    target.execute(database.INSERT_AGENT, record)
    target.executemany(database.INSERT_ROW, ((record.number, *entry) for entry in rows))
    heads.write(target, {record.number: seq})
    if not rows and seq:
        target.execute("INSERT INTO meta VALUES (?, ?)", (f"{heads.WITHOUT}{record.number}", str(seq)))
    for snapshot in snapshots:
        target.execute(database.INSERT_SNAPSHOT, snapshot)
    counts = {"rows": len(rows), "unsaved_rows": unsaved_rows, "lost_rows": lost_rows}
    return {"name": record.name, "step": step, **counts}


def _trusted(record: AgentRecord) -> AgentRecord:
    """Return the record of an agent; if it is damaged, the part of it that a snapshot can vouch for.

    That is its setup and, if objects are not given, the labels and the range of its task.  The rest of its fingerprint
    is recorded again when it is next opened.
    """
    if is_whole(record):
        return record
    if FUNCTION not in json.loads(record.setup).values():
        return record._replace(face=None)
    face = json.loads(record.face or "")
    return record._replace(face=json.dumps({key: face[key] for key in FACE}))


def _recover(source: sqlite3.Connection, core: Core, snapshots: list[SnapshotRecord], record: AgentRecord) -> None:
    """Let an agent resume from its newest snapshot, or from the last change after it, and learn from the rows since.

    If the row of a change is lost, the rows before it were written with a setup that is no longer stored: the agent
    then learns from them with the present one.
    """
    rows = _rows_since(source, snapshots, record)
    if rows and rows[0].kind == Kind.CHANGE:
        core.restore(rows[0].accepted.checkpoint)
    elif snapshots:
        core.exact = not is_whole(record) or snapshots[0].seq >= (record.changed or 0)
        core.restore(snapshots[0].checkpoint, core.exact)
    elif not is_whole(record):
        raise LiveError("neither its setup nor a snapshot can be trusted")
    for entry in rows:
        core.apply(entry)
    core.exact = True


def _reached(source: sqlite3.Connection, snapshots: list[SnapshotRecord], record: AgentRecord) -> tuple[int, int]:
    """Return the last row and the step to which the user's own design, which is not here, can resume an agent."""
    if not is_whole(record):
        raise LiveError("its setup cannot be trusted, and it cannot be run here to compare it with a snapshot")
    ends = [(entry.seq, entry.step) for entry in _rows_since(source, snapshots, record)[-1:]]
    return max([(0, 0), *((snapshot.seq, snapshot.step) for snapshot in snapshots[:1]), *ends])


def _rows_since(source: sqlite3.Connection, snapshots: list[SnapshotRecord], record: AgentRecord) -> list[Entry]:
    """Return the undamaged rows that follow the newest snapshot, or those from the last change on, if that is later.

    The row of a change holds the agent before it, and rows before it were written with another setup.
    """
    newest = _base(snapshots[0]) if snapshots else (0, first_check(record.number))
    rows = _undamaged(source, record.number, *newest)
    change = max((place for place, entry in enumerate(rows) if entry.kind == Kind.CHANGE), default=-1)
    if change >= 0:
        return rows[change:]
    change_base = _base_of_change(source, record)
    if change_base is None or change_base[0] < newest[0]:
        return rows
    return _undamaged(source, record.number, *change_base) or rows


def _rows_up_to(
    source: sqlite3.Connection, seq: int, snapshots: list[SnapshotRecord], record: AgentRecord
) -> list[Entry]:
    """Return the longest sequence of undamaged rows that ends with row ``seq``."""
    change = _base_of_change(source, record)
    bases = [(0, first_check(record.number)), *map(_base, snapshots), *([] if change is None else [change])]
    for base in sorted(bases):
        rows = _undamaged(source, record.number, *base)
        if rows and rows[-1].seq == seq:
            return rows
    return []


def _base(snapshot: SnapshotRecord) -> tuple[int, int]:
    """Return the number and the check of the last row before a snapshot."""
    return snapshot.seq, snapshot.checkpoint.more["check"]


def _base_of_change(source: sqlite3.Connection, record: AgentRecord) -> tuple[int, int] | None:
    """Return the number and the check of the row before the last change, if the row of the change can be read."""
    changed = record.changed if is_whole(record) else None
    entry = _row_after(source, record.number, changed - 1) if changed else None
    if entry is None or (entry.seq, entry.kind) != (changed, Kind.CHANGE):
        return None
    try:
        return entry.seq - 1, int(entry.accepted.checkpoint.more["check"])
    except (Corrupt, *UNREADABLE):
        return None


def _row_after(source: sqlite3.Connection, agent: int, after: int) -> Entry | None:
    return next((scanned.row for scanned in records.scan_rows(source, agent, after)), None)


def _undamaged(source: sqlite3.Connection, agent: int, after: int, check: int) -> list[Entry]:
    """Return the rows after row ``after``, whose check is ``check``, up to the first damage."""
    rows = []
    for scanned in records.scan_rows(source, agent, after, {after: check}):
        if scanned.row is None or scanned.damage is not None:
            break
        rows.append(scanned.row)
    return rows
