"""Choosing among allowed actions, whatever the design: masks, values of a row, the greedy action."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
        mask |= 1 << agent.interface.action(as_label(label))
    require(mask != 0, "allowed", [], "allow at least one action")
    return mask


def row_of_values(agent: Agent, aleatoric_state: int) -> list[float] | None:
    """Return the values of the actions in a state, in the units that the design keeps; None where it keeps none.

    Designs that keep values have them in the first columns of ``cells`` (:mod:`everlearn.agents.greedy`).
    """
    cells: Any = getattr(agent.knowledge, "cells", None)
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return cells[aleatoric_state, : agent.interface.actions].tolist()  # type: ignore[no-any-return]
    return None


def weights(agent: Agent, aleatoric_state: int) -> list[float]:
    """Return what a greedy choice goes by: values, or else the probabilities of the design's policy."""
    values = row_of_values(agent, aleatoric_state)
    return table_of_weights(agent)[aleatoric_state].tolist() if values is None else values


def table_of_weights(agent: Agent) -> Table:
    """Return what a greedy choice goes by in every state.

    Examples
    --------
    >>> table_of_weights(Agent("service-station", "always")).tolist()
    [[0.5, 0.5], [0.5, 0.5]]

    """
    if row_of_values(agent, 0) is not None:
        return np.asarray(agent.knowledge.cells[:, : agent.interface.actions])
    if agent.design.policy is None:
        raise InputError("agent", agent.design.name, "tells neither values nor a policy; it cannot act greedily")
    return agent.policy


def greedy(agent: Agent, aleatoric_state: int, mask: int) -> int:
    """Return the first of the best actions of a mask; nothing is drawn."""
    return best_of(weights(agent, aleatoric_state), mask)


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
    listed = [a for a in range(agent.interface.actions) if mask >> a & 1]
    has_none = row_of_values(agent, agent.situation) is None and agent.design.policy is None
    found = [0.0] * agent.interface.actions if has_none else weights(agent, agent.situation)
    best = max(found[a] for a in listed)
    ties = [a for a in listed if found[a] == best]
    return ties[0] if len(ties) == 1 else ties[choose(agent.stream, len(ties))]
