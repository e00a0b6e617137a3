"""Values relative to an average reward learned beside them, as in differential Q-learning and R-learning.

Both keep Q and one estimate of the average reward and act epsilon-greedily; they differ in how the estimate is
learned.  It belongs to the run and not to a state, and is handed on as :mod:`everlearn.agents.baton` says.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from everlearn.agents.baton import bearers
from everlearn.agents.design import Design
from everlearn.agents.epsilon_greedy import check_epsilon, epsilon_greedy_action, epsilon_greedy_policy
from everlearn.agents.greedy import known_actions, unrolled
from everlearn.errors import require
from everlearn.protocol import Learn, Now, Table
from everlearn.tasks.interface import Interface


class Relative(NamedTuple):
    """Q, the average reward, and the constants of learning."""

    cells: Table
    """A row for each aleatoric state: for each action its Q, then the average reward and when it was put there."""
    step_size: float
    average_step_size: float
    epsilon: float
    states: int
    actions: int
    each: tuple[int, ...]
    """As long as there are actions; see :func:`everlearn.agents.greedy.unrolled`."""


class Rates(NamedTuple):
    """The constants of learning, and what is believed at first."""

    step_size: float
    average_step_size: float
    epsilon: float
    initial_value: float
    initial_average: float


def relative_design(learn: Learn, rates: Rates, name: str) -> Design:
    """Return a design that keeps relative values and learns them with ``learn``."""
    check_epsilon(rates.epsilon)
    for argument in ("initial_value", "initial_average"):
        value = getattr(rates, argument)
        require(math.isfinite(value), f"agent.{argument}", value, "give a finite number")

    def build(interface: Interface) -> Relative:
        cells = np.full((interface.states, interface.actions + 2), float(rates.initial_value))
        cells[:, -2:] = rates.initial_average, 0.0
        sizes = interface.states, interface.actions, unrolled(interface.actions)
        return Relative(cells, rates.step_size, rates.average_step_size, rates.epsilon, *sizes)

    return Design(build, act, learn, policy, inspect=inspect, by_state=True, name=name)


def check_step_size(step_size: float, argument: str) -> None:
    """Refuse a step size outside (0, 1].

    Examples
    --------
    >>> check_step_size(0.5, "agent.step_size")

    """
    require(0 < step_size <= 1, argument, step_size, "give a number above 0, at most 1")


def act(knowledge: Relative, aleatoric_state: int, now: Now, stream: Any) -> int:  # noqa: ARG001
    """Act epsilon-greedily."""
    actions = known_actions(knowledge.each, knowledge.actions)
    return epsilon_greedy_action(knowledge.cells, actions, aleatoric_state, knowledge.epsilon, stream)


def policy(knowledge: Relative) -> Table:
    """Return the epsilon-greedy policy."""
    return epsilon_greedy_policy(knowledge.cells[:, : knowledge.actions], knowledge.epsilon)


def inspect(knowledge: Relative, now: Now) -> dict[str, Table]:  # noqa: ARG001
    """Return Q, and the average reward as the learner sees rewards."""
    latest = bearers(knowledge.cells[:, -1], knowledge.states)
    return {"Q": knowledge.cells[:, : knowledge.actions].copy(), "average": knowledge.cells[latest, -2]}
