"""Views of a durable agent as JSON documents: its policy as a table, what it knows, and numbers for a monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from everlearn._version import __version__
from everlearn.durable.choice import best_of, weights
from everlearn.durable.core import Core
from everlearn.durable.entry import moment
from everlearn.durable.promotion import NEVER
from everlearn.errors import InputError
from everlearn.grids import Grid
from everlearn.labels import show
from everlearn.tasks.task import Task

NO_TABLE = "the states are points of a box, too many for a table of values or actions"
"""What is said in place of a table of all states."""


@dataclass(frozen=True)
class Tabulated:
    """A table of an agent by state and action, whose rows are labelled when they are asked for.

    A table of a million values takes seconds to label, so the service does that elsewhere, and in parts.
    """

    task: Task
    array: npt.NDArray[np.float64]

    @property
    def size(self) -> int:
        """The number of values."""
        return int(self.array.size)

    @property
    def length(self) -> int:
        """The number of rows."""
        return len(self.array)

    def rows(self, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the rows of some states as JSON documents."""
        actions = [show(label) for label in self.task.actions]
        rows = zip(self.task.states[start:stop], _finite(self.array[start:stop]), strict=True)
        return [{"state": state, "actions": dict(zip(actions, row, strict=True))} for state, row in rows]


@dataclass(frozen=True)
class Greedy:
    """The greedy action in each state with its value and count, whose rows are labelled when they are asked for."""

    task: Task
    actions: list[int]
    values: npt.NDArray[np.float64] | None
    counts: npt.NDArray[np.float64] | None

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.actions)

    length = size

    def rows(self, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the rows of some states as JSON documents."""
        labels = [self.task.actions[action] for action in self.actions[start:stop]]
        numbers = [
            [None] * len(labels) if each is None else _finite(each[start:stop]) for each in (self.values, self.counts)
        ]
        columns = zip(self.task.states[start:stop], labels, *numbers, strict=True)
        return [dict(zip(("state", "action", "value", "count"), row, strict=True)) for row in columns]


def policy_table(core: Core) -> dict[str, Any]:
    """Return the greedy policy of an agent, for a controller that must run without it.

    ``actions`` has a row per aleatoric state, with the first of the best actions that the setup allows there.
    """
    return labelled(greedy_policy(core))


def greedy_policy(core: Core) -> dict[str, Any]:
    """Return the same as :func:`policy_table`, with rows that are not yet labelled."""
    if isinstance(core.agent.task.states, Grid):
        raise InputError("policy", core.agent.design.name, f"{NO_TABLE}; ask act() in frozen mode")
    agent, actions = core.agent, greedy_actions(core)
    values, counts = (None if table is None else table[np.arange(len(actions)), actions] for table in _tables(core))
    return {
        "step": core.step,
        "t": core.t,
        "agent": agent.design.name,
        "start": agent.task.aleatoric.start,
        "aleatoric_state": agent.aleatoric_state,
        "everlearn": __version__,
        "actions": Greedy(agent.task, actions, values, counts),
    }


def labelled(seen: dict[str, Any]) -> dict[str, Any]:
    """Return a document with its tables labelled."""
    return {key: part.rows() if isinstance(part, Tabulated | Greedy) else part for key, part in seen.items()}


def greedy_actions(core: Core) -> list[int]:
    """Return the index of the greedy action in each state, as in :func:`policy_table`."""
    table = np.asarray(weights(core.agent))
    actions: list[int] = table.argmax(axis=1).tolist()
    for state in core.setup.allowed:
        actions[state] = best_of(table[state].tolist(), core.may(state))
    return actions


def inspect(core: Core) -> dict[str, Any]:
    """Return where an agent stands, and what it knows, by labels; ``arrays`` is what the user's own design shows."""
    document = labelled(glance(core))
    if core.agent.design.own:
        document["arrays"] = {name: _finite(table) for name, table in core.agent.inspect().items()}
    return document


def glance(core: Core) -> dict[str, Any]:
    """Return the same as :func:`inspect`, with tables that are not yet labelled."""
    agent, gauge = core.agent, core.gauge
    now, scheduled = agent.now, agent.design.schedule is not None
    values, counts = (None if table is None else Tabulated(agent.task, table) for table in _tables(core))
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
        "values": values,
        "counts": counts,
        "explanation": NO_TABLE if isinstance(agent.task.states, Grid) else agent.explain(),
        "average_reward": gauge.average,
        "recent_average": gauge.recent,
        "prices": _prices(core),
        "drift": gauge.report(),
        "changed": core.changed,
        "waiting": len(core.waiting),
        "awaited": sorted(core.waiting),
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


def _tables(core: Core) -> list[npt.NDArray[np.float64] | None]:
    """Return the values and the counts of an agent by state and action, if it has them."""
    known, shape = core.agent.inspect(), (core.agent.indexed.states, core.agent.indexed.actions)
    return [known[name] if name in known and np.shape(known[name]) == shape else None for name in ("Q", "N")]


def _finite(table: npt.NDArray[np.float64]) -> Any:
    """Return an array as lists, with None for infinity, as of a forbidden action."""
    finite = np.isfinite(table)
    return (table if finite.all() else np.where(finite, table, np.array(None))).tolist()
