"""What checking a user's own agent costs: the same agent compiled with checks and without, on one core."""

from __future__ import annotations

from dataclasses import replace

from examples.own_agent import r_learning

from benchmarks.engine import everlearn_seconds
from everlearn.agents.design import Design
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.engine.table import make_table
from everlearn.tasks.registry import make_task

AGENTS = ("growing-horizon", "q-learning", "r-learning", "differential-q", "ucb-h", "tsde")


def checked(steps: int = 1_000_000, runs: int = 4, rounds: int = 5) -> list[dict[str, str]]:
    """Measure agents as if they were the user's own, and as if they were not, in alternating rounds."""
    rows = []
    designs = {"examples/own_agent.py": make_design(r_learning)}
    designs.update({name: make_design(name, duration=steps) for name in AGENTS})
    for task in ("riverswim", "service-station"):
        table = make_table(make_task(task))
        for name, design in designs.items():
            both = [_made(design, own) for own in (False, True)]
            for one in both:
                everlearn_seconds(Plan(table.task, one, 1000, runs, 1), table, 1)
            plans = [Plan(table.task, one, steps, runs, 1) for one in both]
            seconds = [[everlearn_seconds(plan, table, 1)[0] for plan in plans] for _ in range(rounds)]
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


def _made(design: Design, own: bool) -> Design:
    made = replace(design, by_state=False, infinite=False)
    vars(made)["own"] = own
    return made
