"""What checking a user's own agent costs: the same agent compiled with checks and without, on one core.

Without checks runs are advanced one after the other, as those of a design are whose arrays nobody stacks; with them
they are stacked and each is shown its own part alone.  Both are measured in CPU time, in alternating rounds.
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


def checked(steps: int = 300_000, runs: int = 16, rounds: int = 5) -> list[dict[str, str]]:
    """Measure agents as if they were the user's own, and as if they were not, in alternating rounds."""
    rows = []
    designs = {"examples/own_agent.py": make_design(r_learning)}
    designs.update({name: make_design(name, duration=steps) for name in AGENTS})
    for task in ("riverswim", "service-station"):
        table = make_table(make_task(task))
        for name, design in designs.items():
            both = [_made(design, own) for own in (False, True)]
            for one in both:
                _seconds(Plan(table.task, one, 1000, runs, 1), table)
            plans = [Plan(table.task, one, steps, runs, 1) for one in both]
            seconds = [[_seconds(plan, table) for plan in plans] for _ in range(rounds)]
            without, with_checks = (min(column) for column in zip(*seconds, strict=True))
            rows.append(
                {
                    "agent": name,
                    "task": task,
                    "unchecked, ns a step": f"{1e9 * without / steps / runs:.1f}",
                    "checked, ns a step": f"{1e9 * with_checks / steps / runs:.1f}",
                    "cost": f"{with_checks / without - 1:+.0%}",
                }
            )
    return rows


def _seconds(plan: Plan, table: AnyTable) -> float:
    began = time.process_time()
    simulate_compiled(plan, table, threads=1)
    return time.process_time() - began


def _made(design: Design, own: bool) -> Design:
    made = replace(design, by_state=False, infinite=False)
    vars(made)["own"] = own
    return made
