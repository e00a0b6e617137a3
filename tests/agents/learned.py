"""What an agent knows after runs that are too long for the reference engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.agents.spec import split
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.plan import Plan
from everlearn.protocol import ScheduleValues
from everlearn.tables import settled_table
from everlearn.tasks.registry import make_task


def learned(
    task: object, agent: str, *, steps: int, runs: int, seed: int, parameters: dict[str, Any] | None = None
) -> list[dict[str, np.ndarray]]:
    """What each run tells of itself at its end, in the compiled engine, which is the reference engine bit for bit."""
    chosen = split(parameters or {})
    made, design = make_task(task, chosen["task"]), make_design(agent, chosen["agent"], duration=steps)
    plan = Plan(made, design, steps, runs, seed)
    batch = CompiledBatch(plan, settled_table(plan.task), range(runs), 1)
    with ThreadPoolExecutor(1) as pool:
        for _ in batch.advance(pool):
            pass
    now = ScheduleValues(steps, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
    return [design.inspect(group.known_by(lane), now) for group in batch.groups for lane in range(len(group.runs))]


def acted(agent: el.Agent, steps: int, seed: int) -> el.Agent:
    """The agent after so many steps of its own."""
    environment = agent.task.start(np.random.Generator(np.random.SFC64(seed)))
    for _ in range(steps):
        agent.observe(environment.step(agent.act()))
    return agent
