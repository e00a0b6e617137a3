"""Acting greedily, ties broken uniformly among all maximisers (Line 8 of Algorithm 2).

A value table here has three axes: aleatoric state, action, and what is kept of the pair, first of all its value.
So all that a step reads and writes of a pair lies together in memory, which is what counts once tables are large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everlearn.protocol import Table
from everlearn.randomness import choose

UNROLLED = 8
"""Up to how many actions loops over actions are unrolled when compiled."""


def unrolled(actions: int) -> tuple[int, ...]:
    """Return a tuple whose length, which a compiler knows, is the number of actions; empty where there are many.

    Examples
    --------
    >>> unrolled(2), unrolled(100)
    ((0, 0), ())

    """
    return (0,) * actions if actions <= UNROLLED else ()


def number_of_actions(cells: Table, each: tuple[int, ...]) -> int:
    """Return the number of actions of a value table, from what :func:`unrolled` returned if that tells."""
    return len(each) if len(each) > 0 else cells.shape[1]


def greedy_action(cells: Table, each: tuple[int, ...], aleatoric_state: int, stream: Any) -> int:
    """Sample uniformly from the maximisers of a row; draw only where there is more than one."""
    actions = number_of_actions(cells, each)
    best = cells[aleatoric_state, 0, 0]
    action = 0
    ties = 1
    for a in range(1, actions):
        value = cells[aleatoric_state, a, 0]
        better = value > best
        ties = 1 if better else ties + (value == best)
        action = a if better else action
        best = value if better else best
    if ties == 1:
        return action
    skip = choose(stream, ties)
    for a in range(actions):
        if cells[aleatoric_state, a, 0] == best:
            if skip == 0:
                return a
            skip -= 1
    return action


def largest(cells: Table, each: tuple[int, ...], aleatoric_state: int) -> float:
    """Return the greatest value of a row."""
    best: float = cells[aleatoric_state, 0, 0]
    for a in range(1, number_of_actions(cells, each)):
        value: float = cells[aleatoric_state, a, 0]
        best = value if value > best else best
    return best


def greedy_policy(cells: Table) -> Table:
    """Return the probabilities with which :func:`greedy_action` chooses, a row for each aleatoric state.

    Examples
    --------
    >>> greedy_policy(np.array([[[1.0], [1.0]], [[0.0], [2.0]]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]

    """
    values = cells[:, :, 0]
    best = values == values.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))
