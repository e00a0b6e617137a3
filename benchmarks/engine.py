"""The compiled engine against the C program: the same job, the same results, alternating in one run."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.c_program import CProgram
from everlearn.agents.registry import make_design
from everlearn.engine.compiled import simulate_compiled
from everlearn.engine.plan import Plan
from everlearn.engine.table import ArrayTable, PairTable, make_table
from everlearn.tasks.registry import make_task

ROUNDS = 5


def everlearn_seconds(plan: Plan, table: PairTable | ArrayTable, threads: int) -> tuple[float, np.ndarray]:
    """Run a plan, and return how long it took and the sum of rewards of each run."""
    began = time.perf_counter()
    finished = list(simulate_compiled(plan, table, threads=threads))
    return time.perf_counter() - began, np.array([one.total_reward[-1] for one in finished])


def against_c(steps: int = 1_000_000, runs: int = 64) -> list[dict[str, str]]:
    """Alternate C, one thread and two threads, best of several rounds each; refuse results that differ."""
    table = make_table(make_task("service-station"))
    program = CProgram(table)
    plan = Plan(table.task, make_design("growing-horizon", schedule="smooth"), steps, runs, 1)
    everlearn_seconds(Plan(plan.task, plan.design, 1000, runs, 1), table, 1)
    best = {"C, one core": np.inf, "everlearn, one thread": np.inf, "everlearn, two threads": np.inf}
    for _ in range(ROUNDS):
        seconds, expected = program.seconds(steps, runs, 1)
        best["C, one core"] = min(best["C, one core"], seconds)
        for threads, name in ((1, "everlearn, one thread"), (2, "everlearn, two threads")):
            seconds, total = everlearn_seconds(plan, table, threads)
            if not np.array_equal(total, expected):
                raise SystemExit(f"{name}: the sums of rewards differ from the C program's")
            best[name] = min(best[name], seconds)
    c = best["C, one core"]
    return [
        {
            "service-station, smooth schedule": name,
            "ns a step": f"{1e9 * seconds / steps / runs:.1f}",
            "million steps a second": f"{steps * runs / seconds / 1e6:.0f}",
            "of C on one core": f"{c / seconds:.2f}",
        }
        for name, seconds in best.items()
    ]
