"""Act greedily, with ties broken uniformly among all maximisers (Line 8 of Algorithm 2).

Values are a table with one row per aleatoric state and one column per action.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everlearn.protocol import Table
from everlearn.randomness import choose


def greedy_action(values: Table, aleatoric_state: int, stream: Any) -> int:
    """Sample uniformly from the maximisers of a row; draw only where there is more than one."""
    best = values[aleatoric_state, 0]
    action = 0
    ties = 1
    for a in range(1, values.shape[1]):
        value = values[aleatoric_state, a]
        better = value > best
        ties = 1 if better else ties + (value == best)
        action = a if better else action
        best = value if better else best
    if ties == 1:
        return action
    skip = choose(stream, ties)
    for a in range(values.shape[1]):
        if values[aleatoric_state, a] == best:
            if skip == 0:
                return a
            skip -= 1
    return action


def largest(values: Table, aleatoric_state: int) -> float:
    """Return the greatest value of a row."""
    best: float = values[aleatoric_state, 0]
    for a in range(1, values.shape[1]):
        value: float = values[aleatoric_state, a]
        best = value if value > best else best
    return best


def kept_values(knowledge: Any) -> Table:
    """Return the values of every aleatoric state and action, for designs that keep them in records."""
    return knowledge.cells["value"]  # type: ignore[no-any-return]


def greedy_policy(values: Table) -> Table:
    """Return the probabilities with which :func:`greedy_action` chooses, a row for each aleatoric state.

    Examples
    --------
    >>> greedy_policy(np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]

    """
    best = values == values.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))
