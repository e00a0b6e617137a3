"""The choice among allowed actions, for any design: masks of actions, the greedy action, and proposals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from everlearn.agents.agent import Agent
from everlearn.errors import InputError, require
from everlearn.labels import as_label
from everlearn.protocol import Label, Table
from everlearn.randomness import choose, uniform


def mask_of(agent: Agent, allowed: Iterable[Label]) -> int:
    """Return a set of actions as bits."""
    given: object = allowed  # a user may pass anything
    require(isinstance(given, Iterable) and not isinstance(given, str), "allowed", given, "give a list of actions")
    mask = 0
    for label in allowed:
        mask |= 1 << agent.indexed.action(as_label(label), "allowed")
    require(mask != 0, "allowed", [], "allow at least one action")
    return mask


def labels_of(agent: Agent, mask: int) -> list[Label]:
    """Return the actions of a mask."""
    return [label for place, label in enumerate(agent.task.actions) if mask >> place & 1]


def packed(mask: int) -> bytes:
    """Return a mask as bytes, the least significant first."""
    return mask.to_bytes((mask.bit_length() + 7) // 8, "little")


def unpacked(mask: bytes) -> int:
    """Return the mask that :func:`packed` was given."""
    return int.from_bytes(mask, "little")


def _weights_or_none(agent: Agent) -> Table | None:
    """Return the values of the design, or else the probabilities of its policy, by state and action."""
    values = agent.values
    return agent.policy if values is None and agent.design.policy is not None else values


def _row_or_none(agent: Agent, aleatoric_state: int) -> Table | None:
    """Return the row of one state; the rest of a table is not computed if the design can do without it."""
    design = agent.design
    if design.policy_at is not None and not design.own:
        return agent.policy_at(aleatoric_state)
    table = _weights_or_none(agent)
    return None if table is None else table[aleatoric_state]


def weights(agent: Agent) -> Table:
    """Return the table whose greatest entries are the greedy actions; raise if the design has none."""
    return _required(agent, _weights_or_none(agent))


def _required(agent: Agent, table: Table | None) -> Table:
    if table is None:
        remedy = "has neither values nor a policy to act by; give it one, as in el.Design(..., policy=...)"
        raise InputError("agent", agent.design.name, remedy)
    return table


def best_of(row: list[float], mask: int) -> int:
    """Return the first of the greatest entries of a row that a mask allows."""
    return max((action for action in range(len(row)) if mask >> action & 1), key=row.__getitem__)


def greedy(agent: Agent, aleatoric_state: int, mask: int) -> int:
    """Return the first of the best actions of a mask, without a draw."""
    return best_of(_required(agent, _row_or_none(agent, aleatoric_state)).tolist(), mask)


def proposal(agent: Agent, mask: int) -> int:
    """Return the action that the design chooses; if it is not allowed, the best one that is, with ties drawn."""
    chosen = agent.choose()
    if mask >> chosen & 1:
        return chosen
    given = _row_or_none(agent, agent.situation)
    row = np.zeros(agent.indexed.actions) if given is None else given
    allowed = [action for action in range(agent.indexed.actions) if mask >> action & 1]
    best = max(row[action] for action in allowed)
    ties = [action for action in allowed if row[action] == best]
    return ties[0] if len(ties) == 1 else ties[choose(agent.stream, len(ties))]


def explored(agent: Agent, chosen: int, mask: int, rate: float) -> tuple[int, float]:
    """Return an action drawn from a mask with probability ``rate``, otherwise the chosen one; and its propensity.

    The propensity is the probability of the action given everything before it, the choice of the design included.  So
    it is exact for every design, and the observation that follows does not depend on the choice in another way.
    """
    allowed = [action for action in range(agent.indexed.actions) if mask >> action & 1]
    action = allowed[choose(agent.stream, len(allowed))] if uniform(agent.stream) < rate else chosen
    return action, rate / len(allowed) + (1.0 - rate if action == chosen else 0.0)
