"""Small directories to damage bit by bit, and what becomes of them when they are opened."""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import everlearn as el
from everlearn.durable import database
from everlearn.durable.database import FILE
from everlearn.durable.live import NAME
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.durable.wal import refuse_damage
from everlearn.errors import Corrupt, EverlearnError
from tests.durable.worlds import whole

SETUP = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1), "agent": "q-learning"}
AGENTS = ((NAME, 17), ("other", 9), ("third", 4))
"""The agents and their numbers of rows; the first is the one that ``el.live`` opens."""

PAGE, HEADER = 4096, 100
"""Bytes of a page of the database, and of its header."""


def observe(store: Store, core: Any, rows: int) -> None:
    """Let an agent take steps; it takes a snapshot at each tenth."""
    for _ in range(rows):
        core.act()
        entry = core.prepare("xy"[core.step % 2], reward=core.step % 3 / 2)
        store.append([(core.number, entry)])
        core.apply(entry)
        if core.due:
            store.append([], [core])


def fill(store: Store) -> None:
    """Make the agents, and let each take half of its steps before any takes the other half."""
    cores = [store.create(name, make_setup(**SETUP, seed=1, snapshot_every=10)) for name, _ in AGENTS]
    for part in (0, 1):
        for core, (_, rows) in zip(cores, AGENTS, strict=True):
            observe(store, core, (rows + part) // 2)


def closed(directory: Path) -> Path:
    """Return a directory that was closed: all in one file."""
    with Store(directory) as store:
        fill(store)
    return directory


def killed(directory: Path) -> Path:
    """Return a directory as a killed process leaves it: some of it in the database, some in the write-ahead log."""
    working = directory.with_name(f"{directory.name}-working")
    with Store(working) as store:
        fill(store)
    with Store(working) as store:
        for name, _ in AGENTS:
            observe(store, store.open(name), 2)
        shutil.copytree(working, directory)
    shutil.rmtree(working)
    return directory


def state(directory: Path) -> dict[str, Any]:
    """Return everything that the agents of a directory are, opened in both ways."""
    with el.live(directory, **SETUP, seed=1, snapshot_every=10) as agent:
        found = {"": whole(agent.core)}
    with Store(directory) as store:
        return found | {name: whole(store.open(name)) for name in store.names()}


class _Warnings(logging.Handler):
    """Collects warnings of rows that may be missing."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "may be missing" in record.getMessage():
            self.lines.append(record.getMessage())


def outcome(directory: Path, expected: dict[str, Any]) -> str:
    """Return what becomes of a directory: the same, refused in one line, or short and reported; else it is a fault."""
    log, warnings = logging.getLogger("everlearn.durable"), _Warnings()
    log.addHandler(warnings)
    try:
        found = state(directory)
    except EverlearnError as error:
        return "refused" if "\n" not in str(error) else f"raw: {error!r}"
    except Exception as error:
        return f"raw: {error!r}"
    finally:
        log.removeHandler(warnings)
    if found == expected:
        return "same"
    steps = {name: core["step"] for name, core in found.items()}
    return "reported" if warnings.lines else f"silent: {steps}"


Foresee = Callable[[bytes, int], str | None]
"""Returns what becomes of a directory with a file of these contents, of which this byte is damaged; None if unknown."""


class Answers:
    """What SQLite answers to the statements by which a directory is opened.

    Besides these answers, only the header of the database, its log and the index of its log are read.  So if one bit
    of the rest of the database is flipped, and all answers are as before, then the directory is opened as before, which
    need not be tried: to ask takes a twentieth of the time.
    """

    def __init__(self, base: Path, place: Path) -> None:
        self._log = _pages(base / f"{FILE}-wal")
        self._statements = _statements(shutil.copytree(base, place))
        shutil.rmtree(place)
        self._expected = self._ask((base / FILE).read_bytes())
        assert isinstance(self._expected, list), self._expected

    def _ask(self, data: bytes) -> list[Any] | str:
        """Return the answers for the contents of a database, in memory, or the first error."""
        image = bytearray(data)
        for number, page in self._log.items():
            image[(number - 1) * PAGE : number * PAGE] = page
        image[18:20] = b"\1\1"  # a database in memory has no log
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            try:
                connection.deserialize(bytes(image))
                return [connection.execute(statement).fetchall() for statement in self._statements]
            except (sqlite3.Error, UnicodeDecodeError) as error:
                return repr(error)

    def __call__(self, data: bytes, byte: int) -> str | None:
        """Return "same" if all answers are as before for contents in which this byte is damaged."""
        return "same" if byte >= HEADER and self._ask(data) == self._expected else None


class Inspection:
    """What the inspection of a log finds, which comes before everything else when a directory is opened."""

    def __init__(self, base: Path, place: Path) -> None:
        self._place = shutil.copytree(base, place)

    def __call__(self, data: bytes, _byte: int) -> str | None:
        """Return "refused" if a log with these contents is damaged."""
        (self._place / f"{FILE}-wal").write_bytes(data)
        try:
            refuse_damage(self._place / FILE)
        except Corrupt as error:
            return "refused" if "\n" not in str(error) else None
        return None


def _pages(log: Path) -> dict[int, bytes]:
    """Return the last contents of each page in a log."""
    data = log.read_bytes() if log.exists() else b""
    frames = [data[start : start + 24 + PAGE] for start in range(32, len(data), 24 + PAGE)]
    return {int.from_bytes(frame[:4], "big"): frame[24:] for frame in frames}


_READS = re.compile(r"\s*(SELECT|BEGIN$|ROLLBACK$)")


def _statements(directory: Path) -> list[str]:
    """Return the statements by which a directory is opened."""
    traced: list[str] = []

    def connect(path: Path) -> sqlite3.Connection:
        connection = untraced(path)
        connection.set_trace_callback(traced.append)
        return connection

    untraced, database.connect = database.connect, connect
    try:
        state(directory)
    finally:
        database.connect = untraced
    assert not any(statement.startswith("PRAGMA") for statement in traced)
    return list(dict.fromkeys(traced)) if all(map(_READS.match, traced)) else traced


def flip(data: bytes, byte: int, bit: int) -> bytes:
    """Return contents with one bit flipped."""
    damaged = bytearray(data)
    damaged[byte] ^= 1 << bit
    return bytes(damaged)


def outcomes(
    base: Path, place: Path, file: str, flips: Iterable[tuple[int, int]], foresee: Foresee = lambda _data, _byte: None
) -> dict[str, list[tuple[int, int]]]:
    """Flip bits of a file of a directory, each (byte, bit) alone; return those of each outcome.

    Of the directories whose outcome ``foresee`` knows, one in a thousand is opened all the same.
    """
    expected = state(shutil.copytree(base, place))
    shutil.rmtree(place)
    data = (base / file).read_bytes()
    found: dict[str, list[tuple[int, int]]] = {}
    for number, (byte, bit) in enumerate(flips):
        damaged = flip(data, byte, bit)
        foreseen = result = foresee(damaged, byte)
        if result is None or number % 1000 == 0:
            shutil.copytree(base, place)
            (place / file).write_bytes(damaged)
            result = outcome(place, expected)
            shutil.rmtree(place)
            assert foreseen in (None, result), (byte, bit, foreseen, result)
        found.setdefault(result, []).append((byte, bit))
    return found
