"""Saving what can be trusted of a damaged store: a new file is made of it, and the damaged one is kept beside it.

Of each agent that is: its newest snapshot that is whole, and the rows that follow on it without a gap and each with the
right check.  All that is kept is checked again before it takes the place of what was damaged.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from everlearn.durable.checking import UNREADABLE, WITHOUT, check_file
from everlearn.durable.core import Core
from everlearn.durable.database import FILE, NEW, connect, connect_to_read, put_in_place, remove, sync
from everlearn.durable.entry import CHANGE, Entry, checked, first_check
from everlearn.durable.making import FACE, FUNCTION
from everlearn.durable.reader import Enrolled, Snapshot
from everlearn.durable.reopening import stored_setup
from everlearn.durable.schema import COLUMNS, INSERT_AGENT, INSERT_ROW, INSERT_SNAPSHOT, begin, digest, version
from everlearn.errors import EverlearnError, LiveError
from everlearn.locks import working

PAGE = 4096


def repair(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Make a sound store of what can be trusted, and say what was kept and what was lost.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station") as agent:
    ...     _ = agent.act(), agent.observe("arrival")
    >>> path = Path(directory) / FILE
    >>> data = bytearray(path.read_bytes())
    >>> data[:16] = bytes(16)
    >>> _ = path.write_bytes(data)
    >>> repair(directory)["agents"]
    [{'name': 'agent', 'step': 1, 'rows': 1, 'lost_rows': 0}]

    """
    place = Path(directory)
    with working(place):
        put_in_place(place)
        path, made = place / FILE, place / f"{NEW}.part"
        remove(made)
        saved: list[dict[str, Any]] = []
        lost: list[str] = []
        with _readable(path) as source:
            target = connect(made)
            try:
                begin(target)
                target.execute("BEGIN")
                _save(source, target, saved, lost)
                target.execute("COMMIT")
            finally:
                target.close()
        _refuse_unsound(made)
        sync(made)
        made.replace(place / NEW)
        before = put_in_place(place)
    return {"agents": saved, "lost_agents": lost, "damaged_file": str(before)}


def _refuse_unsound(made: Path) -> None:
    report = check_file(made)
    if not report.sound:
        raise LiveError(f"{made}: what was saved is not sound ({report.findings[0]}); nothing was changed")


@contextmanager
def _readable(path: Path) -> Iterator[sqlite3.Connection]:
    """Open what is damaged; where its first page cannot be read, a copy with another first page."""
    connection = connect_to_read(path)
    work = path.with_name(f"{NEW}.work")
    try:
        if not _has_tables(connection):
            connection.close()
            _with_first_page(path, work)
            connection = connect_to_read(work)
        yield connection
    finally:
        connection.close()
        remove(work)


def _has_tables(connection: sqlite3.Connection) -> bool:
    try:
        if version(connection) == 1:
            raise LiveError("schema version 1: open it once to write, and it is brought up to date")
        for table in ("agents", "snapshots", "journal"):
            connection.execute(f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1)").fetchone()  # noqa: S608
    except UNREADABLE:
        return False
    return True


def _with_first_page(path: Path, work: Path) -> None:
    """Copy a database and its log, and give it the first page of a new one: tables always lie in the same places."""
    remove(work)
    fresh = connect(work)
    begin(fresh)
    fresh.execute("PRAGMA journal_mode = DELETE")
    fresh.close()
    first = bytearray(work.read_bytes()[:PAGE])
    shutil.copyfile(path, work)
    log = path.with_name(path.name + "-wal")
    if log.exists():
        shutil.copyfile(log, work.with_name(work.name + "-wal"))
    pages = max(work.stat().st_size // PAGE, 1)
    first[28:32] = pages.to_bytes(4, "big")
    first[32:40] = bytes(8)  # no free pages are known
    first[18:20] = b"\x02\x02" if log.exists() else b"\x01\x01"  # with a log, or without
    with work.open("rb+") as file:
        file.write(first)


def _save(source: sqlite3.Connection, target: sqlite3.Connection, saved: list[dict[str, Any]], lost: list[str]) -> None:
    for enrolled in _enrolled(source):
        try:
            snapshots, trusted = list(_snapshots(source, enrolled.number)), _trusted(enrolled)
            core = Core(stored_setup(trusted.setup, trusted.face), enrolled.number)
            core, rows = _recovered(source, core, snapshots, enrolled)
        except (EverlearnError, *UNREADABLE):
            lost.append(str(enrolled.name))
            continue
        kept = _until(trusted, core.seq)
        target.execute(INSERT_AGENT, (*kept[:-1], digest(*kept[:-1])))
        target.executemany(INSERT_ROW, ((core.number, *entry) for entry in rows))
        if not rows and core.seq:
            target.execute("INSERT INTO meta VALUES (?, ?)", (f"{WITHOUT}{core.number}", str(core.seq)))
        _put_snapshots(target, core, snapshots)
        known = _greatest(source, core.number)
        counted = {"name": enrolled.name, "step": core.step, "rows": len(rows), "lost_rows": max(known - core.seq, 0)}
        saved.append(counted)


def _trusted(enrolled: Enrolled) -> Enrolled:
    """Return what is written down of an agent; of a row that is damaged, what a snapshot can vouch for.

    That is its setup, and where objects are not given the labels and the range of its task.  The rest of its
    fingerprint is recorded anew when it is next opened.
    """
    if enrolled.whole:
        return enrolled
    if FUNCTION not in json.loads(enrolled.setup).values():
        return enrolled._replace(face=None)
    face = json.loads(enrolled.face or "")
    return enrolled._replace(face=json.dumps({key: face[key] for key in FACE}))


def _until(enrolled: Enrolled, seq: int) -> Enrolled:
    """Return what is written down of an agent of which rows up to one were saved: a change after that is lost."""
    if enrolled.face is None or (enrolled.changed or 0) <= seq:
        return enrolled
    return enrolled._replace(face=json.dumps({**json.loads(enrolled.face), "changed": None}))


def _enrolled(source: sqlite3.Connection) -> list[Enrolled]:
    found = []
    for (number,) in _all(source, "SELECT id FROM agents ORDER BY id"):
        rows = _all(source, "SELECT * FROM agents WHERE id = ?", number)
        # a fingerprint is long, and lies behind the setup: without it the setup may still be read
        rows = rows or _all(source, "SELECT id, name, setup, NULL, 0.0, '' FROM agents WHERE id = ?", number)
        found += [Enrolled(*row) for row in rows]
    return found


def _all(source: sqlite3.Connection, query: str, *values: Any) -> list[Any]:
    """Return the rows of a query as far as they can be read."""
    found = []
    try:
        for row in source.execute(query, values):
            found.append(row)  # noqa: PERF402 - what was read before an error counts
    except UNREADABLE:
        pass
    return found


def _snapshots(source: sqlite3.Connection, number: int) -> Iterator[Snapshot]:
    """Yield the snapshots that are whole, the newest first."""
    for (seq,) in reversed(_all(source, "SELECT seq FROM snapshots WHERE agent = ? ORDER BY seq", number)):
        for row in _all(source, "SELECT * FROM snapshots WHERE agent = ? AND seq = ?", number, seq):
            if Snapshot(*row).whole:
                yield Snapshot(*row)


def _recovered(
    source: sqlite3.Connection, core: Core, snapshots: list[Snapshot], enrolled: Enrolled
) -> tuple[Core, list[Entry]]:
    """Return an agent as far as it can be trusted, and the rows that lead there without a gap."""
    _bring_back(core, list(_after_newest(source, core.number, snapshots)), snapshots, enrolled)
    for begun in [0, *(snapshot.seq for snapshot in reversed(snapshots))]:
        check = next((json.loads(s.more)["check"] for s in snapshots if s.seq == begun), first_check(core.number))
        rows = list(_good(source, core.number, begun, check))
        if rows and rows[-1].seq == core.seq:
            return core, rows
    return core, []


def _after_newest(source: sqlite3.Connection, number: int, snapshots: list[Snapshot]) -> Iterator[Entry]:
    if not snapshots:
        return _good(source, number, 0, first_check(number))
    return _good(source, number, snapshots[0].seq, json.loads(snapshots[0].more)["check"])


def _bring_back(core: Core, rows: list[Entry], snapshots: list[Snapshot], enrolled: Enrolled) -> None:
    """Let an agent resume from its newest snapshot and learn from rows; from the last change, if that is among them.

    If the row of that change is lost, what comes before it was written with a setup that is not stored any more: the
    agent then learns from these rows with the present one.
    """
    change = max((place for place, entry in enumerate(rows) if entry.kind == CHANGE), default=-1)
    if change >= 0:  # its snapshot is lost; rows before it were written with another setup
        core.resume(rows[change])
    elif snapshots:
        core.exact = not enrolled.whole or snapshots[0].seq >= (enrolled.changed or 0)
        core.restore(snapshots[0].seq, json.loads(snapshots[0].more), snapshots[0].state)
    elif not enrolled.whole:
        raise LiveError("neither its setup nor a snapshot can be trusted")
    for entry in rows[change + 1 :]:
        core.apply(entry)
    core.exact = True


def _good(source: sqlite3.Connection, number: int, after: int, check: int) -> Iterator[Entry]:
    """Yield the rows after one as long as each follows on the one before and has the right check."""
    query = f"SELECT {COLUMNS} FROM journal WHERE agent = ? AND seq > ? ORDER BY seq"  # noqa: S608 - no input in it
    try:
        for row in source.execute(query, (number, after)):
            entry = Entry(*row)
            if entry.seq != after + 1 or entry.check != checked(check, entry[:-1]):
                return
            yield entry
            after, check = entry.seq, entry.check
    except UNREADABLE:
        return


def _greatest(source: sqlite3.Connection, number: int) -> int:
    query = "SELECT seq FROM journal WHERE agent = ? ORDER BY seq DESC LIMIT 1"
    found = _all(source, query, number)
    return int(found[0][0]) if found else 0


def _put_snapshots(target: sqlite3.Connection, core: Core, snapshots: list[Snapshot]) -> None:
    listed = [snapshot for snapshot in snapshots if snapshot.seq < core.seq]
    more, state = core.dump()
    number = max((snapshot.number for snapshot in snapshots), default=-1) + 1
    present = Snapshot(core.number, core.seq, number, core.step, time.time(), json.dumps(more), state, "")
    for snapshot in (*listed, present):
        target.execute(INSERT_SNAPSHOT, (*snapshot[:-1], digest(*snapshot[:-1])))
