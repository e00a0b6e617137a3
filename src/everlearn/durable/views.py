"""Views of a durable agent as JSON documents: its policy as a table, what it knows, and numbers for a monitor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from everlearn._version import __version__
from everlearn.durable.choice import best_of, weights
from everlearn.durable.core import Core
from everlearn.durable.entry import moment
from everlearn.durable.promotion import NEVER
from everlearn.labels import show


def policy_table(core: Core) -> dict[str, Any]:
    """Return the greedy policy of an agent, for a controller that must run without it.

    ``actions`` has a row per aleatoric state, with the first of the best actions that the setup allows there.
    """
    agent = core.agent
    table, values, counts = weights(agent).tolist(), _table(core, "Q"), _table(core, "N")
    rows = []
    for index, state in enumerate(agent.task.states):
        action = best_of(table[index], core.may(index))
        value, count = (known and known[index][action] for known in (values, counts))
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


def greedy_actions(core: Core) -> list[int]:
    """Return the index of the greedy action in each state, as in :func:`policy_table`."""
    table = np.asarray(weights(core.agent))
    actions: list[int] = table.argmax(axis=1).tolist()
    for state in core.setup.allowed:
        actions[state] = best_of(table[state].tolist(), core.may(state))
    return actions


def inspect(core: Core) -> dict[str, Any]:
    """Return where an agent stands, and what it knows, by labels."""
    agent, gauge = core.agent, core.gauge
    now, scheduled = agent.now, agent.design.schedule is not None
    return {
        "step": core.step,
        "t": core.t,
        "mode": core.mode,
        "aleatoric_state": agent.aleatoric_state,
        "pending": None if agent.pending is None else agent.task.actions[agent.pending],
        "pending_allowed": core.asked_labels if agent.pending is not None else None,
        "horizon": now.horizon if scheduled else None,
        "discount": now.discount if scheduled else None,
        "optimism": now.optimism if scheduled else None,
        "values": _by_label(core, "Q"),
        "counts": _by_label(core, "N"),
        "explanation": agent.explain(),
        "average_reward": gauge.average,
        "recent_average": gauge.recent,
        "prices": _prices(core),
        "drift": gauge.report(),
        "changed": core.changed,
        "waiting": len(core.waiting),
        "promotion": promotion(core),
        "quarantined": None if core.failure is None else str(core.failure),
    }


def promotion(core: Core) -> dict[str, Any] | None:
    """Return what the promotion rule is and knows; None if there never was one."""
    state, rule = core.rule_state, core.setup.promotion
    if rule is None and not state.promotions:
        return None
    since = None if state.since is None else {"step": state.since[0], "at": moment(state.since[1])}
    return {
        "rule": None if rule is None else rule.document(),
        "armed": rule is not None and state.armed,
        "in_control": state.in_control,
        "candidates": state.candidates,
        "candidate_step": state.anchor if state.policy else None,
        "looks": state.looks,
        "next_look": None if core.look_at == NEVER else core.look_at,
        "exceeded_since": since,
        "last_look": state.last,
        "promotions": state.promotions,
        "promoted": state.promoted,
        "demoted": state.demoted,
    }


def gauges(core: Core) -> dict[str, float]:
    """Return the numbers of an agent that a monitor watches; those that are not known yet are left out."""
    gauge = core.gauge
    numbers = {
        "step": core.step,
        "t": core.t,
        "recent_average": gauge.recent,
        "average_reward": gauge.average,
        "quarantined": core.failure is not None,
        "drift_alarms": gauge.alarms,
        "drift_statistic": gauge.report()["statistic"],
        **(_prices(core) or {}),
        "shadow": core.mode == "shadow",
        "promotions": core.rule_state.promotions,
        "gain_lower_bound": (core.rule_state.last or {}).get("lower"),
    }
    return {name: float(value) for name, value in numbers.items() if value is not None}


def _prices(core: Core) -> dict[str, float | None] | None:
    """Return the prices of an agent, and the average cost that the multiplier is to bring below its limit."""
    prices = core.agent.prices
    if prices is None:
        return None
    limited = prices.limit is not None
    return {**prices.report(), "average_cost": core.gauge.average_cost if limited else None}


def _by_label(core: Core, name: str) -> list[dict[str, Any]] | None:
    task, table = core.agent.task, _table(core, name)
    if table is None:
        return None
    actions = [show(label) for label in task.actions]
    rows = zip(task.states, table, strict=True)
    return [{"state": state, "actions": dict(zip(actions, row, strict=True))} for state, row in rows]


def _table(core: Core, name: str) -> list[list[float | None]] | None:
    """Return what the agent knows by state and action; None is for infinity, as of a forbidden action."""
    table, indexed = core.agent.inspect().get(name), core.agent.indexed
    if table is None or np.shape(table) != (indexed.states, indexed.actions):
        return None
    return [[value if math.isfinite(value) else None for value in row] for row in table.tolist()]
