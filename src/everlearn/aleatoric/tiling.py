"""Features of the points of a grid: tile coding, and the inputs of a network.

A point has one level per coordinate.  The index of a feature is a sum over the coordinates of a number that depends on
the level, modulo the size of the feature's segment, so an array with one row per level of each coordinate holds them
all (:mod:`everlearn.agents.perception`).

*Tile coding* (Sutton and Barto, 2018, Section 9.5.4): a tiling cuts each ordered coordinate into tiles of equal width,
and each further tiling is shifted a little.  Coordinates that are not ordered are told apart exactly.  A tiling covers
all coordinates if it then has at most ``MOST_TILES`` tiles; otherwise there are tilings of every coordinate and of
every pair, since tiles of many coordinates would hardly ever be seen twice.  If that would be more than
``MOST_TILINGS``, only neighbours are paired, so that up to 64 coordinates can be seen.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.aleatoric.features import AUTO, fixed
from everlearn.errors import InputError, require
from everlearn.grids import Grid

TILINGS, TILES = 8, 8
"""The number of tilings, and of tiles per ordered coordinate, by default."""

MOST_TILES, MOST_TILINGS = 1 << 17, 256

REMEDY = "write auto or tiles:TILINGS:TILES, as in tiles:8:8"


class Columns(NamedTuple):
    """What each level of each coordinate adds to the index of each feature, and the number of features per column."""

    parts: NDArray[np.int64]
    segment: int
    amounts: NDArray[np.float64]
    """For each level the input of a network; empty if all inputs are 1."""


def tile_coding(name: object, grid: Grid) -> Columns:
    """Return the features of a grid by name.

    Examples
    --------
    Two tilings of a line with eight levels, into two tiles of which one is shifted by half:

    >>> tile_coding("tiles:2:2", Grid(range(8), ordered=[True])).parts.T.tolist()
    [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 2, 2]]

    """
    tilings, tiles = _read(name)
    sizes = [tiles + 1 if each else size for each, size in zip(grid.ordered, grid.sizes, strict=True)]
    places = range(len(sizes))
    groups: list[tuple[int, ...]] = [tuple(places)]
    if math.prod(sizes) > MOST_TILES:
        alone, tilings = [(c,) for c in places], max(1, tilings // 4)
        groups = [*alone, *combinations(places, 2)]
        if sum(_shifts(grid, groups, tilings)) > MOST_TILINGS:
            groups = [*alone, *pairwise(places)]
    shifts = _shifts(grid, groups, tilings)
    columns = [(group, k) for group, number in zip(groups, shifts, strict=True) for k in range(number)]
    fewer = "give fewer, as in tiles:4:8, fewer coordinates, or the agent network"
    many = f"makes {len(columns)} tilings of {len(sizes)} coordinates, at most {MOST_TILINGS}; {fewer}"
    require(len(columns) <= MOST_TILINGS, "features", name, many)
    parts = np.zeros((sum(grid.sizes), len(columns)), dtype=np.int64)
    for j, (group, k) in enumerate(columns):
        stride = 1
        for c in group:
            shift = (2 * c + 1) * k % tilings / tilings
            levels = np.arange(grid.sizes[c])
            tile = np.floor((levels + 0.5) / grid.sizes[c] * tiles + shift) if grid.ordered[c] else levels
            parts[_rows(grid, c), j] = tile.astype(np.int64) * stride
            stride *= sizes[c]
    segment = max(math.prod(sizes[c] for c in group) for group in groups)
    return Columns(fixed(parts), min(segment, MOST_TILES), fixed(np.zeros(0)))


def _shifts(grid: Grid, groups: list[tuple[int, ...]], tilings: int) -> list[int]:
    """Return the number of tilings of each group of coordinates: shifted tilings of unordered ones would be alike."""
    return [tilings if any(grid.ordered[c] for c in group) else 1 for group in groups]


def network_inputs(grid: Grid) -> Columns:
    """Return one input per coordinate: its level from -1 to 1 if it is ordered, otherwise one input per level."""
    parts, amounts = np.zeros((sum(grid.sizes), len(grid.sizes)), dtype=np.int64), np.ones(sum(grid.sizes))
    for c, (size, ordered) in enumerate(zip(grid.sizes, grid.ordered, strict=True)):
        if ordered:
            amounts[_rows(grid, c)] = (2.0 * np.arange(size) + 1.0) / size - 1.0
        else:
            parts[_rows(grid, c), c] = np.arange(size)
    segment = max(1 if each else size for each, size in zip(grid.ordered, grid.sizes, strict=True))
    return Columns(fixed(parts), segment, fixed(amounts))


def _rows(grid: Grid, c: int) -> slice:
    first = sum(grid.sizes[:c])
    return slice(first, first + grid.sizes[c])


def _read(name: object) -> tuple[int, int]:
    if name == AUTO:
        return TILINGS, TILES
    kind, *numbers = str(name).split(":")
    if kind != "tiles" or len(numbers) != 2 or not all(each.isdecimal() and 1 <= int(each) <= 64 for each in numbers):
        remedy = f"{REMEDY}; or list the states, as with task.discretiser=uniform"
        raise InputError("features", name, f"the states of this task are a grid; {remedy}")
    return int(numbers[0]), int(numbers[1])
