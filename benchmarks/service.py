"""The service over HTTP against a bare endpoint that does the same commit, and many agents against one."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 40
SECONDS = 0.4
MANY = 64


def over_http() -> list[dict[str, str]]:
    """Send steps, one agent and many, to the service and to the bare endpoint, in short rounds that alternate.

    Medians over the rounds are compared, since others use the machine too.
    """
    found: dict[tuple[str, int], list[tuple[float, list[float]]]] = {}
    with running("service") as service, running("bare") as bare:
        for port in (bare.port, service.port):  # warm up
            asyncio.run(load(port, MANY, 2.0))
        for agents in (1, MANY) * ROUNDS:
            for name, server in (("bare", bare), ("service", service)):
                found.setdefault((name, agents), []).append(asyncio.run(load(server.port, agents, SECONDS)))
    return [_row(found, agents) for agents in (1, MANY)]


def _row(found: dict[tuple[str, int], list[tuple[float, list[float]]]], agents: int) -> dict[str, str]:
    rate = {key: statistics.median(rate for rate, _ in rounds) for key, rounds in found.items()}
    times = sorted(one for _, times in found["service", agents] for one in times)
    return {
        "agents, each with a client": str(agents),
        "service, steps per second": f"{rate['service', agents]:,.0f}",
        "bare endpoint": f"{rate['bare', agents]:,.0f}",
        "relative to the bare endpoint": f"{rate['service', agents] / rate['bare', agents]:.2f}",
        "relative to one agent": f"{rate['service', agents] / rate['service', 1]:.2f}",
        "p50, ms": f"{1e3 * times[len(times) // 2]:.2f}",
        "p99, ms": f"{1e3 * times[len(times) * 99 // 100]:.2f}",
    }


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    port: int
    process: int

    def cpu(self) -> float:
        """Return the seconds that its threads have computed."""
        threads = Path(f"/proc/{self.process}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


@contextmanager
def running(what: str, sources: Path | None = None) -> Iterator[Server]:
    """Start one of the two, with its agents; the service may be that of another folder of sources."""
    folder, port = Path(tempfile.mkdtemp(prefix="everlearn-bench-")), free_port()
    serve = ["-c", "from everlearn.cli.main import main; main()", "serve", "--data", str(folder), "--port", str(port)]
    command = {"service": [*serve, "--log-level", "error"], "bare": ["-m", "benchmarks.bare", str(folder), str(port)]}
    environment = {**os.environ, **({} if sources is None else {"PYTHONPATH": str(sources)})}
    process = subprocess.Popen([sys.executable, *command[what]], env=environment)
    try:
        _wait(port)
        if what == "service":
            for number in range(MANY):
                _create(port, f"a{number}")
        yield Server(port, process.pid)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int) -> None:
    for _ in range(1200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("benchmarks: the server did not start")


def _create(port: int, name: str) -> None:
    body = json.dumps({"name": name, "setup": {"task": "service-station", "schedule": "smooth"}}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/agents", body, headers)
    urllib.request.urlopen(request).read()


async def load(port: int, agents: int, seconds: float) -> tuple[float, list[float]]:
    """Let a client for each agent send steps for a while; return steps per second, and how long each took."""
    began = time.perf_counter()
    ends = began + seconds
    done = await asyncio.gather(*(_client(port, f"a{number}", ends) for number in range(agents)))
    passed = time.perf_counter() - began
    times = [one for times in done for one in times]
    return len(times) / passed, times


_NEXT: dict[tuple[int, str], int] = {}
"""The step that is due, by port and agent."""


async def _client(port: int, name: str, ends: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    step, times = _NEXT.get((port, name), 1), []
    while (began := time.perf_counter()) < ends:
        body = b'{"step":%d,"observation":"arrival"}' % step
        writer.write(
            b"POST /v1/agents/%s/step HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (name.encode(), len(body), body)
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head[:16]:
            raise SystemExit(f"benchmarks: {head[:40]!r}")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - began)
        step += 1
    _NEXT[port, name] = step
    writer.close()
    await writer.wait_closed()
    return times
