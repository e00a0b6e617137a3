"""Everlearn against an earlier version of it: ``python -m benchmarks.earlier DIR`` with the sources of that version.

Both versions do the same work in short rounds that alternate, ten pairs.  The ratio of a pair compares neighbours in
time; the interval is Student's, for the mean logarithm of the ratios.  CPU time is that of all threads of a process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import PIPE

from rich.console import Console
from scipy.stats import t

from benchmarks.__main__ import tabulated
from benchmarks.service import Server, load, running

ROOT = Path(__file__).parents[1]

PAIRS, ROUNDS, SECONDS = 10, 5, 0.4
COUNTS = (1, 16, 64)

WORK = """
import sys, tempfile, time
import everlearn as el

def run(steps, **given):
    return lambda: (el.run("riverswim", steps=steps, runs=8, seed=1, **given), 8 * steps)[1]

def live():
    for observation in 500 * ("arrival", "nothing", "departure", "nothing"):
        agent.act()
        agent.observe(observation)
    return 2000

WORK = {
    "engine, smooth, 8 x 1e6 steps": run(1_000_000, schedule="smooth", threads=1),
    "engine, practical, 8 x 1e6 steps": run(1_000_000, agent="growing-horizon", threads=1),
    "q-learning, 8 x 1e6 steps": run(1_000_000, agent="q-learning", threads=1),
    "el.run, 8 x 100 steps": run(100, agent="growing-horizon"),
    "live agent on disk, 2000 steps": live,
}
agent = el.live(tempfile.mkdtemp(dir=sys.argv[1]), "service-station", schedule="smooth", seed=1)
for work in WORK.values():
    work()
for line in sys.stdin:
    wall, busy = time.perf_counter(), time.process_time()
    steps = WORK[line.strip()]()
    print((time.perf_counter() - wall) / steps, (time.process_time() - busy) / steps, flush=True)
"""
"""What both versions do in process; a line names the work of a round and is answered with its times per step."""

IN_PROCESS = [line.split('"')[1] for line in WORK.splitlines() if line.startswith('    "')]

Times = tuple[float, float]
"""Wall time and CPU time per step, in seconds."""


def against(folder: Path) -> list[dict[str, str]]:
    """Compare the service with that of another folder, for each number of agents."""
    with running("service", folder) as earlier, running("service") as present:
        for server in (earlier, present):  # warm up
            asyncio.run(load(server.port, max(COUNTS), 2.0))
        return [
            _row(f"service, {agents} agents", [_pair(earlier, present, agents) for _ in range(PAIRS)])
            for agents in COUNTS
        ]


def in_process(folder: Path) -> list[dict[str, str]]:
    """Compare the engine, short runs and durable agents with those of another folder."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as scratch, contextlib.ExitStack() as stack:
        versions = [stack.enter_context(_worker(sources, scratch)) for sources in (folder, ROOT / "src")]
        return [_row(name, [_rounds(versions, name) for _ in range(PAIRS)]) for name in IN_PROCESS]


@contextlib.contextmanager
def _worker(sources: Path, scratch: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that works with the sources of a folder."""
    cache = Path(scratch) / f"cache-{hash(sources)}"
    environment = {**os.environ, "PYTHONPATH": str(sources), "EVERLEARN_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", WORK, scratch]
    with subprocess.Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:
        yield process
        process.kill()


def _rounds(versions: Sequence[subprocess.Popen[str]], name: str) -> tuple[Times, Times]:
    """Return the times of both versions, each the sum of rounds that alternate."""
    sums = {0: [0.0, 0.0], 1: [0.0, 0.0]}
    for number in range(2 * ROUNDS):
        version = (number + number // 2) % 2  # each is first as often as the other
        process = versions[version]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(name + "\n")
        process.stdin.flush()
        for place, seconds in enumerate(map(float, process.stdout.readline().split())):
            sums[version][place] += seconds / ROUNDS
    return (sums[0][0], sums[0][1]), (sums[1][0], sums[1][1])


def _pair(earlier: Server, present: Server, agents: int) -> tuple[Times, Times]:
    """Return the times of both services."""
    steps, wall, cpu = {}, {}, {}
    for number in range(2 * ROUNDS):
        server = (earlier, present)[(number + number // 2) % 2]
        began = server.cpu()
        rate, times = asyncio.run(load(server.port, agents, SECONDS))
        steps[server] = steps.get(server, 0) + len(times)
        wall[server] = wall.get(server, 0.0) + len(times) / rate
        cpu[server] = cpu.get(server, 0.0) + server.cpu() - began
    return tuple((wall[server] / steps[server], cpu[server] / steps[server]) for server in (earlier, present))


def _row(work: str, pairs: list[tuple[Times, Times]]) -> dict[str, str]:
    row = {"": work}
    for place, name in enumerate(("time", "CPU time")):
        before, after = ([version[place] for version in column] for column in zip(*pairs, strict=True))
        ratios = [math.log(b / a) for a, b in zip(before, after, strict=True)]
        mean = statistics.mean(ratios)
        half = t.ppf(0.975, len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
        row[f"{name} per step, us: earlier"] = f"{1e6 * statistics.median(before):.3g}"
        row["now" if place == 0 else "CPU, now"] = f"{1e6 * statistics.median(after):.3g}"
        row[f"ratio of {name} (95 %)"] = (
            f"{math.exp(mean):.2f} ({math.exp(mean - half):.2f} to {math.exp(mean + half):.2f})"
        )
    return row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare everlearn with an earlier version of it.")
    parser.add_argument("sources", type=Path, help="the src/ directory of the earlier version")
    sources = parser.parse_args().sources.resolve()
    if not (sources / "everlearn" / "__init__.py").exists():  # else Python would import the installed version twice
        parser.error(f"{sources} has no everlearn package: give the src/ directory of the earlier version")
    console = Console(width=140)
    console.print(tabulated("In process, against an earlier version", in_process(sources)))
    console.print(tabulated("The service against an earlier version", against(sources)))
