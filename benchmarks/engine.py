"""The compiled engine against the C program: the same job, the same results, alternating in one run."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.c_program import CProgram
from everlearn.agents.registry import make_design
from everlearn.engine.compiled import simulate_compiled
from everlearn.engine.plan import Plan
from everlearn.tables import ArrayTable, PairTable, make_table
from everlearn.tasks.registry import make_task

ROUNDS = 5


def everlearn_seconds(plan: Plan, table: PairTable | ArrayTable, threads: int) -> tuple[float, np.ndarray]:
    """Run a plan, and return how long it took and the sum of rewards of each run."""
    began = time.perf_counter()
    curves = simulate_compiled(plan, table, threads=threads)
    return time.perf_counter() - began, curves.total_reward[:, -1]


def against_c(steps: int = 1_000_000, runs: int = 128) -> list[dict[str, str]]:
    """Alternate C and everlearn, on one core and on two, best of several rounds each; refuse results that differ."""
    table = make_table(make_task("service-station"))
    program = CProgram(table)
    plan = Plan(table.task, make_design("growing-horizon", schedule="smooth"), steps, runs, 1)
    everlearn_seconds(Plan(plan.task, plan.design, 1000, runs, 1), table, 1)
    jobs = {
        "C, one core": lambda: program.seconds(steps, runs, 1),
        "C, two cores": lambda: both_halves(program, steps, runs),
        "everlearn, one thread": lambda: everlearn_seconds(plan, table, 1),
        "everlearn, two threads": lambda: everlearn_seconds(plan, table, 2),
    }
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(ROUNDS):
        totals = {}
        for name, job in jobs.items():
            seconds, totals[name] = job()
            best[name] = min(best[name], seconds)
        for name, total in totals.items():
            if not np.array_equal(total, totals["C, one core"]):
                raise SystemExit(f"{name}: the sums of rewards differ from the C program's")
    return [
        {
            "service-station, smooth schedule": name,
            "ns per step": f"{1e9 * seconds / steps / runs:.1f}",
            "million steps per second": f"{steps * runs / seconds / 1e6:.0f}",
            "relative to C": f"{best[name.replace('everlearn', 'C').replace('thread', 'core')] / seconds:.2f}",
            "relative to one core": f"{_one(best, name) / seconds:.2f}",
        }
        for name, seconds in best.items()
    ]


def _one(best: dict[str, float], name: str) -> float:
    return best["C, one core" if name.startswith("C") else "everlearn, one thread"]


def both_halves(program: CProgram, steps: int, runs: int) -> tuple[float, np.ndarray]:
    """Run the C program on two cores, each with half of the runs."""
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        halves = range(runs // 2), range(runs // 2, runs)
        totals = list(pool.map(lambda half: program.seconds_of(steps, half, 1)[1], halves))
    return time.perf_counter() - began, np.concatenate(totals)
