"""The policies pi_epsilon of Section 1.4.3, which the three baselines choose from.

pi_epsilon takes the *slow* action in the aleatoric state in which nothing is to be done, and elsewhere takes the *fast*
one with probability epsilon.  On the service station these are what they are called.  On any other task slow and
fast are two of its actions and the idle state is S0: the baselines run there too, for what it is worth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import require
from everlearn.labels import find
from everlearn.protocol import ScheduleValues, Table
from everlearn.randomness import uniform
from everlearn.tasks.indexed import IndexedTask


class Roles(NamedTuple):
    """Which indices play which part."""

    slow: int
    fast: int
    idle: int
    states: int
    actions: int


def roles(indexed: IndexedTask, slow: str | None, fast: str | None) -> NDArray[np.int64]:
    """Return the parts of :class:`Roles`.

    Unnamed, fast is the action so called, or the first; slow likewise, or the last that is not fast.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> roles(IndexedTask(service_station()), None, None).tolist()
    [1, 0, 0, 2, 2]

    """
    actions = indexed.task.actions

    def index(named: str | None, usual: str, otherwise: int, argument: str) -> int:
        if named is None:
            return actions.index(usual) if usual in actions else otherwise
        return actions.index(find(named, actions, argument))

    chosen_fast = index(fast, "fast", 0, "agent.fast")
    others = [place for place in range(len(actions)) if place != chosen_fast] or [chosen_fast]
    chosen_slow = index(slow, "slow", others[-1], "agent.slow")
    return np.array([chosen_slow, chosen_fast, indexed.start, indexed.states, indexed.actions])


def check_phase(phase: int) -> None:
    """Refuse a phase without steps."""
    require(phase >= 1, "agent.phase", phase, "give at least 1 step")


def check_epsilon(epsilon: float, most: float) -> None:
    """Refuse an epsilon outside (0, most]."""
    require(0 < epsilon <= most, "agent.epsilon", epsilon, f"give a number above 0, at most {most:g}")


def act(knowledge: Any, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Follow pi_epsilon for the epsilon of the moment; draw only where epsilon is neither 0 nor 1."""
    epsilon = knowledge.epsilon[0]
    slow = knowledge.roles[0]
    fast = knowledge.roles[1]
    if aleatoric_state == knowledge.roles[2] or epsilon <= 0.0:
        return slow  # type: ignore[no-any-return]
    if epsilon >= 1.0 or uniform(stream) < epsilon:
        return fast  # type: ignore[no-any-return]
    return slow  # type: ignore[no-any-return]


def policy(knowledge: Any) -> Table:
    """Return pi_epsilon as a table."""
    parts, epsilon = Roles(*(int(part) for part in knowledge.roles)), float(knowledge.epsilon[0])
    table = np.zeros((parts.states, parts.actions))
    table[:, parts.slow] = 1 - epsilon
    table[:, parts.fast] += epsilon
    table[parts.idle] = 0.0
    table[parts.idle, parts.slow] = 1.0
    return table


def inspect(knowledge: Any, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return epsilon and what has been gathered."""
    return {"epsilon": knowledge.epsilon.copy(), "gathered": knowledge.gathered.copy()}
