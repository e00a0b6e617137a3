"""Values relative to an average reward learned beside them, as in differential Q-learning and R-learning.

Both keep Q and one estimate of the average reward and act epsilon-greedily; they differ in how the estimate is
learned.  It belongs to the run and not to a state, and is handed on as :mod:`everlearn.agents.baton` says.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from everlearn.agents.baton import bearers
from everlearn.agents.design import Design
from everlearn.agents.epsilon_greedy import check_epsilon, epsilon_greedy_action, epsilon_greedy_policy
from everlearn.agents.greedy import kept_values
from everlearn.agents.records import records
from everlearn.errors import require
from everlearn.protocol import Learn, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Relative(NamedTuple):
    """Q, the average reward, and the constants of learning."""

    cells: NDArray[Any]
    """One record per aleatoric state: Q of each action, the average reward, and when that was put there."""
    step_size: float
    average_step_size: float
    epsilon: float
    states: int


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

    def build(indexed: IndexedTask) -> Relative:
        cells = records(indexed.states, value=indexed.actions, average=1, entered=1)
        cells["value"] = rates.initial_value
        cells["average"] = rates.initial_average
        return Relative(cells, rates.step_size, rates.average_step_size, rates.epsilon, indexed.states)

    return Design(build, act, learn, policy, inspect=inspect, by_state=True, values=kept_values, masks=True, name=name)


def check_step_size(step_size: float, argument: str) -> None:
    """Refuse a step size outside (0, 1].

    Examples
    --------
    >>> check_step_size(0.5, "agent.step_size")

    """
    require(0 < step_size <= 1, argument, step_size, "give a number above 0, at most 1")


def act(knowledge: Relative, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Act epsilon-greedily."""
    return epsilon_greedy_action(knowledge.cells["value"], aleatoric_state, knowledge.epsilon, stream)


def policy(knowledge: Relative) -> Table:
    """Return the epsilon-greedy policy."""
    return epsilon_greedy_policy(knowledge.cells["value"], knowledge.epsilon)


def inspect(knowledge: Relative, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return Q, and the average reward as the learner sees rewards."""
    latest = bearers(knowledge.cells["entered"][:, 0], knowledge.states)
    return {"Q": knowledge.cells["value"].copy(), "average": knowledge.cells["average"][latest, 0]}
