"""Aleatoric states as places of a lattice: tuples of whole numbers, and which of them are alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.aleatoric.features import factors
from everlearn.protocol import Label

SPARSEST = 4
"""A lattice has at most so many times as many places as there are states."""


class Places(NamedTuple):
    """Where each aleatoric state is, and which places are alike."""

    places: NDArray[np.int64]
    """The coordinates of each aleatoric state, from 0."""
    occupants: NDArray[np.int64]
    """The aleatoric state at each place, -1 if there is none; a place is the sum of its coordinates times strides."""
    sizes: NDArray[np.int64]
    strides: NDArray[np.int64]
    kinds: NDArray[np.int64]
    """The kind of place of each aleatoric state, -1 if it is no place."""


def find_places(states: Sequence[Label], near: int) -> Places:
    """Return the places of states, from 0 in each coordinate; if they are no lattice, each is a kind of its own.

    Examples
    --------
    Both coordinates go from 0 to 2.  With ``near`` 1, four corners, four edges and the middle are kinds of places:

    >>> square = [(x, y) for x in range(3) for y in range(3)]
    >>> find_places(square, 1).kinds.reshape(3, 3).tolist()
    [[8, 7, 6], [5, 4, 3], [2, 1, 0]]

    A state that is no place opens the lattice: only the lower ends are ends.

    >>> find_places([*square, "outside"], 1).kinds.tolist()
    [3, 2, 2, 1, 0, 0, 1, 0, 0, -1]

    """
    coordinates = [_coordinates(label) for label in states]
    lengths = Counter(len(place) for place in coordinates if place)
    dimensions = max(lengths, key=lambda length: (lengths[length], length), default=0)
    inside = np.array([bool(dimensions) and len(place) == dimensions for place in coordinates])
    if 2 * inside.sum() > len(states):
        columns = [*zip(*(place for place, there in zip(coordinates, inside, strict=True) if there), strict=True)]
        lows = [min(column) for column in columns]
        sizes = [max(column) - low + 1 for column, low in zip(columns, lows, strict=True)]  # Python's: of any size
        if math.prod(sizes) <= SPARSEST * len(states):
            places = np.zeros((len(states), dimensions), dtype=np.int64)
            for c, (column, low) in enumerate(zip(columns, lows, strict=True)):
                places[inside, c] = [x - low for x in column]
            return _lattice(places, inside, np.array(sizes), near)
    alone = np.arange(len(states))[:, None]
    return _lattice(alone, np.ones(len(states), dtype=bool), np.array([len(states)]), len(states))


def _coordinates(label: Label) -> tuple[Any, ...]:
    """Return the parts of a label if all of them are whole numbers, or else none."""
    parts = factors(label)
    whole = all(isinstance(part, int) and not isinstance(part, bool) for part in parts)
    return parts if whole else ()


def _lattice(places: NDArray[np.int64], inside: NDArray[Any], sizes: NDArray[np.int64], near: int) -> Places:
    strides = np.array([int(np.prod(sizes[c + 1 :])) for c in range(len(sizes))], dtype=np.int64)
    occupants = np.full(int(np.prod(sizes)), -1, dtype=np.int64)
    occupants[places[inside] @ strides] = np.flatnonzero(inside)
    from_end = sizes - 1 - places if inside.all() else np.full_like(places, near)
    ends = np.where(places < near, places + 1, np.where(from_end < near, -1 - from_end, 0))  # 0 is far
    kinds = np.full(len(places), -1, dtype=np.int64)
    kinds[inside] = np.unique(ends[inside], axis=0, return_inverse=True)[1].ravel()
    return Places(places, occupants, sizes.astype(np.int64), strides, kinds)
