"""Views of a durable agent as JSON documents: its policy as a table, what it knows, and numbers for a monitor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from everlearn._version import __version__
from everlearn.durable.choice import best_of, weights
from everlearn.durable.core import Core
from everlearn.labels import show


def policy_table(core: Core) -> dict[str, Any]:
    """Return the greedy policy of an agent, for a controller that must run without it.

    ``actions`` has a row per aleatoric state, with the first of the best actions that the setup allows there.
    """
    agent = core.agent
    known, table = agent.inspect(), weights(agent).tolist()
    rows = []
    for index, state in enumerate(agent.task.states):
        action = best_of(table[index], core.may(index))
        value, count = (_finite_entry(core, known.get(name), index, action) for name in ("Q", "N"))
        rows.append({"state": state, "action": agent.task.actions[action], "value": value, "count": count})
    return {
        "step": core.step,
        "t": core.t,
        "agent": agent.design.name,
        "start": agent.task.aleatoric.start,
        "aleatoric_state": agent.aleatoric_state,
        "everlearn": __version__,
        "actions": rows,
    }


def inspect(core: Core) -> dict[str, Any]:
    """Return where an agent stands, and what it knows, by labels."""
    agent, gauge = core.agent, core.gauge
    known, scheduled = agent.inspect(), agent.design.schedule is not None
    now = agent.now
    return {
        "step": core.step,
        "t": core.t,
        "mode": core.mode,
        "aleatoric_state": agent.aleatoric_state,
        "pending": None if agent.pending is None else agent.task.actions[agent.pending],
        "horizon": now.horizon if scheduled else None,
        "discount": now.discount if scheduled else None,
        "optimism": now.optimism if scheduled else None,
        "values": _by_label(core, known.get("Q")),
        "counts": _by_label(core, known.get("N")),
        "average_reward": gauge.average,
        "recent_average": gauge.recent,
        "drift": gauge.report(),
        "changed": core.changed,
    }


def gauges(core: Core) -> dict[str, float]:
    """Return the numbers of an agent that a monitor watches; those that are not known yet are left out."""
    gauge = core.gauge
    numbers = {
        "step": core.step,
        "t": core.t,
        "recent_average": gauge.recent,
        "average_reward": gauge.average,
        "drift_alarms": gauge.alarms,
        "drift_statistic": gauge.report()["statistic"],
    }
    return {name: float(value) for name, value in numbers.items() if value is not None}


def _by_label(core: Core, table: Any) -> list[dict[str, Any]] | None:
    task = core.agent.task
    if not _is_by_pair(core, table):
        return None
    names = [show(label) for label in task.actions]
    return [
        {"state": state, "actions": {name: _finite(value) for name, value in zip(names, row, strict=True)}}
        for state, row in zip(task.states, table.tolist(), strict=True)
    ]


def _finite_entry(core: Core, table: Any, state: int, action: int) -> float | None:
    return _finite(float(table[state, action])) if _is_by_pair(core, table) else None


def _is_by_pair(core: Core, table: Any) -> bool:
    indexed = core.agent.indexed
    return table is not None and np.shape(table) == (indexed.states, indexed.actions)


def _finite(value: float) -> float | None:
    """Return a number that JSON has; the value of a forbidden action is minus infinity."""
    return value if math.isfinite(value) else None
