"""A step of an agent that is driven from Python, without compilation, as a live agent is."""

from __future__ import annotations

import statistics
import time

import everlearn as el
from everlearn.randomness import ENVIRONMENT, stream

TASKS = ("service-station", "riverswim", "access-control", "garnet")
AGENTS = ("growing-horizon", "planner", "versatile", "remembering")
WARM, MEASURED = 5000, 3000


def interpreted() -> list[dict[str, str]]:
    """Measure act and observe in processor time, after the agent has learned for a while."""
    return [{"task": task, **{name: f"{_median(task, name):.0f} us" for name in AGENTS}} for task in TASKS]


def _median(task: str, name: str) -> float:
    agent = el.Agent(task, name, seed=1)
    environment, spent = agent.task.start(stream(1, 0, ENVIRONMENT)), []
    for _ in range(WARM + MEASURED):
        began = time.process_time_ns()
        action = agent.act()
        chosen = time.process_time_ns()
        observation = environment.step(action)
        observed = time.process_time_ns()
        agent.observe(observation)
        spent.append(time.process_time_ns() - observed + chosen - began)
    return statistics.median(spent[WARM:]) / 1e3
