"""What is seen of a durable agent, as JSON can hold it: its policy as a table, what it knows, rows of its journal."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np

from everlearn._version import __version__
from everlearn.durable.choosing import best_of, known_weights
from everlearn.durable.core import Core
from everlearn.durable.entry import CHANGE, IMPORT, KINDS, MODE, MODES, ROLLBACK, Accepted, Entry, unpacked
from everlearn.labels import encode
from everlearn.protocol import Label
from everlearn.tasks.task import Task


def policy_table(core: Core) -> dict[str, Any]:
    """Return the greedy policy of an agent, for a controller that must run without it.

    ``actions`` has a row for each aleatoric state with the first of the best actions that the setup allows there.

    Examples
    --------
    >>> from everlearn.durable.setup import make_setup
    >>> table = policy_table(Core(make_setup(task="service-station", seed=1)))
    >>> table["actions"][0]
    {'state': 0, 'action': 'fast', 'value': 13.0, 'count': 0.0}

    """
    agent = core.agent
    known, found = agent.inspect(), known_weights(agent).tolist()
    rows = []
    for index, state in enumerate(agent.task.states):
        action = best_of(found[index], core.may(index))
        value, count = (_entry(core, known.get(name), index, action) for name in ("Q", "N"))
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
    """Return what an agent is at, and what it knows, by labels.

    Examples
    --------
    >>> from everlearn.durable.setup import make_setup
    >>> seen = inspect(Core(make_setup(task="service-station", seed=1)))
    >>> seen["step"], seen["horizon"], seen["values"][0]
    (0, 12.0, {'state': 0, 'actions': {'fast': 13.0, 'slow': 13.0}})

    """
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
    """Return the numbers of an agent that a monitor watches; what is not known yet is left out."""
    found = {"step": core.step, "t": core.t, "recent_average": core.gauge.recent, "average_reward": core.gauge.average}
    watched = {**found, "drift_alarms": core.gauge.alarms, "drift_statistic": core.gauge.report()["statistic"]}
    return {name: float(value) for name, value in watched.items() if value is not None}


def described(task: Task, entry: Entry) -> dict[str, Any]:
    """Return a row of the journal by labels.

    Examples
    --------
    >>> from everlearn.durable.setup import make_setup
    >>> core = Core(make_setup(task="service-station", seed=1))
    >>> row = described(core.agent.task, core.prepare("arrival", "slow"))
    >>> row["step"], row["executed"], row["reward"], row["next_state"]
    (1, 'slow', 1.0, 1)

    """
    moment = datetime.datetime.fromtimestamp(entry.at, datetime.UTC)
    shown = {
        "seq": entry.seq,
        "step": entry.step,
        "kind": KINDS[entry.kind],
        "at": moment.isoformat(timespec="microseconds"),
        "mode": MODES[entry.mode],
        "state": task.states[entry.state],
        "allowed": _allowed(task.actions, entry.allowed),
        "proposed": _label(task.actions, entry.proposed),
        "executed": _label(task.actions, entry.executed),
        "observation": _label(task.observations, entry.observation),
        "reward": entry.reward,
        "next_state": task.states[entry.following],
    }
    return {**shown, **_event(entry)}


def _event(entry: Entry) -> dict[str, Any]:
    if entry.kind == MODE:
        return {"to": (entry.payload or b"").decode()}
    if entry.kind in (ROLLBACK, IMPORT):
        return {"bytes": len(entry.payload or b"")}
    if entry.kind == CHANGE:
        accepted = Accepted.parsed(entry.payload or b"")
        return {"changes": accepted.changes, "relearned_since": accepted.relearned_since}
    return {}


def _allowed(actions: tuple[Label, ...], mask: bytes | None) -> list[Label] | None:
    if mask is None:
        return None
    bits = unpacked(mask)
    return [label for place, label in enumerate(actions) if bits >> place & 1]


def _label(labels: tuple[Label, ...], index: int | None) -> Label | None:
    return None if index is None else labels[index]


def _by_label(core: Core, table: Any) -> list[dict[str, Any]] | None:
    task = core.agent.task
    if not _is_by_pair(core, table):
        return None
    names = [label if isinstance(label, str) else encode(label) for label in task.actions]
    return [
        {"state": state, "actions": {name: _finite(value) for name, value in zip(names, row, strict=True)}}
        for state, row in zip(task.states, table.tolist(), strict=True)
    ]


def _entry(core: Core, table: Any, state: int, action: int) -> float | None:
    return _finite(float(table[state, action])) if _is_by_pair(core, table) else None


def _is_by_pair(core: Core, table: Any) -> bool:
    indexed = core.agent.indexed
    return table is not None and np.shape(table) == (indexed.states, indexed.actions)


def _finite(value: float) -> float | None:
    """Return a number that JSON has; the value of what is forbidden is minus infinity."""
    return value if math.isfinite(value) else None
