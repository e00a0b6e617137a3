"""What an agent and a task of the board are: all their parameters, defaults included.

Shipped results are stored with them, and are used only while they are the same.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from everlearn.experiments.spec import AgentEntry, TaskEntry, name_of, read_spec
from everlearn.experiments.variants import Variant, make_variants
from everlearn.tasks.indexed import IndexedTask


def agent_identity(entry: AgentEntry, steps: int) -> dict[str, Any]:
    """Return the name, the schedule and all parameters of an agent that is run for so many steps."""
    variant = _variant("riverswim", "{}", json.dumps(entry.to_dict()), steps)
    schedule = variant.plan.design.schedule
    names = {"agent": name_of(entry.given), "schedule": schedule.name if schedule else None}
    return names | {name: value for name, value in variant.parameters.items() if not name.startswith("task.")}


def task_identity(entry: TaskEntry) -> dict[str, Any]:
    """Return the name and all parameters of a task.

    Examples
    --------
    >>> task_identity(TaskEntry("alternating", "alternating"))
    {'task': 'alternating'}

    """
    variant = _on_task(entry)
    named = {name: value for name, value in variant.parameters.items() if name.startswith("task.")}
    return {"task": name_of(entry.given)} | named


def states(entry: TaskEntry) -> int:
    """Return the number of aleatoric states of a task."""
    return IndexedTask(_on_task(entry).plan.task).states


def _on_task(entry: TaskEntry) -> Variant:
    return _variant(name_of(entry.given), json.dumps(entry.to_dict()["parameters"]), None, 1)


@cache
def _variant(task: str, parameters: str, agent: str | None, steps: int) -> Variant:
    """Return one agent on one task; a large task takes half a second to make."""
    tasks = [{"name": task, "parameters": json.loads(parameters)}]
    agents = [json.loads(agent)] if agent else "always"
    return make_variants(read_spec({"steps": steps, "task": tasks, "agent": agents}))[0]
