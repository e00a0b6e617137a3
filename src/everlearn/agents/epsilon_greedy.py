"""Acting greedily but now and then at random, which is how most rivals explore.

With probability epsilon it is any action, each equally likely, the greedy ones included; otherwise a greedy
one, ties broken as in :mod:`everlearn.agents.greedy`.  An action that is not greedy has probability epsilon / |A|.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everlearn.agents.greedy import greedy_action, greedy_policy
from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.randomness import choose, uniform


def check_epsilon(epsilon: float, argument: str = "agent.epsilon") -> None:
    """Refuse what is no probability.

    Examples
    --------
    >>> check_epsilon(0.1)

    """
    require(0 <= epsilon <= 1, argument, epsilon, "give a probability")


def epsilon_greedy_action(values: Table, aleatoric_state: int, epsilon: float, stream: Any) -> int:
    """Sample from the epsilon-greedy policy of a row; draw for exploration only where epsilon is not zero.

    Examples
    --------
    >>> epsilon_greedy_action(np.array([[0.0, 1.0]]), 0, 0.0, np.random.default_rng(1))
    1

    """
    if epsilon > 0.0 and uniform(stream) < epsilon:
        return choose(stream, values.shape[1])
    return greedy_action(values, aleatoric_state, stream)


def epsilon_greedy_policy(values: Table, epsilon: float | Table) -> Table:
    """Return the probabilities with which :func:`epsilon_greedy_action` chooses, a row for each state.

    Examples
    --------
    >>> epsilon_greedy_policy(np.array([[1.0, 1.0], [0.0, 2.0]]), 0.5).tolist()
    [[0.5, 0.5], [0.25, 0.75]]

    """
    return np.asarray((1.0 - epsilon) * greedy_policy(values) + epsilon / values.shape[1])
