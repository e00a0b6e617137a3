"""What the three baselines of Section 1.4.3 share: the policies pi_epsilon that they choose from.

pi_epsilon takes the *slow* action in the idle aleatoric state, and in every other state the *fast* action with
probability epsilon.  The service station has actions of these names.  On any other task slow and fast are two of its
actions and the idle state is S0, so the baselines run there too.  But what they do there means nothing, unless the user
has named the two actions; so they warn.

A baseline knows ``roles`` (slow, fast and idle as indices, and the numbers of states and actions), ``epsilon``, what it
has ``gathered``, the steps of a ``phase``, and its own constants.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.design import Design
from everlearn.errors import require
from everlearn.labels import find
from everlearn.notices import Notice
from everlearn.protocol import Learn, ScheduleValues, Table
from everlearn.randomness import uniform
from everlearn.tasks.indexed import IndexedTask


class MeaningWarning(Notice):
    """A baseline runs on a task in which no action means to serve slowly, or none to serve fast.

    Parameters
    ----------
    agent:
        the name of the baseline
    task:
        the name of the task
    missing:
        the names of the actions that the task lacks

    """

    def __init__(self, agent: str, task: str, missing: Sequence[str]) -> None:
        self.agent, self.task, self.missing = agent, task, tuple(missing)
        lacks = " and ".join(f"no action {name!r}" for name in missing)
        remedy = " and ".join(f"agent.{name}" for name in missing)
        why = f"the task {task!r} has {lacks}, which the agent {agent!r} needs"
        super().__init__(f"{why}; what it earns here means nothing, unless you name such an action with {remedy}")


def act(knowledge: Any, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Follow pi_epsilon for the current epsilon; draw only if epsilon is neither 0 nor 1."""
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
    epsilon = float(knowledge.epsilon[0])
    slow, fast, idle, states, actions = (int(part) for part in knowledge.roles)
    table = np.zeros((states, actions))
    table[:, slow] = 1 - epsilon
    table[:, fast] += epsilon
    table[idle] = 0.0
    table[idle, slow] = 1.0
    return table


def inspect(knowledge: Any, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return epsilon and what has been gathered."""
    return {"epsilon": knowledge.epsilon.copy(), "gathered": knowledge.gathered.copy()}


def baseline_design(
    name: str,
    learn: Learn,
    knowledge: Callable[..., Any],
    *,
    gathered: int,
    phase: int,
    constants: Sequence[float],
    slow: str | None,
    fast: str | None,
) -> Design:
    """Return a design that gathers so many numbers in phases and chooses an epsilon with ``learn``."""
    require(phase >= 1, "agent.phase", phase, "give at least 1 step")

    def build(indexed: IndexedTask) -> Any:
        given = {"slow": slow, "fast": fast}
        missing = [label for label, value in given.items() if value is None and label not in indexed.task.actions]
        if missing:
            warnings.warn(MeaningWarning(name, indexed.task.name, missing), stacklevel=1)  # once
        parts = roles(indexed, slow, fast)
        return knowledge(parts, np.zeros(1), np.zeros(gathered), np.array([phase]), np.array(constants))

    return Design(build, act, learn, policy, inspect=inspect, name=name)


def roles(indexed: IndexedTask, slow: str | None, fast: str | None) -> NDArray[np.int64]:
    """Return the indices of slow, fast and idle, and the numbers of states and actions.

    By default fast is the action of that name, or the first; slow is the action of that name, or the last but fast.
    """
    actions = indexed.task.actions

    def index(given: str | None, name: str, default: int) -> int:
        if given is None:
            return actions.index(name) if name in actions else default
        return actions.index(find(given, actions, f"agent.{name}"))

    chosen_fast = index(fast, "fast", 0)
    others = [place for place in range(len(actions)) if place != chosen_fast] or [chosen_fast]
    chosen_slow = index(slow, "slow", others[-1])
    return np.array([chosen_slow, chosen_fast, indexed.start, indexed.states, indexed.actions])
