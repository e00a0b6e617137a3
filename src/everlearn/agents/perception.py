"""How an agent with features sees an aleatoric state: the rows of constant arrays from which its features follow.

The features of every aleatoric state are computed once, before the first step, into an array with one row per state.
Compiled code then reads them from there.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from everlearn.aleatoric.features import AUTO, make_features
from everlearn.protocol import Table
from everlearn.tasks.indexed import IndexedTask

_SIGHTS: WeakKeyDictionary[IndexedTask, dict[Any, Sight]] = WeakKeyDictionary()


class Sight(NamedTuple):
    """What an agent needs to know of the features: constants, which its knowledge contains."""

    active: NDArray[np.int64]
    """The indices of the active features, one row per aleatoric state."""
    size: int
    """The number of features."""


def sight(features: object, indexed: IndexedTask) -> Sight:
    """Return how an agent sees the states of a task; all runs on one task share the arrays."""
    seen = _SIGHTS.setdefault(indexed, {})
    chosen = indexed.task.features if features == AUTO and indexed.task.features is not None else features
    if chosen not in seen:
        made = make_features(chosen, indexed.task.states)
        seen[chosen] = Sight(made.table(indexed.task.states), made.size)
    return seen[chosen]


def action_values(weights: Table, active: NDArray[np.int64], s: int) -> Table:
    """Return the values of all actions in a state, as a table of one row: the sums of the weights of its features."""
    values = np.zeros((1, weights.shape[1]))
    for j in range(active.shape[1]):
        i = active[s, j]
        for a in range(weights.shape[1]):
            values[0, a] += weights[i, a]
    return values


def all_values(weights: Table, active: NDArray[np.int64]) -> Table:
    """Return the values of all actions in all states, each summed in the order of :func:`action_values`."""
    values = np.zeros((len(active), weights.shape[1]))
    for j in range(active.shape[1]):
        values += weights[active[:, j]]
    return values
