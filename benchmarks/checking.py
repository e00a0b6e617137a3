"""What checking a user's own agent costs: the same agent compiled with checks and without, on one core.

Without checks, runs are advanced one after the other; with them they are stacked, side by side, and each sees its own
part alone.  With a single run both sides do the same work.  Both are measured in CPU time, in alternating rounds.
"""

from __future__ import annotations

import time
from dataclasses import replace

from examples.own_agent import r_learning

from everlearn.agents.design import Design
from everlearn.agents.registry import make_design
from everlearn.engine.compiled import simulate_compiled
from everlearn.engine.plan import Plan
from everlearn.tables import AnyTable, make_table
from everlearn.tasks.registry import make_task

AGENTS = ("growing-horizon", "q-learning", "r-learning", "differential-q", "ucb-h", "tsde")


def checked(steps: int = 4_000_000, rounds: int = 4) -> list[dict[str, str]]:
    """Measure agents as if they were the user's own, and as if they were not, in alternating rounds.

    With one run, both sides do the same work and the cost is that of the checks.  With 16, it is what a user gets.
    """
    rows = []
    designs = {"examples/own_agent.py": make_design(r_learning)}
    designs.update({name: make_design(name, duration=steps) for name in AGENTS})
    for name, design in designs.items():
        for task in ("riverswim", "service-station"):
            table = make_table(design.view(make_task(task)))
            row = {"agent": name, "task": task}
            for runs in (1, 16):
                both = [_made(design, own) for own in (False, True)]
                for made in both:
                    _seconds(Plan(table.task, made, 1000, runs, 1), table)
                plans = [Plan(table.task, made, steps // runs, runs, 1) for made in both]
                seconds = [[_seconds(plan, table) for plan in plans] for _ in range(rounds)]
                without, with_checks = (min(column) for column in zip(*seconds, strict=True))
                row |= {
                    f"unchecked, {runs} at once, ns per step": f"{1e9 * without / steps:.1f}",
                    f"checked, {runs} at once, ns per step": f"{1e9 * with_checks / steps:.1f}",
                    f"cost, {runs} at once": f"{with_checks / without - 1:+.0%}",
                }
            rows.append(row)
    return rows


def _seconds(plan: Plan, table: AnyTable) -> float:
    began = time.process_time()
    simulate_compiled(plan, table, threads=1)
    return time.process_time() - began


def _made(design: Design, own: bool) -> Design:
    made = replace(design, by_state=False, infinite=False)
    vars(made)["own"] = own
    return made
