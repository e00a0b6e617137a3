"""Acting greedily, ties broken uniformly among all maximisers (Line 8 of Algorithm 2).

A value table here has a row for each aleatoric state, of which the first entries, one for each action, are values; what
else is kept of a pair follows in the same row.  So all that a step reads and writes of a state lies together in memory,
which is what counts once tables are large.
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


def known_actions(each: tuple[int, ...], actions: int) -> int:
    """Return the number of actions, from what :func:`unrolled` returned where that tells.

    Examples
    --------
    >>> known_actions((0, 0), 2), known_actions((), 100)
    (2, 100)

    """
    return len(each) if len(each) > 0 else actions


def greedy_action(cells: Table, actions: int, aleatoric_state: int, stream: Any) -> int:
    """Sample uniformly from the maximisers of a row; draw only where there is more than one."""
    best = cells[aleatoric_state, 0]
    action = 0
    ties = 1
    for a in range(1, actions):
        value = cells[aleatoric_state, a]
        better = value > best
        ties = 1 if better else ties + (value == best)
        action = a if better else action
        best = value if better else best
    if ties == 1:
        return action
    skip = choose(stream, ties)
    for a in range(actions):
        if cells[aleatoric_state, a] == best:
            if skip == 0:
                return a
            skip -= 1
    return action


def largest(cells: Table, actions: int, aleatoric_state: int) -> float:
    """Return the greatest value of a row."""
    best: float = cells[aleatoric_state, 0]
    for a in range(1, actions):
        value: float = cells[aleatoric_state, a]
        best = value if value > best else best
    return best


def greedy_policy(values: Table) -> Table:
    """Return the probabilities with which :func:`greedy_action` chooses, a row for each aleatoric state.

    Examples
    --------
    >>> greedy_policy(np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]

    """
    best = values == values.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))
