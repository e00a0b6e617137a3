"""Measure the speed of an agent alone: steps per second of processor time of one thread, without compilation."""

from __future__ import annotations

import time

from everlearn.api import run
from everlearn.experiments.spec import AgentEntry

TASK = "riverswim"
RUNS = 8
"""The number of runs that are computed together, and share the schedule, as in an experiment."""

LEAST = 0.3
"""The least number of seconds that are measured."""

FIRST = 5000
"""The number of steps of the run that compiles."""


def steps_per_second(entry: AgentEntry) -> float:
    """Return how many steps on RiverSwim an agent takes per second of processor time.

    A first run compiles the agent, with so many steps that the compiler meets all that a longer run needs.  The number
    of steps of the following runs grows until one takes long enough to be measured.
    """
    parameters = {f"agent.{name}": values[0] for name, values in entry.parameters.items()}
    parameters |= {f"schedule.{name}": values[0] for name, values in entry.schedule_parameters.items()}
    options = {"schedule": entry.schedules[0], "parameters": parameters, "runs": RUNS, "threads": 1}
    steps, seconds = 100, 0.0
    run(TASK, entry.given, steps=FIRST, **options)
    while seconds < LEAST:
        steps = int(steps * min(20.0, 1.5 * LEAST / seconds if seconds > 0.01 else 20.0))
        began = time.process_time()
        run(TASK, entry.given, steps=steps, **options)
        seconds = time.process_time() - began
    return RUNS * steps / seconds
