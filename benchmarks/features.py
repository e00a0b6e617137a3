"""Measure agents with features on one core, in processor time per step: ``python -m benchmarks.features``."""

from __future__ import annotations

import time

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.engine.runner import simulate, table_for
from everlearn.tasks.registry import make_task

WIDE = el.Features(lambda s: [6 * j + s for j in range(32)], active=32, size=192)
CASES: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("linear", "riverswim", {"features": WIDE}),
    ("q-lambda", "riverswim", {"features": WIDE, "trace": 0}),
    ("network", "riverswim", {}),
    ("network", "access-control", {"features": "factors"}),
    ("network", "access-control", {}),
)
STEPS = 300_000


def main() -> None:
    """Print nanoseconds per step, of acting and learning together."""
    for name, where, settings in CASES:
        task = make_task(where)
        design = make_design(name, settings, schedule="smooth" if name == "linear" else None)
        table = table_for(Plan(task, design, 10, 1, 1))
        seconds = []
        for _ in range(3):
            began = time.process_time()
            simulate(Plan(task, design, STEPS, 1, 1), table, threads=1)
            seconds.append(time.process_time() - began)
        inputs = getattr(design.build(table.indexed), "size", WIDE.size)
        print(f"{name} on {where}, {inputs} features: {min(seconds) / STEPS * 1e9:.0f} ns per step")


if __name__ == "__main__":
    main()
