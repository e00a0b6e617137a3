"""Values relative to an average reward that is learned with them: what differential Q-learning and R-learning share.

Both keep Q and one estimate of the average reward, and act epsilon-greedily.  They differ in how they learn the
estimate.

The sources leave behaviour open; here it is epsilon-greedy, as in their experiments.  If all initial values are zero,
everything that is learned scales with the rewards, so that scaling them to [0, 1] does not change the actions.
:mod:`everlearn.agents` says what else differs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from everlearn.agents.checks import check_finite, check_probability
from everlearn.agents.design import Design
from everlearn.agents.tabular import (
    carry_fields,
    epsilon_greedy_action,
    epsilon_greedy_policy,
    latest_rows,
    records,
    value_table,
)
from everlearn.protocol import Learn, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Relative(NamedTuple):
    """Q, the average reward, and the constants of learning."""

    cells: NDArray[Any]
    """One record per aleatoric state: Q of each action, the average reward, and the time when that was written."""
    step_size: float
    average_step_size: float
    epsilon: float
    states: int


def act(knowledge: Relative, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Act epsilon-greedily."""
    return epsilon_greedy_action(knowledge.cells["value"], aleatoric_state, knowledge.epsilon, stream)


def policy(knowledge: Relative) -> Table:
    """Return the epsilon-greedy policy."""
    return epsilon_greedy_policy(knowledge.cells["value"], knowledge.epsilon)


def inspect(knowledge: Relative, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return Q, and the average of the rewards that the agent learns from."""
    latest = latest_rows(knowledge.cells["entered"][:, 0], knowledge.states)
    return {"Q": knowledge.cells["value"].copy(), "average": knowledge.cells["average"][latest, 0]}


def relative_design(
    name: str,
    learn: Learn,
    *,
    step_size: float,
    average_step_size: float,
    epsilon: float,
    initial_value: float,
    initial_average: float,
) -> Design:
    """Return a design that keeps relative values and learns them with ``learn``."""
    check_probability(epsilon=epsilon)
    check_finite(initial_value=initial_value, initial_average=initial_average)

    def build(indexed: IndexedTask) -> Relative:
        cells = records(indexed.states, value=indexed.actions, average=1, entered=1)
        cells["value"] = initial_value
        cells["average"] = initial_average
        return Relative(cells, step_size, average_step_size, epsilon, indexed.states)

    return Design(
        build,
        act,
        learn,
        policy,
        inspect=inspect,
        by_state=True,
        values=value_table,
        masks=True,
        carry=carry_fields("average", "entered"),
        name=name,
    )
