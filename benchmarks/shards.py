"""The service with one shard and with several: processor time per step, front included, and steps per second."""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.service import MANY, free_port, load

ROUNDS = 40
SECONDS = 0.5
OPTIONS = {"no front": (), "1 shard": ("--shards", "1"), "2 shards": ("--shards", "2")}


class Round(NamedTuple):
    """What was measured in a short time."""

    rate: float  # steps per second
    cost: float  # seconds of all its processors per step
    times: list[float]  # how long each step took, in seconds


def by_shards() -> list[dict[str, str]]:
    """Send steps of many agents to each service in turn, in short rounds; compare medians of neighbours in time."""
    rounds: dict[str, list[Round]] = {name: [] for name in OPTIONS}
    with ExitStack() as stack:
        running = {name: stack.enter_context(_running(*options)) for name, options in OPTIONS.items()}
        for _, port in running.values():
            asyncio.run(load(port, MANY, 2.0))  # warm up
        for _ in range(ROUNDS):
            for name, (process, port) in running.items():
                rounds[name].append(_measure(process, port))
    return [_row(name, rounds) for name in OPTIONS]


def _row(name: str, rounds: dict[str, list[Round]]) -> dict[str, str]:
    pairs = list(zip(rounds[name], rounds["1 shard"], strict=True))
    times = sorted(each for found in rounds[name] for each in found.times)
    return {
        "64 agents, each with a client": name,
        "steps per second": f"{statistics.median(found.rate for found in rounds[name]):,.0f}",
        "CPU per step, µs": f"{1e6 * statistics.median(found.cost for found in rounds[name]):.0f}",
        "CPU, of one shard": f"{statistics.median(found.cost / other.cost for found, other in pairs):.2f}",
        "steps, of one shard": f"{statistics.median(found.rate / other.rate for found, other in pairs):.2f}",
        "p50, ms": f"{1e3 * times[len(times) // 2]:.2f}",
        "p99, ms": f"{1e3 * times[len(times) * 99 // 100]:.2f}",
    }


def _measure(process: int, port: int) -> Round:
    times: list[float] = []
    while not times:  # on a busy machine, connecting alone may take the whole round
        before = _processor_time(process)
        rate, times = asyncio.run(load(port, MANY, SECONDS))
    return Round(rate, (_processor_time(process) - before) / len(times), times)


def _processor_time(process: int) -> float:
    """Return the seconds that a process, and all that it has started, have used on processors, to the microsecond."""
    threads = Path(f"/proc/{process}/task").glob("*")
    total = sum(int((thread / "schedstat").read_text().split()[0]) / 1e9 for thread in threads)
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return total + sum(_processor_time(int(child)) for child in children)


@contextmanager
def _running(*options: str) -> Iterator[tuple[int, int]]:
    """Start a service with its agents, and yield its process and its port."""
    folder, port = Path(tempfile.mkdtemp(prefix="everlearn-bench-")), free_port()
    code = "from everlearn.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", "--data", str(folder / "data"), "--port", str(port)]
    process = subprocess.Popen([*command, "--log-level", "error", *options])
    try:
        _until_ready(port)
        for number in range(MANY):
            setup = {"task": "service-station", "schedule": "smooth"}
            _request(port, "/v1/agents", json.dumps({"name": f"a{number}", "setup": setup}).encode())
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _until_ready(port: int) -> None:
    for _ in range(600):
        try:
            _request(port, "/readyz")
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("benchmarks: the service did not start")


def _request(port: int, path: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"})
    answer: bytes = urllib.request.urlopen(request).read()
    return answer
