"""How an agent with features sees an aleatoric state: constant arrays from which compiled code reads its features.

The features of every aleatoric state are computed once, before the first step, into an array with one row per state.
If there are too many states for that, because a state is a point of a grid with several coordinates
(:mod:`everlearn.grids`), each coordinate has rows instead, one per level.  The index of a feature is then a sum
over the coordinates, modulo the size of the feature's segment.

A state is a number.  On a wide grid, whose numbers do not fit into 64 bits, ``act`` and ``learn`` are called with the
place of each coordinate instead, as an array (:class:`Places`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import accumulate
from operator import mul
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from everlearn.aleatoric.features import AUTO, WAYS, fixed, make_features
from everlearn.aleatoric.tiling import Columns, network_inputs, tile_coding
from everlearn.errors import InputError
from everlearn.grids import Grid
from everlearn.protocol import Experience, Label, Table
from everlearn.tasks.indexed import IndexedTask

_SIGHTS: WeakKeyDictionary[IndexedTask, dict[Any, Sight]] = WeakKeyDictionary()


class Sight(NamedTuple):
    """The constants from which features are read; knowledge with features has these fields, except ``size``."""

    parts: NDArray[np.int64]
    """One column per active feature.  One row per aleatoric state, with the indices of its features; or one row per
    level of each coordinate, with what it adds to the indices."""
    digits: NDArray[np.int64]
    """For each coordinate, the number of its levels, and by what a state is divided to get a number that ends with
    its level; empty if there is a row per state."""
    segment: int
    """The number of features among which each column chooses, if there are coordinates."""
    size: int
    """The number of features."""


def sight(features: object, indexed: IndexedTask) -> Sight:
    """Return how an agent sees the states of a task; all runs on one task share the arrays."""
    seen = _SIGHTS.setdefault(indexed, {})
    if not isinstance(features, Hashable):
        raise InputError("features", features, f"give {WAYS}")
    chosen = indexed.task.features if features == AUTO and indexed.task.features is not None else features
    if chosen not in seen:
        seen[chosen] = _sight(chosen, indexed.task.states)
    return seen[chosen]


def inputs(features: object, indexed: IndexedTask) -> tuple[Sight, Table]:
    """Return what a network sees of a state, and the amount of each input; no amounts if all are 1."""
    states = indexed.task.states
    if isinstance(states, Grid) and features == AUTO:
        columns = network_inputs(states)
        return seen_in_columns(columns, states), columns.amounts
    return sight(features, indexed), fixed(np.zeros(0))


def _sight(chosen: object, states: Sequence[Label]) -> Sight:
    if isinstance(states, Grid):
        return seen_in_columns(tile_coding(chosen, states), states)
    made = make_features(chosen, states)
    return Sight(made.table(states), fixed(np.zeros((0, 2), dtype=np.int64)), 0, made.size)


def seen_in_columns(columns: Columns, grid: Grid) -> Sight:
    """Return how the points of a grid are seen through columns of features."""
    strides = [1] * len(grid.sizes) if grid.is_wide else accumulate(grid.sizes[:-1], mul, initial=1)
    digits = fixed(np.array([*zip(grid.sizes, strides, strict=True)], dtype=np.int64))
    return Sight(columns.parts, digits, columns.segment, columns.parts.shape[1] * columns.segment)


def rows_of(knowledge: Any, s: Any) -> NDArray[np.int64]:
    """Return the rows of ``parts`` that describe a state: a number, or on a wide grid an array of places."""
    digits = knowledge.digits
    rows = np.empty(max(len(digits), 1), dtype=np.int64)
    rows[:] = s
    first = 0
    for c in range(len(digits)):
        rows[c] = first + rows[c] // digits[c, 1] % digits[c, 0]
        first += digits[c, 0]
    return rows


def feature(parts: NDArray[np.int64], segment: int, rows: NDArray[np.int64], j: int) -> int:
    """Return the index of the active feature in a column; ``segment`` is 0 if there is a row per state.

    It takes arrays, and not knowledge: compiled code counts references whenever it takes an array out of a tuple.
    """
    index: int = parts[rows[0], j]
    if segment > 0:
        for c in range(1, len(rows)):
            index += parts[rows[c], j]
        index = j * segment + index % segment
    return index


def action_values(knowledge: Any, weights: Table, rows: NDArray[np.int64]) -> Table:
    """Return the values of all actions in a state, as a table of one row: the sums of the weights of its features."""
    parts = knowledge.parts
    segment = knowledge.segment
    values = np.zeros((1, weights.shape[1]))
    for j in range(parts.shape[1]):
        i = feature(parts, segment, rows, j) if segment > 0 else parts[rows[0], j]  # a call takes time
        for a in range(weights.shape[1]):
            values[0, a] += weights[i, a]
    return values


class Places:
    """The functions of a design on a wide grid: they are called with the places of a state, and not with its number.

    The number of an observation is left out: the designs that can see a grid do not use it.
    """

    def __init__(self, functions: Any, grid: Grid) -> None:
        self.within, self._grid = functions, grid

    def _seen(self, s: int) -> NDArray[np.int64]:
        return np.array(self._grid.places(s), dtype=np.int64)

    def _experience(self, given: Experience) -> Experience:
        state, following = self._seen(given.aleatoric_state), self._seen(given.next_aleatoric_state)
        fields: Any = {"aleatoric_state": state, "observation": 0, "next_aleatoric_state": following}
        return given._replace(**fields)

    def act(self, knowledge: Any, s: int, now: Any, stream: Any) -> int:
        """Return the index of the action that the design chooses."""
        return self.within.act(knowledge, self._seen(s), now, stream)  # type: ignore[no-any-return]

    def learn(self, knowledge: Any, experience: Experience, now: Any, stream: Any) -> None:
        """Let the design learn from one step."""
        self.within.learn(knowledge, self._experience(experience), now, stream)

    def remember(self, knowledge: Any, experience: Experience) -> None:
        """Update the design's own record of the past."""
        self.within.remember(knowledge, self._experience(experience))

    def policy_at(self, knowledge: Any, s: int) -> Table:
        """Return one row of the policy."""
        return self.within.policy_at(knowledge, self._seen(s))  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name == "within":  # of a copy that is not complete yet
            raise AttributeError(name)
        return getattr(self.within, name)


def is_grid(knowledge: Any) -> bool:
    """Return whether states are points of a grid, of which there are too many for a table."""
    return len(knowledge.digits) > 0


def require_table(knowledge: Any) -> None:
    """Raise if there is no row per state, so that no table of all states can be made."""
    if len(knowledge.digits) > 0:
        states = math.prod(int(levels) for levels, _ in knowledge.digits)
        raise InputError(
            "states", states, "are points of a box, too many for a table; where one is needed, list the states"
        )


def all_values(knowledge: Any, weights: Table) -> Table:
    """Return the values of all actions in all states, each summed in the order of :func:`action_values`."""
    require_table(knowledge)
    values = np.zeros((len(knowledge.parts), weights.shape[1]))
    for column in knowledge.parts.T:
        values += weights[column]
    return values
