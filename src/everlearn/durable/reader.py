"""The reader of a store: its agents, journals and snapshots, and the recovery of an agent from these.

Any process may read while another one holds the directory.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Self

from everlearn.durable import database, heads
from everlearn.durable.core import Core
from everlearn.durable.entry import MODES, Entry, Kind
from everlearn.durable.layout import refuse_shards, require_agents, shards_of, stores_of
from everlearn.durable.records import (
    PAGE,
    UNREADABLE,
    AgentRecord,
    SnapshotRecord,
    is_chained,
    is_whole,
    scan_rows,
    scan_snapshots,
)
from everlearn.durable.setup import MOST_DELAY, Setup
from everlearn.durable.wal import refuse_damage
from everlearn.errors import Absent, Corrupt, Failed, InputError, LiveError, OtherVersion, SnapshotError
from everlearn.files import expanded
from everlearn.locks import unless_held

LOG = logging.getLogger("everlearn.durable")

LATE = 10 * MOST_DELAY
"""Within how many rows the reward of a step is looked for, if it came late."""

_MODE = " ".join(f"WHEN {number} THEN '{mode}'" for number, mode in enumerate(MODES))
_NEW_MODE = " ".join(f"WHEN CAST('{mode}' AS BLOB) THEN '{mode}'" for mode in MODES)
_NAMED = "substr(journal.payload, 1, coalesce(nullif(instr(journal.payload, x'0a'), 0) - 1, length(journal.payload)))"
_STANDINGS = f"""
WITH latest AS (
    SELECT id, name, (SELECT max(seq) FROM journal WHERE agent = id) AS "row",
           (SELECT max(seq) FROM snapshots WHERE agent = id) AS snapshot
    FROM agents
)
SELECT name, coalesce(snapshots.step, journal.step), CASE
    WHEN snapshots.seq IS NOT NULL THEN CASE WHEN json_valid(more) THEN json_extract(more, '$.mode') END
    WHEN journal.kind = {Kind.MODE} THEN CASE {_NAMED} {_NEW_MODE} END
    ELSE CASE journal.mode {_MODE} END END
FROM latest
LEFT JOIN journal ON journal.agent = id AND journal.seq = "row"
LEFT JOIN snapshots ON snapshots.agent = id AND snapshots.seq = snapshot AND snapshot > coalesce("row", -1)
"""  # noqa: S608 - no input in it
"""The last row of each journal, or a snapshot if that is later: an agent without rows has one."""


class Reader:
    """A directory of durable agents, to read from."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = expanded(directory)
        self.path = self.directory / database.FILE
        if not self.path.is_file():
            refuse_shards(self.directory)
        with database.errors(self.path):
            self.connection: sqlite3.Connection = self._connect()
            try:
                self.version = self._check_version()
            except BaseException:
                self.connection.close()
                raise

    @classmethod
    def on(cls, connection: sqlite3.Connection, path: Path) -> Self:
        """Return a reader of a file that is open already."""
        reader = cls.__new__(cls)
        reader.connection, reader.path, reader.directory = connection, path, path.parent
        reader.version = database.read_version(connection) or 0
        return reader

    def _connect(self) -> sqlite3.Connection:
        """Open the file, unless its log is damaged: SQLite would discard what shows the damage."""
        with unless_held(self.directory) as free:
            if free:
                refuse_damage(self.path)
            return database.connect_to_read(self.path)

    def _check_version(self) -> int:
        """Return the version of the tables; raise if this everlearn cannot read it."""
        version = database.read_version(self.connection)
        if version is None:
            raise Corrupt("there are no tables in it; put a backup in its place", self.path)
        if version == 0:
            raise Corrupt(f"its version cannot be read; {database.how_to_repair(self.path)}", self.path, table="meta")
        if version not in database.READABLE:
            remedy = "use a newer everlearn" if version > database.SCHEMA else "it was made before everlearn 0.1"
            raise OtherVersion(f"schema version {version}, this everlearn reads {database.SCHEMA}; {remedy}", self.path)
        if version >= heads.SINCE and database.read_meta(self.connection, "shape") != database.shape(self.connection):
            raise Corrupt(f"the declaration of a table is damaged; {database.how_to_repair(self.path)}", self.path)
        return version

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Let everything that is read meanwhile be as of one moment, though another process may be writing."""
        with ExitStack() as stack:
            if not self.connection.in_transaction:
                with database.errors(self.path):
                    self.connection.execute("BEGIN")
                stack.callback(_end_reading, self.connection)
            yield

    def names(self) -> list[str]:
        """Return the names of the agents."""
        return self.roster().names

    def roster(self) -> heads.Roster:
        """Return the agents, found in each way that there is."""
        with database.errors(self.path):
            return heads.Roster.of(self.connection, self.version)

    def standings(self) -> dict[str, tuple[int, str | None]]:
        """Return the step and the mode of every agent as last recorded; nothing is replayed, or compared with checks.

        A mode that cannot be read is None.
        """
        with database.errors(self.path):
            rows = self.connection.execute(_STANDINGS).fetchall()
        return {name: (step, mode if mode in MODES else None) for name, step, mode in rows}

    def enrolled(self, name: str) -> AgentRecord:
        """Return the record of an agent."""
        with database.errors(self.path):
            row = self.connection.execute("SELECT * FROM agents WHERE name = ?", (name,)).fetchone()
        if row is None and name not in self.names():
            raise Absent(f"there is no agent {name!r}", self.directory, agent=name)
        record = None if row is None else AgentRecord(*row)
        if record is None or record.name != name or not is_whole(record):
            remedy = database.how_to_repair(self.path)
            raise Corrupt(f"the row of {name!r} is damaged; {remedy}", self.path, table="agents", agent=name)
        return record

    def look(self, name: str) -> Core:
        """Return an agent as it is after the last row of its journal, to read but not to learn."""
        with self.at_one_moment():
            record = self.enrolled(name)
            return self.replayed(record.stored_setup(), record)

    def replayed(self, setup: Setup, record: AgentRecord, exact: bool = True) -> Core:
        """Return an agent as it is after the last row of its journal; ``exact`` as in :class:`Core`.

        If its design fails to learn from a row, the agent is as before that row, and only moves with the rows after.
        """
        with self.at_one_moment():
            return self._replayed(setup, record, exact)

    def _replayed(self, setup: Setup, record: AgentRecord, exact: bool) -> Core:
        failures: dict[int, Failed] = {}
        while True:
            core = self.recovered(setup, record, exact)
            core.failures = failures
            try:
                self._replay(core)
            except Failed as error:
                if error.seq in failures:
                    raise
                failures[error.seq] = error  # and once more, without what was half learned
            else:
                return core

    def _replay(self, core: Core) -> None:
        for entry in self.rows(core.number, core.seq, core.check):
            try:
                core.apply(entry)
            except Corrupt as error:
                raise self.damaged(core.number, error.problem, error.row) from None

    def recovered(self, setup: Setup, record: AgentRecord, exact: bool = True) -> Core:
        """Return an agent as of its newest undamaged snapshot, or of the last accepted change, if that is later."""
        core, changed = Core(setup, record.number), record.changed or 0
        core.exact = exact
        for snapshot in scan_snapshots(self.connection, record.number):
            if snapshot.row is None or snapshot.damage is not None:
                message = "%s: table snapshots: agent %d: the snapshot after row %s %s; an older one is used"
                LOG.warning(message, self.path, record.number, snapshot.seq, snapshot.damage)
                continue
            if snapshot.row.seq < changed:
                break
            try:
                core.restore(snapshot.row.checkpoint, exact)
            except SnapshotError as error:
                step = snapshot.row.step
                raise LiveError(f"snapshot at step {step}: {error}", self.path, step=step) from None
            return core
        if changed:  # replay begins with the row of the change
            entry = next(self.rows(record.number, changed - 1), None)
            if entry is None or (entry.seq, entry.kind) != (changed, Kind.CHANGE):
                raise self.damaged(record.number, "is missing", changed)
            try:  # nothing before the row vouches for it
                core.restore(entry.accepted.checkpoint, exact)
            except (Corrupt, SnapshotError, *UNREADABLE):
                raise self.damaged(record.number, "is damaged", changed) from None
        return core  # without a change the journal must reach back to its first row, which replay checks

    def rows(self, agent: int, after: int = -1, check: int | None = None) -> Iterator[Entry]:
        """Yield the rows of a journal after row ``after``, whose check is ``check``; raise at the first damage."""
        head, last = self.head(agent), max(after, 0)
        for scanned in scan_rows(self.connection, agent, after, {} if check is None else {after: check}):
            if isinstance(scanned.error, sqlite3.Error | UnicodeDecodeError | OverflowError):
                with database.errors(self.path):
                    raise scanned.error
            if scanned.row is None or scanned.damage is not None:
                raise self.damaged(agent, str(scanned.damage), scanned.seq)
            yield scanned.row
            last = scanned.row.seq
        if last < head:
            raise self.damaged(agent, f"is missing, up to {head}", last + 1)

    def page(self, agent: int, after: int, check: int | None, size: int) -> list[tuple[Any, ...]]:
        """Return the next rows of a journal in the order of :class:`Entry`, as :meth:`rows` does, but faster."""
        with suppress(*UNREADABLE):
            rows = self.connection.execute(PAGE, (agent, after, size)).fetchall()
            if len(rows) == size and is_chained(rows, after, check):
                return rows
        return [*islice(self.rows(agent, after, check), size)]  # raises, with the reason, if something is wrong

    def head(self, agent: int) -> int:
        """Return the number of the row up to which the journal of an agent must reach."""
        if self.version < heads.SINCE:
            return 0
        with database.errors(self.path):
            head = heads.read(self.connection, agent)
            if head is None:
                problem = f"the row is damaged or missing; {database.how_to_repair(self.path)}"
                raise Corrupt(problem, self.path, table="heads", number=agent)
            return head if head > heads.last_unsaved(self.connection, agent) else 0

    def damaged(self, agent: int, what: str, row: int | None) -> Corrupt:
        """Return the error of a damaged journal."""
        problem = f"{what}; {database.how_to_repair(self.path)}"
        return Corrupt(problem, self.path, table="journal", number=agent, row=row)

    def recorded(self, agent: int, step: int) -> Entry | None:
        """Return the row of an observation by its step, if the journal reaches back so far."""
        query = (
            f"SELECT {database.COLUMNS} FROM journal WHERE agent = ? AND seq >= ? AND step = ? AND kind < 2 "  # noqa: S608
            "ORDER BY seq LIMIT 1"  # rows are numbered no lower than steps, and hardly higher
        )
        with database.errors(self.path):
            row = self.connection.execute(query, (agent, step, step)).fetchone()
        return None if row is None else Entry(*row)

    def reward_of(self, agent: int, step: int) -> float | None:
        """Return the reward of a step, which may have come late; None if there is none."""
        entry = self.recorded(agent, step)
        if entry is None or entry.reward is not None:
            return None if entry is None else entry.reward
        query = "SELECT reward FROM journal WHERE agent = ? AND seq BETWEEN ? AND ? AND kind = ? AND payload = ?"
        bounds = (entry.seq, entry.seq + LATE)
        with database.errors(self.path):
            row = self.connection.execute(query, (agent, *bounds, Kind.REWARD, b"%d" % step)).fetchone()
        return None if row is None else float(row[0])

    def snapshots(self, agent: int) -> list[dict[str, Any]]:
        """Return a description of each snapshot of an agent, the oldest first."""
        query = "SELECT step, seq, at, length(state) FROM snapshots WHERE agent = ? ORDER BY seq"
        with database.errors(self.path):
            rows = self.connection.execute(query, (agent,)).fetchall()
        return [dict(zip(("step", "seq", "at", "bytes"), row, strict=True)) for row in rows]

    def snapshot_at(self, agent: int, step: int, seq: int | None = None) -> SnapshotRecord:
        """Return the snapshot of a step that was taken after row ``seq``; if that is None, the latest one."""
        query = "SELECT * FROM snapshots WHERE agent = ? AND step = ? AND seq = coalesce(?, seq) ORDER BY seq DESC"
        with database.errors(self.path):
            row = self.connection.execute(query, (agent, step, seq)).fetchone()
        if row is None:
            known = self.snapshots(agent)
            if seq is not None and (rows := [str(each["seq"]) for each in known if each["step"] == step]):
                raise Absent(f"seq: {seq}; the snapshots at step {step} are those of rows {', '.join(rows)}", step=step)
            steps = ", ".join(str(snapshot["step"]) for snapshot in known[-12:])
            raise Absent(f"step: there is no snapshot at step {step}; there are snapshots at {steps}", step=step)
        record = SnapshotRecord(*row)
        if not is_whole(record):
            problem = f"the snapshot at step {step} is damaged"
            raise Corrupt(problem, self.path, table="snapshots", number=agent)
        return record

    def last_row(self, agent: int) -> int:
        """Return the number of the last row of a journal; 0 if it has no rows."""
        with database.errors(self.path):
            row = self.connection.execute("SELECT max(seq) FROM journal WHERE agent = ?", (agent,)).fetchone()
        return row[0] or 0


def _end_reading(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # an error may have ended it
        connection.execute("ROLLBACK")


@contextmanager
def opened(directory: str | os.PathLike[str], agent: str | None) -> Iterator[tuple[Reader, str]]:
    """Open the store of the agent that was passed, or of the only one in a directory; yield a reader and its name."""
    require_agents(directory)
    with Reader(store_of(directory, agent)) as reader:
        yield reader, chosen(reader.names(), agent)


def chosen(names: list[str], agent: str | None) -> str:
    """Return the name that was passed, or that of the only agent there is."""
    if agent is None and len(names) != 1:
        raise InputError("agent", None, f"there are {len(names)} agents; name one: {', '.join(names)}")
    return names[0] if agent is None else agent


def store_of(directory: str | os.PathLike[str], agent: str | None) -> Path:
    """Return the directory of the store that has an agent: that of its shard, or the directory if it has no shards.

    Without a name it is that of the only agent.
    """
    place = expanded(directory)
    if database.is_begun(place) or not shards_of(place):
        return place
    names: dict[Path, list[str]] = {}
    for store in stores_of(place):
        with Reader(store) as reader:
            names[store] = reader.names()
    name = chosen(sorted(name for each in names.values() for name in each), agent)
    having = [store for store, each in names.items() if name in each]
    if len(having) > 1:
        both = " and ".join(store.name for store in having)
        raise LiveError(f"agent {agent!r} is in {both}; start the service, which completes a move", place, agent=agent)
    if not having:
        raise Absent(f"there is no agent {agent!r}", place, agent=agent)
    return having[0]
