"""The family of queueing networks, from 2 memories to a million: making one, solving it, and running on it."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.engine import everlearn_seconds
from benchmarks.size import random_task
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task
from everlearn.theory.report import Theory

NETWORKS: list[dict[str, Any]] = [
    {"queues": 1, "capacity": 1, "window": 0},
    {"queues": 2, "capacity": 3, "window": 3},
    {"queues": 2, "capacity": 20, "window": 10},
    {"queues": 2, "capacity": 95, "window": 10},
    {"queues": 2, "capacity": 300, "window": 10},
]
"""The last two have 101,376 and 996,611 memories."""

SOLVED = 110_000
"""Up to how many memories the optimum is computed."""

STEPS, RUNS, ROUNDS = 200_000, 8, 3


def by_network() -> list[dict[str, str]]:
    """Measure each network, beside a random task with as many memories."""
    rows = []
    for chosen in NETWORKS:
        began = time.perf_counter()
        task = make_task("queueing-network", chosen)
        table = make_table(task)
        made = time.perf_counter() - began
        memories = len(task.observations)
        optimum, solved = "", ""
        if memories <= SOLVED:
            began = time.perf_counter()
            found = Theory(task).optimum
            optimum = f"{found.average_reward:.9f} ± {(found.upper - found.lower) / 2:.0e}"
            solved = f"{time.perf_counter() - began:.1f}"
        rows.append(
            {
                "queues × places, levels": f"{chosen['queues']} × {chosen['capacity']}, {chosen['window'] + 1}",
                "memories": f"{memories:,}",
                "building, seconds": f"{made:.1f}",
                "optimum per step": optimum,
                "solving, seconds": solved,
                "ns per step": f"{nanoseconds(table):.1f}",
                "random task of that size": f"{nanoseconds(make_table(random_task(memories))):.1f}",
            }
        )
    return rows


def nanoseconds(table: Any) -> float:
    """Return what a step of the paper's agent takes on one core, best of several rounds."""
    design = make_design("growing-horizon", schedule="smooth")
    everlearn_seconds(Plan(table.task, design, 100, RUNS, 1), table, 1)
    plan = Plan(table.task, design, STEPS, RUNS, 1)
    return 1e9 * min(everlearn_seconds(plan, table, 1)[0] for _ in range(ROUNDS)) / STEPS / RUNS
