"""Algorithm 3, the discounted Q-learning subroutine of the proofs (Appendix C.3), as written.

It begins from any values Q_init and, with :meth:`everlearn.Task.after`, from any history.  The text calls it identical
to Algorithm 1 apart from that; it is not: it clips V and not Q.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everlearn.agents.design import Design
from everlearn.agents.discounted import fixed_optimism
from everlearn.agents.greedy import greedy_action, greedy_policy, kept_values, largest
from everlearn.agents.records import records
from everlearn.errors import InputError, require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Subroutine(NamedTuple):
    """What Algorithm 3 keeps."""

    cells: NDArray[Any]
    """One record per aleatoric state: Q and N of each action."""
    best: Table
    """V, for each aleatoric state."""
    constants: Table
    """gamma, beta and tau = 1 / (1 - gamma), for each aleatoric state the same."""


def discounted_subroutine(
    *,
    horizon: float = 10.0,
    duration: int | None = None,
    optimism: float | None = None,
    q_init: ArrayLike | None = None,
) -> Design:
    """Discounted Q-learning from any values and any history, V clipped rather than Q (Algorithm 3).

    Parameters
    ----------
    horizon:
        tau; gamma = 1 - 1 / tau
    duration:
        T, from which the optimism follows; that of the run unless given
    optimism:
        beta; 4 tau^(3/2) sqrt(log(2 T^2)) unless given
    q_init:
        the values to begin with, a number or one for each aleatoric state and action; tau unless given

    """
    require(1 <= horizon < math.inf, "agent.horizon", horizon, "give a finite number of at least 1")
    beta = fixed_optimism(horizon, duration) if optimism is None else optimism
    require(0 <= beta < math.inf, "agent.optimism", beta, "give a finite number of at least 0")

    def build(indexed: IndexedTask) -> Subroutine:
        shape = (indexed.states, indexed.actions)
        value = _initial(horizon if q_init is None else q_init, shape)
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
        values=kept_values,
        name="discounted-subroutine",
        duration=duration,
    )


def _initial(given: ArrayLike, shape: tuple[int, int]) -> Table:
    try:
        value = np.broadcast_to(np.asarray(given, dtype=np.float64), shape)
    except (TypeError, ValueError):
        raise InputError("agent.q_init", given, f"give a number, or an array of shape {shape}") from None
    require(bool(np.isfinite(value).all()), "agent.q_init", given, "give finite values")
    return value


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
    return {
        "Q": knowledge.cells["value"].copy(),
        "N": knowledge.cells["count"].copy(),
        "V": knowledge.best.copy(),
    }
