"""Algorithm 3, the discounted Q-learning subroutine of the proofs (Appendix C.3), as written.

It begins from any values Q_init and, with :meth:`everlearn.Task.after`, from any history.  The text calls it otherwise
identical to Algorithm 1, but it is not: it clips V and not Q.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everlearn.agents.checks import check_at_least
from everlearn.agents.design import Design
from everlearn.agents.discounted import fixed_optimism
from everlearn.agents.tabular import greedy_action, greedy_policy, largest, records, value_table
from everlearn.errors import InputError, require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Subroutine(NamedTuple):
    """Q, N and V."""

    cells: NDArray[Any]
    """One record per aleatoric state: Q and N of each action."""
    best: Table
    """V, for each aleatoric state."""
    constants: Table
    """gamma, beta and tau = 1 / (1 - gamma), the same for each aleatoric state."""


def act(knowledge: Subroutine, aleatoric_state: int, now: ScheduleValues, stream: Any) -> int:  # noqa: ARG001
    """Line 7."""
    return greedy_action(knowledge.cells["value"], aleatoric_state, stream)


def learn(knowledge: Subroutine, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Lines 8, 9, 12 and 13."""
    q = knowledge.cells["value"]
    count = knowledge.cells["count"]
    s = experience.aleatoric_state
    a = experience.action
    gamma = knowledge.constants[s, 0]
    beta = knowledge.constants[s, 1]
    count[s, a] += 1.0
    n = count[s, a]
    alpha = (2.0 + (1.0 - gamma)) / (2.0 + n * (1.0 - gamma))
    target = experience.reward + gamma * knowledge.best[experience.next_aleatoric_state] + beta / math.sqrt(n)
    q[s, a] = (1.0 - alpha) * q[s, a] + alpha * target
    knowledge.best[s] = min(largest(q, s), knowledge.constants[s, 2])


def policy(knowledge: Subroutine) -> Table:
    """Return the greedy policy."""
    return greedy_policy(knowledge.cells["value"])


def inspect(knowledge: Subroutine, now: ScheduleValues) -> dict[str, Table]:  # noqa: ARG001
    """Return Q, N and V."""
    cells = knowledge.cells
    return {"Q": cells["value"].copy(), "N": cells["count"].copy(), "V": knowledge.best.copy()}


def discounted_subroutine(
    *,
    horizon: float = 10.0,
    duration: int | None = None,
    optimism: float | None = None,
    q_init: ArrayLike | None = None,
) -> Design:
    """Discounted Q-learning from given values, after a given history; it clips state values only (Algorithm 3).

    Parameters
    ----------
    horizon:
        tau; gamma = 1 - 1 / tau
    duration:
        T, which determines the optimism; default: the steps of the run
    optimism:
        beta; default: 4 tau^(3/2) sqrt(log(2 T^2))
    q_init:
        the initial values, one number or one per aleatoric state and action; default: tau

    """
    check_at_least(1, horizon=horizon)
    beta = fixed_optimism(horizon, duration) if optimism is None else optimism
    check_at_least(0, optimism=beta)

    def build(indexed: IndexedTask) -> Subroutine:
        value = _initial_values(horizon if q_init is None else q_init, (indexed.states, indexed.actions))
        cells = records(indexed.states, value=indexed.actions, count=indexed.actions)
        cells["value"] = value
        constants = np.tile([1.0 - 1.0 / horizon, beta, horizon], (indexed.states, 1))
        return Subroutine(cells, value.max(axis=1), constants)

    return Design(
        build,
        act,
        learn,
        policy,
        inspect=inspect,
        by_state=True,
        values=value_table,
        name="discounted-subroutine",
        duration=duration,
    )


def _initial_values(given: ArrayLike, shape: tuple[int, int]) -> Table:
    try:
        value = np.broadcast_to(np.asarray(given, dtype=np.float64), shape)
    except (TypeError, ValueError):
        raise InputError("agent.q_init", given, f"give a number, or an array of shape {shape}") from None
    require(bool(np.isfinite(value).all()), "agent.q_init", given, "give finite values")
    return value
