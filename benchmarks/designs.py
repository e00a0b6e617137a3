"""Every registered agent: compiled, one thread, against the same agent in the reference engine."""

from __future__ import annotations

import time

from benchmarks.engine import everlearn_seconds
from everlearn.agents.registry import AGENTS, make_design
from everlearn.engine.plan import Plan
from everlearn.engine.runner import simulate
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task


def by_design(steps: int = 500_000, runs: int = 16, reference_steps: int = 10_000) -> list[dict[str, str]]:
    """Measure each agent on the service station."""
    table = make_table(make_task("service-station"))
    rows = []
    for name in AGENTS:
        design = make_design(name, duration=steps)
        everlearn_seconds(Plan(table.task, design, 1000, runs, 1), table, 1)
        compiled = min(everlearn_seconds(Plan(table.task, design, steps, runs, 1), table, 1)[0] for _ in range(3))
        began = time.perf_counter()
        simulate(Plan(table.task, design, reference_steps, 1, 1), None)
        reference = (time.perf_counter() - began) / reference_steps
        each = compiled / steps / runs
        rows.append(
            {
                "agent": name,
                "compiled, ns per step": f"{1e9 * each:.1f}",
                "reference engine, ns per step": f"{1e9 * reference:,.0f}",
                "times faster": f"{reference / each:,.0f}",
            }
        )
    return rows
