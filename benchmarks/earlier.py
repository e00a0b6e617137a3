"""The service against an earlier version of it: ``python -m benchmarks.earlier DIR`` with the sources of that version.

Both serve the same client in short rounds that alternate, ten pairs.  The ratio of a pair compares neighbours in time;
the interval is Student's, for the mean logarithm of the ratios.  CPU time is that of all threads of the server.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import sys
from pathlib import Path

from rich.console import Console
from scipy.stats import t

from benchmarks.__main__ import tabulated
from benchmarks.service import Server, load, running

PAIRS, ROUNDS, SECONDS = 10, 5, 0.4
COUNTS = (1, 16, 64)


def against(folder: Path) -> list[dict[str, str]]:
    """Compare the service with that of another folder, for each number of agents."""
    with running("service", folder) as earlier, running("service") as present:
        for server in (earlier, present):  # warm up
            asyncio.run(load(server.port, max(COUNTS), 2.0))
        return [_row(agents, [_pair(earlier, present, agents) for _ in range(PAIRS)]) for agents in COUNTS]


def _pair(earlier: Server, present: Server, agents: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return wall time and CPU time per step, of both versions."""
    steps, wall, cpu = {}, {}, {}
    for number in range(2 * ROUNDS):
        server = (earlier, present)[(number + number // 2) % 2]  # each is first as often as the other
        began = server.cpu()
        rate, times = asyncio.run(load(server.port, agents, SECONDS))
        steps[server] = steps.get(server, 0) + len(times)
        wall[server] = wall.get(server, 0.0) + len(times) / rate
        cpu[server] = cpu.get(server, 0.0) + server.cpu() - began
    return tuple((wall[server] / steps[server], cpu[server] / steps[server]) for server in (earlier, present))


def _row(agents: int, pairs: list[tuple[tuple[float, float], tuple[float, float]]]) -> dict[str, str]:
    row = {"agents, each with a client": str(agents)}
    for place, name in enumerate(("time", "CPU time")):
        before, after = ([version[place] for version in column] for column in zip(*pairs, strict=True))
        ratios = [math.log(b / a) for a, b in zip(before, after, strict=True)]
        mean = statistics.mean(ratios)
        half = t.ppf(0.975, len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
        row[f"{name} per step, us: earlier"] = f"{1e6 * statistics.median(before):.0f}"
        row["now" if place == 0 else "CPU, now"] = f"{1e6 * statistics.median(after):.0f}"
        row[f"ratio of {name} (95 %)"] = (
            f"{math.exp(mean):.2f} ({math.exp(mean - half):.2f} to {math.exp(mean + half):.2f})"
        )
    return row


if __name__ == "__main__":
    Console(width=140).print(tabulated("The service against an earlier version", against(Path(sys.argv[1]))))
