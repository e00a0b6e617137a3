"""Mistakes in schedules of a user's own."""

from __future__ import annotations

from tests.boundary.mistake import Mistake

RUN = "everlearn run riverswim --schedule mine:schedule --steps 1e3 --engine {engine}"


def row(title: str, horizon: str, answer: str, before: str = "", call: str = RUN) -> Mistake:
    """A schedule with this horizon, after some lines."""
    text = f"""\
import everlearn as el
{before}
schedule = el.Schedule({horizon}, lambda t: 0.5, lambda t: 0.0, lambda t: 1.0)
"""
    return Mistake(group="schedules", title=title, files={"mine.py": text}, call=call, answer=answer)


DEFINED = "\n\ndef horizon(t):\n    {body}\n\n"

SPEC = """steps = 1e3
task = "riverswim"

[[agent]]
name = "growing-horizon"
KEY = 0.1
"""

MISTAKES = [
    row("a horizon below 1", "lambda t: 0.5", "horizon at t = 1: 0.5; must be at least 1"),
    row(
        "a horizon that falls below 1",
        "lambda t: 700 / t",
        "horizon at t = 701: 0.9985734664764622; must be at least 1",
    ),
    row("a horizon that is NaN", "lambda t: float('nan')", "horizon at t = 1: nan; must be finite"),
    row("a horizon that is a string", "lambda t: '10'", "horizon at t = 1: '10'; must be a number"),
    row("a horizon that is missing", "lambda t: None", "horizon at t = 1: None; must be a number"),
    row("a horizon that is a number", "10", "horizon of the schedule: 10; give a function of t"),
    row(
        "a horizon that is random",
        "lambda t: 10 + random.random()",
        "schedule 'mine:schedule': horizon uses random.random (mine.py, line 4); a schedule is a function of t alone",
        before="import random\n",
    ),
    row(
        "a horizon that depends on the clock",
        "lambda t: time.time()",
        "schedule 'mine:schedule': horizon uses time.time (mine.py, line 4); a schedule is a function of t alone",
        before="import time\n",
    ),
    row(
        "a horizon that reads a global list",
        "lambda t: horizons[0]",
        "schedule 'mine:schedule': horizon uses horizons (mine.py, line 4); a schedule is a function of t alone",
        before="horizons = [10.0]\n",
    ),
    row(
        "a horizon that raises an exception",
        "horizon",
        "schedule 'mine:schedule': horizon raised ZeroDivisionError at t = 700: division by zero (mine.py, line 5)",
        before=DEFINED.format(body="return 10 + 1 / (700 - t)"),
    ),
    Mistake(
        group="schedules",
        title="a schedule that is a function of t",
        files={"mine.py": "def schedule(t):\n    return 10.0\n"},
        call=RUN,
        answer=(
            "schedule: 'mine:schedule'; is a function of (t), not a schedule; give a schedule, as in el.Schedule(...), "
            "or a function without required arguments that returns one"
        ),
    ),
    Mistake(
        group="schedules",
        title="a schedule for an agent that takes none",
        files={},
        call="everlearn run riverswim --agent always --schedule smooth --engine {engine}",
        answer="schedule: 'smooth'; the agent 'always' takes no schedule; leave it out",
    ),
    Mistake(
        group="schedules",
        title="a schedule that does not exist",
        files={},
        call="everlearn run riverswim --schedule fixd --engine {engine}",
        answer=(
            "schedule: 'fixd'; known: change-points, fixed, practical, smooth (did you mean fixed?); "
            "or name your own as module:attribute"
        ),
    ),
    Mistake(
        group="schedules",
        title="forgetting for an agent that takes no schedule",
        files={},
        call="everlearn run riverswim --agent versatile --set schedule.forgetting=0.1 --engine {engine}",
        answer="schedule: 'schedule.forgetting'; the agent 'versatile' takes no schedule; leave it out, or give "
        "growing-horizon; versatile and planner forget by themselves",
    ),
    Mistake(
        group="schedules",
        title="forgetting for a schedule that does not take it",
        files={},
        call="everlearn run riverswim --schedule smooth --set schedule.forgetting=0.1 --engine {engine}",
        answer="parameter: 'schedule.forgetting'; only practical takes it; smooth takes schedule.horizon_power, "
        "schedule.horizon_scale, schedule.optimism_power, schedule.optimism_scale",
    ),
    *(
        Mistake(
            group="specs",
            title=title,
            files={"mine.toml": SPEC.replace("KEY", key)},
            call="everlearn experiment run mine.toml --out out",
            answer=f"key: 'agent[1].{key}'; is a parameter of the schedule; write schedule_parameters.forgetting",
        )
        for title, key in (
            ("a parameter of the schedule among those of the agent", "parameters.forgetting"),
            ("a parameter of the schedule with a prefix in a spec", "parameters.schedule.forgetting"),
        )
    ),
]
