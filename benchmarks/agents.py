"""Ten thousand agents in one service: how soon it starts, what they take, how long the first request of each waits."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.service import free_port
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store

MANY = 10_000
STEPS = 20
"""Rows in the journal of each agent, which are replayed when it is loaded."""


def by_the_thousand() -> list[dict[str, str]]:
    """Serve no agents; then many that differ in their seeds alone; then many of which each has its own schedule."""
    rows = []
    for what, number, own in (("none", 0, False), ("equal setups", MANY, False), ("own schedules", MANY, True)):
        folder = Path(tempfile.mkdtemp(prefix="everlearn-bench-"))
        try:
            _create(folder, number, own)
            rows.append({"agents": f"{number:,} ({what})", **_measure(folder, number)})
        finally:
            shutil.rmtree(folder)
    return rows


def _create(folder: Path, number: int, own: bool) -> None:
    """Write agents of ten values to a directory."""
    with Store(folder) as store:
        store.connection.execute("PRAGMA synchronous = OFF")  # the disk is not what is measured
        for seed in range(1, number + 1):
            setup = make_setup(
                actions=["wait", "serve"],
                observations=["calm", "busy", "full", "late"],
                reward_range=[0, 1],
                parameters={"schedule.horizon_scale": 12 + seed / MANY} if own else {},
                seed=seed,
            )
            core, rows = store.create(_name(seed), setup), []
            for step in range(STEPS):
                core.act()
                rows.append((core.number, core.prepare("busy" if step % 3 else "calm", reward=0.5)))
                core.apply(rows[-1][1])
            store.append(rows)


def _name(seed: int) -> str:
    return f"agent-{seed}"


def _measure(folder: Path, number: int) -> dict[str, str]:
    with _serving(folder) as (process, port, started), closing(_connect(port)) as client:
        first_memory, first_handles = _memory(process), _handles(process)
        listing = _timed(client, "GET", "/v1/agents")
        metrics = _timed(client, "GET", "/metrics")
        waits = sorted(_timed(client, "POST", f"/v1/agents/{_name(seed)}/act") for seed in range(1, number + 1))
        memory, handles = _memory(process), _handles(process)
    each = f"{(memory - first_memory) / number / 1000:.0f} kB" if number else ""
    return {
        "ready, s": f"{started:.2f}",
        "list, ms": f"{1e3 * listing:.0f}",
        "metrics, ms": f"{1e3 * metrics:.0f}",
        "first request, ms (p50, p99)": f"{_at(waits, 50)}, {_at(waits, 99)}" if waits else "",
        "memory, none and all loaded, MB": f"{first_memory / 1e6:.0f}, {memory / 1e6:.0f}",
        "memory per agent": each,
        "file handles": f"{first_handles}, {handles}",
    }


def _at(waits: list[float], percent: int) -> str:
    return f"{1e3 * waits[len(waits) * percent // 100]:.1f}"


@contextmanager
def _serving(folder: Path) -> Iterator[tuple[int, int, float]]:
    """Start a service, and yield its process number, its port, and the seconds until it was ready."""
    port = free_port()
    code = "from everlearn.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", "--data", str(folder), "--port", str(port), "--log-level", "error"]
    began = time.perf_counter()
    process = subprocess.Popen(command)
    try:
        while not _is_ready(port):
            if time.perf_counter() - began > 600:
                raise SystemExit("benchmarks: the server did not start")
            time.sleep(0.01)
        yield process.pid, port, time.perf_counter() - began
    finally:
        process.terminate()
        process.wait()


def _is_ready(port: int) -> bool:
    try:
        with closing(_connect(port)) as client:
            return _answer(client, "GET", "/readyz").status == 200
    except OSError:
        return False


def _connect(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=600)


def _answer(client: http.client.HTTPConnection, method: str, path: str) -> Any:
    client.request(method, path, json.dumps({}) if method == "POST" else None, {"Content-Type": "application/json"})
    response = client.getresponse()
    response.read()
    return response


def _timed(client: http.client.HTTPConnection, method: str, path: str) -> float:
    began = time.perf_counter()
    if (status := _answer(client, method, path).status) != 200:
        raise SystemExit(f"benchmarks: {method} {path} was answered with {status}")
    return time.perf_counter() - began


def _memory(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return 1000 * int(status.partition("VmRSS:")[2].split()[0])


def _handles(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))
