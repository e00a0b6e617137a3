"""Move an agent from one store to another, so that at every moment exactly one of them owns it.

1. The first store writes down where the agent goes, and from then on lets nobody use it.
2. The other store takes everything in one transaction.  At this moment the agent is its own.
3. The first store deletes the agent and keeps where it went, in one transaction.

Each part can be repeated: a move has a number, and a store knows the numbers of those that it has taken or refused.
Whoever cancels a move names its number, since somebody else may have begun another one meanwhile.
A store keeps the last thousand numbers of each agent, so that a request which is late by fewer moves changes nothing.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from everlearn.durable import database, heads, notes
from everlearn.durable.core import Core
from everlearn.durable.entry import Checkpoint, Entry, checksum, first_check, number_of, stored
from everlearn.durable.notes import ARRIVALS, LEAVING, MOVED
from everlearn.durable.reader import Reader
from everlearn.durable.records import AgentRecord, SnapshotRecord
from everlearn.durable.setup import Setup
from everlearn.durable.store import Execute, Store
from everlearn.errors import Corrupt, InputError, LiveError, require
from everlearn.tasks.task import Task

FORMAT = 1
ROWS, BYTES = 1_000, 8 << 20
"""How many of the last rows of a journal move with an agent, and how many bytes of them."""
MOST_SPENT = 1_000
"""How many moves of an agent are remembered that were taken or refused."""


class Arrivals(NamedTuple):
    """The moves by which an agent came to a store, and those that the store refused."""

    origin: str | None = None  # the last one by which it came
    spent: tuple[str, ...] = ()  # those that came or were refused, the oldest first
    refused: tuple[str, ...] = ()  # those of them that were refused

    @classmethod
    def of(cls, reader: Reader, name: str) -> Arrivals:
        """Return those of an agent; raise if they are lost, since every answer could then make two owners."""
        note = notes.of(reader, ARRIVALS, name) or {}
        if note.get("lost"):
            remedy = f"find out which service has it, then send DELETE /v1/agents/{name}/arrival"
            raise Corrupt(f"it is lost by which moves the agent {name!r} came; {remedy}", reader.path, agent=name)
        return cls(note.get("origin"), tuple(note.get("spent", ())), tuple(note.get("refused", ())))

    def has_taken(self, move: str) -> bool:
        """Return whether the agent came by a move, wherever it is now."""
        return move in self.spent and move not in self.refused

    def after(self, move: str, taken: bool) -> dict[str, Any]:
        """Return the note after one more move was taken or refused."""
        spent = (*self.spent, move)[-MOST_SPENT:]
        refused = [each for each in self.refused if each in spent] + ([] if taken else [move])
        return {"origin": move if taken else self.origin, "spent": spent, "refused": refused}


class Luggage(NamedTuple):
    """Everything of an agent that moves: its setup, what it is, and the last rows of its journal."""

    move: str  # the number of the move
    name: str
    setup: dict[str, Any]
    face: dict[str, Any] | None
    checkpoint: Checkpoint
    rows: list[Entry]

    def to_bytes(self) -> bytes:
        """Return it as JSON."""
        seq, more, state = self.checkpoint
        checkpoint = {"seq": seq, "more": more, "state": _text(state)}
        rows = [[_text(value) if isinstance(value, bytes) else value for value in row] for row in self.rows]
        document = {"format": FORMAT, **self._asdict(), "checkpoint": checkpoint, "rows": rows}
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Luggage:
        """Read it, from whomever it comes; raise if it is not such a document."""
        try:
            document = json.loads(data)
            require(document.pop("format") == FORMAT, "luggage", "format", f"this everlearn reads {FORMAT}")
            checkpoint, rows = document.pop("checkpoint"), document.pop("rows")
            require(len(rows) <= ROWS, "luggage", f"{len(rows):,} rows", f"at most the last {ROWS:,} move")
            state = Checkpoint(checkpoint["seq"], checkpoint["more"], base64.b64decode(checkpoint["state"]))
            luggage = cls(**document, checkpoint=state, rows=[_row(row) for row in rows])
            luggage._check()
        except InputError:
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise InputError("luggage", type(error).__name__, "it is no agent that another service sent") from None
        return luggage

    def _check(self) -> None:
        """Raise if its parts do not fit each other."""
        seq, more, _ = self.checkpoint
        numbers = [seq, more["step"], *(value for row in self.rows for value in (row.seq, row.step, row.kind))]
        whole = all(type(number) is int and 0 <= number < 1 << 53 for number in numbers)
        follow = [row.seq for row in self.rows] == list(range(seq - len(self.rows) + 1, seq + 1))
        ends = not self.rows or self.rows[-1].step == more["step"]
        given: tuple[Any, Any] = (self.name, self.move)
        texts = all(isinstance(text, str) for text in given) and len(self.move) == 32
        require(whole and follow and ends and texts, "luggage", self.name, "its numbers do not fit each other")

    def check_rows(self, task: Task) -> None:
        """Raise if a row cannot be shown with the labels of a task."""
        for row in self.rows:
            try:
                places = (row.mode, row.state, row.following, row.proposed, row.executed, row.observation)
                if any(place is not None and number_of(place) < 0 for place in places):
                    raise IndexError
                json.dumps(row.described(task), allow_nan=False)
            except (Corrupt, LookupError, OverflowError, OSError, TypeError, ValueError):
                raise InputError("luggage", f"row {row.seq}", "does not fit the setup") from None


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _row(values: list[Any]) -> Entry:
    """Return a row with the types in which a store returns it: its check would not fit ``true``, or 1 for 1.0."""
    row = Entry._make(values)
    allowed, payload = (None if text is None else base64.b64decode(text) for text in (row.allowed, row.payload))
    optional = (number for number in (row.proposed, row.executed) if number is not None)
    whole = (row.seq, row.kind, row.step, row.mode, *optional)
    large = (row.state, row.following, 0 if row.observation is None else row.observation)
    fine = all(type(number) in (int, str) and stored(number_of(number)) == number for number in large)
    if not (fine and all(type(number) is int for number in whole)):
        raise ValueError
    reward = None if row.reward is None else _number(row.reward)
    return row._replace(at=_number(row.at), reward=reward, allowed=allowed, payload=payload)


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) < 1e300:
        raise ValueError
    return float(value) + 0.0  # SQLite does not store -0.0


def begin(store: Store, name: str, to: str) -> dict[str, Any]:
    """Write down where an agent is to go; return the note, the same if it was written already."""
    leaving = notes.read(store, LEAVING).get(name)
    if leaving is None:
        store.enrolled(name)
        leaving = {"to": to, "move": secrets.token_hex(16)}
        with store.transaction() as run:
            notes.write(run, LEAVING, name, leaving)
    if leaving["to"] != to:
        raise InputError("to", to, f"the agent is being moved to {leaving['to']}; complete that, or cancel it")
    return leaving


def cancel(store: Store, name: str, move: str | None) -> bool:
    """Let an agent stay after all; only if the other store has not taken it by this move, and never will.

    Return whether the agent stays: not if it leaves by another move, which somebody else may have begun since.  The
    number of the move is None if the note of it is damaged.
    """
    leaving = notes.read(store, LEAVING).get(name)
    if leaving is None:
        return True  # it was cancelled before
    if leaving["move"] != (move or ""):
        return False
    with store.transaction() as run:
        notes.write(run, LEAVING, name, None)
    return True


def forget_moved(store: Store, name: str) -> None:
    """Forget that an agent went to a place that is lost, so that its name can be given again."""
    with store.transaction() as run:
        notes.write(run, MOVED, name, None)


def pack(store: Store, name: str, core: Core, move: str) -> Luggage:
    """Return what moves of an agent that nobody uses any more."""
    record = store.enrolled(name)
    face = None if record.face is None else json.loads(record.face)
    rows = list(_last_rows(store, core))[::-1]
    return Luggage(move, name, json.loads(record.setup), face, core.snapshot(), rows)


def _last_rows(store: Store, core: Core) -> Iterator[Entry]:
    """Yield the last rows of a journal, the newest first."""
    length = 0
    for row in reversed(list(store.rows(core.number, max(0, core.seq - ROWS)))):
        length += 200 + len(row.payload or b"")
        if length > BYTES:
            return
        yield row


def arrive(store: Store, setup: Setup, luggage: Luggage) -> Core:
    """Create an agent that comes from another store; it is on disk, and this store's own, when this returns."""
    arrivals = Arrivals.of(store, luggage.name)
    if luggage.move in arrivals.spent:
        problem = f"the move {luggage.move} of the agent {luggage.name} was made already, or cancelled"
        raise LiveError(problem, agent=luggage.name)
    with store.transaction() as run:
        number = store.new_number(run)
        core = Core(setup, number)
        seq, more, state = luggage.checkpoint
        check, rows = first_check(number), []
        for row in luggage.rows:
            check = checksum(check, row[:-1])
            rows.append((number, *row[:-1], check))
        core.restore(Checkpoint(seq, {**more, "check": check}, state))
        record = AgentRecord(number, luggage.name, setup.encoded(), setup.face(), time.time())
        run(database.INSERT_AGENT, record.sealed())
        store.connection.executemany(database.INSERT_ROW, rows)
        run(database.INSERT_SNAPSHOT, SnapshotRecord.taken(number, 0, core.snapshot()))
        heads.write(store.connection, {number: seq})
        if seq and not rows:
            run("INSERT INTO meta VALUES (?, ?)", (f"{heads.WITHOUT}{number}", str(seq)))
        notes.write(run, ARRIVALS, luggage.name, arrivals.after(luggage.move, taken=True))
        notes.write(run, MOVED, luggage.name, None)
    return core


def refuse(store: Store, name: str, move: str) -> None:
    """Refuse a move that has not arrived, for ever."""
    arrivals = Arrivals.of(store, name)
    if arrivals.has_taken(move):
        raise InputError("move", move, "the agent has arrived by it; move it back, if that is what you want")
    if move not in arrivals.spent:
        with store.transaction() as run:
            notes.write(run, ARRIVALS, name, arrivals.after(move, taken=False))


def forget_arrivals(store: Store, name: str) -> None:
    """Forget that it is lost by which moves an agent came, so that it can come and be refused again."""
    try:
        Arrivals.of(store, name)
    except Corrupt:
        with store.transaction() as run:
            notes.write(run, ARRIVALS, name, None)


def complete(store: Store, name: str) -> dict[str, Any]:
    """Delete an agent that another store has taken, and keep where it went; return that note.

    If that was done before, and only the answer said otherwise, the note is written once more.
    """
    leaving = notes.read(store, LEAVING).get(name)
    if leaving is None and (leaving := notes.of(store, MOVED, name)) is not None:
        with store.transaction() as run:
            notes.write(run, MOVED, name, leaving)
        return leaving
    if leaving is None:
        raise LiveError(f"the agent {name!r} is not being moved", store.directory, agent=name)

    def note(run: Execute) -> None:
        notes.write(run, LEAVING, name, None)
        notes.write(run, MOVED, name, leaving)

    store.delete(name, note)
    return leaving
