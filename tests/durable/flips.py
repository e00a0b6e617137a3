"""Small directories to damage bit by bit, and what becomes of them when they are opened."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import everlearn as el
from everlearn.durable.live import NAME
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import EverlearnError
from tests.durable.worlds import whole

SETUP = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1), "agent": "q-learning"}
AGENTS = ((NAME, 17), ("other", 9), ("third", 4))
"""The agents and their numbers of rows; the first is the one that ``el.live`` opens."""


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


def flip(path: Path, data: bytes, byte: int, bit: int) -> None:
    """Write contents to a file, with one bit flipped."""
    damaged = bytearray(data)
    damaged[byte] ^= 1 << bit
    path.write_bytes(damaged)


def outcomes(base: Path, place: Path, file: str, flips: Iterable[tuple[int, int]]) -> dict[str, list[tuple[int, int]]]:
    """Flip bits of a file of a directory, each (byte, bit) in a copy of its own; return those of each outcome."""
    expected = state(shutil.copytree(base, place))
    shutil.rmtree(place)
    data = (base / file).read_bytes()
    found: dict[str, list[tuple[int, int]]] = {}
    for byte, bit in flips:
        flip(shutil.copytree(base, place) / file, data, byte, bit)
        found.setdefault(outcome(place, expected), []).append((byte, bit))
        shutil.rmtree(place)
    return found
