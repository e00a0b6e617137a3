"""What a durable agent costs: against the bare commit of the same row, in recovery, and in memory over 1e6 steps."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import everlearn as el
from everlearn.durable.database import INSERT_ROW, connect, create_tables
from everlearn.durable.entry import Entry
from everlearn.durable.store import Store

ROUNDS, STEPS = 60, 200
LONG, GROUP = 1_000_000, 1000
OBSERVATIONS = ("arrival", "nothing", "departure", "nothing")

REOPEN = """
import sys, time
began = time.perf_counter()
import everlearn as el
from everlearn.durable.core import Core
imported = time.perf_counter()
replayed, apply = [], Core.apply
Core.apply = lambda core, entry: (replayed.append(1), apply(core, entry))
busy = time.process_time()
agent = el.live(sys.argv[1])
print(imported - began, time.perf_counter() - imported, time.process_time() - busy, len(replayed), agent.step)
"""


def durable() -> list[dict[str, str]]:
    """Measure all three, and return them as rows of one table."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        return [*_rates(Path(folder)), *_long(Path(folder))]


def _rates(folder: Path) -> list[dict[str, str]]:
    """Alternate rounds of bare commits and of act and observe; the disk varies, so that the medians are compared."""
    bare = connect(folder / "bare.db")
    create_tables(bare)
    seconds: dict[str, list[float]] = {"bare": [], "live": [], "memory": []}
    with el.live(folder / "live", "service-station", schedule="smooth", seed=1) as agent:
        plain = el.Agent("service-station", schedule="smooth", seed=1)
        agent.act()
        row = agent.core.prepare("arrival")
        for number in range(ROUNDS):
            seconds["bare"].append(_commits(bare, row, number * STEPS))
            seconds["live"].append(_steps(agent))
            seconds["memory"].append(_steps(plain))
    bare.close()
    cost = {name: statistics.median(found) / STEPS for name, found in seconds.items()}
    ratio = statistics.median(b / a for b, a in zip(seconds["bare"], seconds["live"], strict=True))
    return [
        _row("SQLite alone, one commit of the same row", f"{1 / cost['bare']:,.0f} per second"),
        _row("act and observe, durable", f"{1 / cost['live']:,.0f} per second, {ratio:.2f} of SQLite alone"),
        _row("act and observe, in memory", f"{1e6 * cost['memory']:.1f} us"),
    ]


def _commits(connection: Any, row: Entry, first: int) -> float:
    began = time.perf_counter()
    for seq in range(first + 1, first + STEPS + 1):
        connection.execute(INSERT_ROW, (1, seq, *row[1:]))
    return time.perf_counter() - began


def _steps(agent: Any) -> float:
    began = time.perf_counter()
    for step in range(STEPS):
        agent.act()
        agent.observe(OBSERVATIONS[step % 4])
    return time.perf_counter() - began


def _long(folder: Path) -> list[dict[str, str]]:
    """Take 1e6 steps less one, a thousand to a commit, with snapshots as usual; then recover in another process."""
    from everlearn.durable.setup import make_setup

    memory = {}
    with Store(folder / "long") as store:
        core = store.create("agent", make_setup(task="service-station", schedule="smooth", seed=1))
        entries = []
        for step in range(1, LONG):
            core.act()
            entry = core.prepare(OBSERVATIONS[step % 4])
            core.apply(entry)
            entries.append((core.number, entry))
            if len(entries) == GROUP or step == LONG - 1:
                store.append(entries, [core] if core.due else [])
                entries = []
            if step in (LONG // 10, LONG - 1):
                memory[step] = _resident()
        size = (folder / "long" / "everlearn.db").stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", REOPEN, str(folder / "long")], check=True, capture_output=True, text=True
    )
    imported, opened, busy, replayed, step = done.stdout.split()
    first, last = memory.values()
    return [
        _row("recovery after 999,999 steps", f"{float(opened):.2f} s, {float(busy):.2f} s of it computing"),
        _row("rows replayed in the recovery, up to step", f"{int(replayed):,}, {int(step):,}"),
        _row("import everlearn, before the recovery", f"{float(imported):.2f} s"),
        _row("on disk after 999,999 steps", f"{size / 1e6:.0f} MB"),
        _row("memory after 1e5 and after 1e6 steps", f"{first:.1f} MB, {last:.1f} MB"),
    ]


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _row(what: str, figure: str) -> dict[str, str]:
    return {"": what, "measured": figure}
