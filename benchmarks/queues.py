"""Networks of unbounded queues under a rule: the speed of the simulation, and the time to certify the optimum."""

from __future__ import annotations

import time

from benchmarks.engine import everlearn_seconds
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task
from everlearn.theory.network import network_optimum

REGIMES, JOBS = ("IL", "IM"), {"IL": 30, "IM": 60}
RULE, STEPS, RUNS, ROUNDS = "max-weight", 250_000, 8, 3


def by_regime() -> list[dict[str, str]]:
    """Measure each regime of the criss-cross network, in processor time; the first round expands the table."""
    rows = []
    for regime in REGIMES:
        task = make_task("criss-cross", {"regime": regime, "seen": 1, "outside": RULE})
        table, design = make_table(task), make_design("always", {"policy": RULE})
        plan = Plan(task, design, STEPS, RUNS, 1)
        rounds = []
        for _ in range(ROUNDS):
            began = time.process_time()
            everlearn_seconds(plan, table, 1)
            rounds.append(time.process_time() - began)
        began = time.process_time()
        found = network_optimum(task.network, JOBS[regime])
        rows.append(
            {
                "regime": regime,
                "lengths expanded": f"{table.expanded:,}",
                "first round, ns per event": f"{1e9 * rounds[0] / STEPS / RUNS:.0f}",
                "best round, ns per event": f"{1e9 * min(rounds) / STEPS / RUNS:.1f}",
                "least cost": f"{-found.upper:.6f} to {-found.lower:.6f}",
                "certifying, seconds": f"{time.process_time() - began:.1f}",
            }
        )
    return rows
