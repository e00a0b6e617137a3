"""Small directories to damage bit by bit, and what becomes of them when they are opened."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import everlearn as el
from everlearn.durable import database
from everlearn.durable.agent import NAME
from everlearn.durable.database import FILE
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


Way = Callable[[Path], Any]
"""A way to open a directory: it returns what is found."""


def live(directory: Path) -> dict[str, Any]:
    """Return what the agent is that ``el.live`` opens."""
    with el.live(directory, **SETUP, seed=1, snapshot_every=10) as agent:
        return whole(agent.core)


def listed(directory: Path) -> list[str]:
    """Return the names of the agents; of one that is damaged in one of two places, both are listed, to be refused."""
    with Store(directory) as store:
        names = store.names()
        for name in set(names) - {name for name, _ in AGENTS}:
            store.open(name)
        return names


def opened(name: str, directory: Path) -> dict[str, Any]:
    """Return what an agent is."""
    with Store(directory) as store:
        return whole(store.open(name))


WAYS: tuple[Way, ...] = (live, listed, *(partial(opened, name) for name, _ in AGENTS))


def state(directory: Path) -> list[Any]:
    """Return everything that the agents of a directory are, opened in every way."""
    return [way(directory) for way in WAYS]


class _Warnings(logging.Handler):
    """Collects warnings of rows that may be missing."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "may be missing" in record.getMessage():
            self.lines.append(record.getMessage())


def outcome(directory: Path, way: Way, expected: Any) -> str:
    """Return what becomes of a directory: the same, refused in one line, or short and reported; else it is a fault."""
    log, warnings = logging.getLogger("everlearn.durable"), _Warnings()
    log.addHandler(warnings)
    try:
        found = way(directory)
    except EverlearnError as error:
        return "refused" if "\n" not in str(error) else f"raw: {error!r}"
    except Exception as error:
        return f"raw: {error!r}"
    finally:
        log.removeHandler(warnings)
    return "same" if found == expected else "reported" if warnings.lines else f"silent: {found}"


class Answers:
    """What SQLite answers to the statements by which a directory is opened in some way.

    Besides these answers, only the header of the database, its log and the index of its log are read.  So if one bit
    of the rest of the database is flipped, and all answers are as before, then the directory is opened as before, which
    need not be tried: to ask takes a tenth of the time.
    """

    def __init__(self, base: Path, place: Path, ways: tuple[Way, ...]) -> None:
        self._log = _pages(base / f"{FILE}-wal")
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._statements = {way: _statements(shutil.copytree(base, place / str(n)), way) for n, way in enumerate(ways)}
        shutil.rmtree(place)
        self._expected = self._ask((base / FILE).read_bytes())
        assert all(isinstance(answers, list) for answers in self._expected.values()), self._expected

    def _ask(self, data: bytes) -> dict[Way, list[Any] | str]:
        """Return the answers for the contents of a database, in memory, or the first error."""
        image = bytearray(data)
        for number, page in self._log.items():
            image[(number - 1) * PAGE : number * PAGE] = page
        image[18:20] = b"\1\1"  # a database in memory has no log
        self._connection.deserialize(bytes(image))
        ask = cache(lambda statement: self._connection.execute(statement).fetchall())
        return {way: self._asked(ask, statements) for way, statements in self._statements.items()}

    def _asked(self, ask: Callable[[str], Any], statements: list[str]) -> list[Any] | str:
        try:
            return [ask(statement) for statement in statements]
        except (sqlite3.Error, UnicodeDecodeError) as error:
            return repr(error)

    def __call__(self, data: bytes, byte: int) -> dict[Way, str]:
        """Return the ways in which a directory is the same, if this byte of its database is damaged."""
        answers = self._ask(data) if byte >= HEADER else {}
        return {way: "same" for way, answer in answers.items() if answer == self._expected[way]}

    def close(self) -> None:
        self._connection.close()


def _pages(log: Path) -> dict[int, bytes]:
    """Return the last contents of each page in a log."""
    data = log.read_bytes() if log.exists() else b""
    frames = [data[start : start + 24 + PAGE] for start in range(32, len(data), 24 + PAGE)]
    return {int.from_bytes(frame[:4], "big"): frame[24:] for frame in frames}


def _statements(directory: Path, way: Way) -> list[str]:
    """Return the statements by which a directory is opened; what it writes follows from what it read."""
    traced: list[str] = []

    def connect(path: Path) -> sqlite3.Connection:
        connection = untraced(path)
        connection.set_trace_callback(traced.append)
        return connection

    untraced, database.connect = database.connect, connect
    try:
        way(directory)
    finally:
        database.connect = untraced
    known = ("SELECT", "BEGIN", "ROLLBACK", "COMMIT", "INSERT OR REPLACE INTO heads")
    assert all(statement.strip().startswith(known) for statement in traced), traced
    return [statement for statement in dict.fromkeys(traced) if statement.strip().startswith("SELECT")]


def inspected(place: Path, data: bytes, _byte: int) -> dict[Way, str]:
    """Return that a directory is refused, if the inspection of its log refuses it, which precedes everything else."""
    (place / f"{FILE}-wal").write_bytes(data)
    try:
        refuse_damage(place / FILE)
    except Corrupt as error:
        return {} if "\n" in str(error) else dict.fromkeys(WAYS, "refused")
    return {}


def flip(data: bytes, byte: int, bit: int) -> bytes:
    """Return contents with one bit flipped."""
    damaged = bytearray(data)
    damaged[byte] ^= 1 << bit
    return bytes(damaged)


Foresee = Callable[[bytes, int], dict[Way, str]]
"""Returns the outcomes that are known of a directory with a file of these contents, of which this byte is damaged."""


def outcomes(
    base: Path,
    place: Path,
    file: str,
    flips: Iterable[tuple[int, int]],
    foresee: Foresee = lambda _data, _byte: {},
    ways: tuple[Way, ...] = (state,),
) -> dict[str, list[tuple[int, int]]]:
    """Flip bits of a file of a directory, each (byte, bit) alone; return those of each outcome.

    A directory is opened in each of the ways.  Of the outcomes that are foreseen, one in a thousand is tried.
    """
    expected = {way: way(shutil.copytree(base, place / str(number))) for number, way in enumerate(ways)}
    shutil.rmtree(place)
    data = (base / file).read_bytes()
    found: dict[str, list[tuple[int, int]]] = {}
    for number, (byte, bit) in enumerate(flips):
        damaged = flip(data, byte, bit)
        foreseen = foresee(damaged, byte)
        results = dict(foreseen)
        for way in ways:
            if way not in foreseen or number % 1000 == 0:
                shutil.copytree(base, place)
                (place / file).write_bytes(damaged)
                results[way] = outcome(place, way, expected[way])
                shutil.rmtree(place)
                assert foreseen.get(way) in (None, results[way]), (byte, bit, results[way])
        for result in set(results.values()):
            found.setdefault(result, []).append((byte, bit))
    return found
