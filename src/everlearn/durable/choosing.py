"""Choosing among allowed actions, whatever the design: masks, values of a row, the greedy action."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from everlearn.agents.agent import Agent
from everlearn.errors import InputError, require
from everlearn.labels import as_label
from everlearn.protocol import Label, Table
from everlearn.randomness import choose


def mask_of(agent: Agent, allowed: Iterable[Label]) -> int:
    """Return a set of actions as bits.

    Examples
    --------
    >>> mask_of(Agent("service-station"), ["slow"])
    2

    """
    mask = 0
    listed: object = allowed  # whatever a user gave
    fine = isinstance(listed, Iterable) and not isinstance(listed, str)
    require(fine, "allowed", allowed, "give a list of actions")
    for label in allowed:
        mask |= 1 << agent.indexed.action(as_label(label))
    require(mask != 0, "allowed", [], "allow at least one action")
    return mask


def table_of_weights(agent: Agent) -> Table | None:
    """Return what a greedy choice goes by in every state: values, else the probabilities of the design's policy.

    Examples
    --------
    >>> table_of_weights(Agent("service-station", "always")).tolist()
    [[0.5, 0.5], [0.5, 0.5]]

    """
    values = agent.values
    return agent.policy if values is None and agent.design.policy is not None else values


def known_weights(agent: Agent) -> Table:
    """Return what a greedy choice goes by in every state; raise if the design has nothing to go by."""
    weights = table_of_weights(agent)
    if weights is None:
        remedy = "has neither values nor a policy to act by; give it one, as in el.Design(..., policy=...)"
        raise InputError("agent", agent.design.name, remedy)
    return weights


def greedy(agent: Agent, aleatoric_state: int, mask: int) -> int:
    """Return the first of the best actions of a mask; nothing is drawn."""
    return best_of(known_weights(agent)[aleatoric_state].tolist(), mask)


def best_of(row: list[float], mask: int) -> int:
    """Return the first of the greatest entries of a row that a mask allows.

    Examples
    --------
    >>> best_of([3.0, 2.0, 2.0], 0b110)
    1

    """
    return max((a for a in range(len(row)) if mask >> a & 1), key=row.__getitem__)


def proposal(agent: Agent, mask: int) -> int:
    """Return what the design chooses; where that is not allowed, the best that is, ties broken by a draw."""
    chosen = agent.choose()
    if mask >> chosen & 1:
        return chosen
    allowed = [a for a in range(agent.indexed.actions) if mask >> a & 1]
    table = table_of_weights(agent)
    weights = np.zeros(agent.indexed.actions) if table is None else table[agent.situation]
    best = max(weights[a] for a in allowed)
    ties = [a for a in allowed if weights[a] == best]
    return ties[0] if len(ties) == 1 else ties[choose(agent.stream, len(ties))]
