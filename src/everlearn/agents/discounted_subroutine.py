"""Algorithm 3, the discounted Q-learning subroutine of the proofs (Appendix C.3), as written.

It begins from any values Q_init and, with :meth:`everlearn.Task.after`, from any history.  The text calls it identical
to Algorithm 1 apart from that; it is not: it clips V and not Q.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from everlearn.agents.design import Design
from everlearn.agents.discounted import fixed_optimism
from everlearn.agents.greedy import greedy_action, greedy_policy, largest
from everlearn.errors import InputError, require
from everlearn.protocol import Experience, Now, Table
from everlearn.tasks.interface import Interface


class Subroutine(NamedTuple):
    """Q, N and V, and the constants gamma and beta."""

    value: Table
    visits: Table
    best: Table
    constants: Table


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
    require(horizon >= 1, "agent.horizon", horizon, "give at least 1")
    beta = fixed_optimism(horizon, duration) if optimism is None else optimism
    require(beta >= 0, "agent.optimism", beta, "give at least 0")

    def build(interface: Interface) -> Subroutine:
        shape = (interface.states, interface.actions)
        value = np.array(_initial(horizon if q_init is None else q_init, shape))
        constants = np.array([1.0 - 1.0 / horizon, beta])
        return Subroutine(value, np.zeros(shape), value.max(axis=1), constants)

    return Design(build, act, learn, policy, inspect=inspect, name="discounted-subroutine", duration=duration)


def _initial(given: ArrayLike, shape: tuple[int, int]) -> Table:
    try:
        value = np.broadcast_to(np.asarray(given, dtype=np.float64), shape)
    except (TypeError, ValueError):
        raise InputError("agent.q_init", given, f"give a number, or an array of shape {shape}") from None
    require(bool(np.isfinite(value).all()), "agent.q_init", given, "give finite values")
    return value


def act(knowledge: Subroutine, aleatoric_state: int, now: Now, stream: Any) -> int:  # noqa: ARG001
    """Line 7."""
    return greedy_action(knowledge.value, aleatoric_state, stream)


def learn(knowledge: Subroutine, experience: Experience, now: Now, stream: Any) -> None:  # noqa: ARG001
    """Lines 8, 9, 12 and 13."""
    s = experience.aleatoric_state
    a = experience.action
    gamma = knowledge.constants[0]
    beta = knowledge.constants[1]
    n = knowledge.visits[s, a] + 1.0
    knowledge.visits[s, a] = n
    alpha = (2.0 + (1.0 - gamma)) / (2.0 + n * (1.0 - gamma))
    target = experience.reward + gamma * knowledge.best[experience.next_aleatoric_state] + beta / math.sqrt(n)
    knowledge.value[s, a] = (1.0 - alpha) * knowledge.value[s, a] + alpha * target
    knowledge.best[s] = min(largest(knowledge.value, s), 1.0 / (1.0 - gamma))


def policy(knowledge: Subroutine) -> Table:
    """Return the greedy policy."""
    return greedy_policy(knowledge.value)


def inspect(knowledge: Subroutine, now: Now) -> dict[str, Table]:  # noqa: ARG001
    """Return Q, N and V."""
    return {"Q": knowledge.value.copy(), "N": knowledge.visits.copy(), "V": knowledge.best.copy()}
