"""Discretisers: finitely many labels for the points of a box, since an aleatoric state is a label.

A *grid* cuts each coordinate at its edges.  The number of a bin is how many edges are at most the coordinate: a bin
contains its lower edge, and values outside the box belong to the first or the last bin.  *Tiles* are several grids,
each shifted a little against the others (Sutton and Barto, 2018, Section 9.5.4).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everlearn.errors import InputError, require
from everlearn.protocol import Label

MOST_LABELS = 1_000_000
"""The largest number of labels of a discretiser: each is an aleatoric state."""

MOST_TILINGS = 100

FARTHEST = 1e30
"""Larger bounds count as infinite: some boxes have the largest number of their type where they have no bound."""

Edges: TypeAlias = "tuple[tuple[float, ...], ...]"
"""For each coordinate the values at which it is cut, in increasing order."""


@runtime_checkable
class Discretiser(Protocol):
    """A function that turns a point into a label, and that knows every label."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """Every label."""

    def __call__(self, point: Any) -> Label:
        """Return the label of a point."""


@dataclass(frozen=True)
class Grid:
    """Cuts each coordinate at its edges; a label is the number of a bin for each coordinate."""

    edges: Edges

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(tuple(float(edge) for edge in cuts) for cuts in self.edges))
        for cuts in self.edges:
            fine = all(map(math.isfinite, cuts)) and all(low < high for low, high in pairwise(cuts))
            require(fine, "edges", cuts, "give increasing numbers, all finite")
        _check_size(len(cuts) + 1 for cuts in self.edges)

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Every label, in order."""
        return tuple(product(*(range(len(cuts) + 1) for cuts in self.edges)))

    def __call__(self, point: Any) -> Label:
        """Return the numbers of the bins."""
        values = _coordinates(point, len(self.edges))
        return tuple(bisect_right(cuts, value) for cuts, value in zip(self.edges, values, strict=True))


@dataclass(frozen=True)
class Tiles:
    """Several grids over the same box; a label is the number of a tile in each of them."""

    grids: tuple[Grid, ...]

    def __post_init__(self) -> None:
        fine = 1 <= len(self.grids) <= MOST_TILINGS and len({len(grid.edges) for grid in self.grids}) == 1
        remedy = f"give from 1 to {MOST_TILINGS}, over the same coordinates"
        require(fine, "grids", [len(grid.edges) for grid in self.grids[:3]], remedy)
        corners = [len(values) for values in self._corners]
        _check_size(corners)
        numbers = math.prod(corners) * len(self.grids)  # a label has a number for every grid
        remedy = f"give fewer bins or grids, for {8 * MOST_LABELS:,}"
        require(numbers <= 8 * MOST_LABELS, "number of tiles", numbers, remedy)

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Every label that a point can have, in order."""
        return tuple(dict.fromkeys(self(corner) for corner in product(*self._corners)))

    def __call__(self, point: Any) -> Label:
        """Return the numbers of the tiles."""
        values = _coordinates(point, len(self.grids[0].edges))
        return tuple(_tile(grid.edges, values) for grid in self.grids)

    @property
    def _corners(self) -> list[list[float]]:
        """For each coordinate the least value of every interval that no grid cuts; these points have all labels."""
        coordinates = zip(*(grid.edges for grid in self.grids), strict=True)
        return [[-math.inf, *sorted({edge for cuts in edges for edge in cuts})] for edges in coordinates]


def _tile(edges: Edges, values: list[float]) -> int:
    number = 0
    for cuts, value in zip(edges, values, strict=True):
        number = number * (len(cuts) + 1) + bisect_right(cuts, value)
    return number


def uniform(low: ArrayLike, high: ArrayLike, bins: int | Sequence[int]) -> Grid:
    """Cut each coordinate into bins of equal width.

    Parameters
    ----------
    low:
        the lower bound of each coordinate, finite; smaller values belong to the first bin
    high:
        the upper bound of each coordinate, finite; larger values belong to the last bin
    bins:
        the number of bins per coordinate, or one number for all; one with a single bin is ignored and needs no bounds

    Examples
    --------
    >>> grid = uniform([0, -1], [1, 1], bins=[4, 2])
    >>> grid.edges, grid([0.3, 0.9]), grid([7.0, -7.0])
    (((0.25, 0.5, 0.75), (0.0,)), (1, 1), (3, 0))

    """
    return Grid(tuple(_cuts(*coordinate) for coordinate in _coordinate_ranges(low, high, bins)))


def quantile(samples: ArrayLike, bins: int | Sequence[int]) -> Grid:
    """Cut each coordinate so that its bins hold equally many samples.

    Parameters
    ----------
    samples:
        points, one per row
    bins:
        the number of bins per coordinate, or one number for all; if samples are tied there are fewer

    Examples
    --------
    >>> grid = quantile([[0], [1], [2], [3], [100]], bins=2)
    >>> grid.edges, [grid([x]) for x in (1, 2, 50)]
    (((2.0,),), [(0,), (1,), (1,)])

    """
    points = np.asarray(samples, dtype=np.float64)
    require(points.ndim == 2 and points.size > 0, "samples", points.shape, "give an array with one point per row")
    too_far = points[~(np.abs(points) <= FARTHEST)]
    require(too_far.size == 0, "samples", too_far[:1], f"give finite numbers, to {FARTHEST:g}")
    numbers = _bins_per_coordinate(bins, points.shape[1])
    return Grid(tuple(_quantiles(column, number) for column, number in zip(points.T, numbers, strict=True)))


def tiles(low: ArrayLike, high: ArrayLike, bins: int | Sequence[int], tilings: int = 4) -> Tiles:
    """Lay several grids over a box, shifted against each other by fractions of a tile.

    The k-th of K tilings is shifted by (2j + 1) k modulo K K-ths of a tile along coordinate j = 0, 1, ..., as advised
    by Sutton and Barto (2018, Section 9.5.4).

    Parameters
    ----------
    low:
        the lower bound of each coordinate, finite; smaller values belong to the first bin
    high:
        the upper bound of each coordinate, finite; larger values belong to the last bin
    bins:
        the number of tiles per coordinate, or one number for all; a shifted tiling has one more
    tilings:
        the number of grids

    Examples
    --------
    >>> two = tiles([0], [2], bins=2, tilings=2)
    >>> [grid.edges for grid in two.grids], two([0.7]), two([99.0])
    ([((1.0,),), ((0.5, 1.5),)], (0, 1), (1, 2))

    """
    fine = _is_whole(tilings) and 1 <= tilings <= MOST_TILINGS
    require(fine, "tilings", tilings, f"give at least 1, and at most {MOST_TILINGS}")
    coordinates = _coordinate_ranges(low, high, bins)
    shifts = [[(2 * j + 1) * k % tilings / tilings for j in range(len(coordinates))] for k in range(tilings)]
    return Tiles(
        tuple(
            Grid(tuple(_cuts(*coordinate, shift) for coordinate, shift in zip(coordinates, shifted, strict=True)))
            for shifted in shifts
        )
    )


def _cuts(low: float, high: float, number: int, shift: float = 0.0) -> tuple[float, ...]:
    """Return the edges between bins of equal width, shifted down by a fraction of it; a single bin is never cut."""
    last = number if shift == 0 or number == 1 else number + 1
    places = [low + (high - low) * (place - shift) / number for place in range(1, last)]
    return tuple(sorted({float(edge) for edge in places}))


def _quantiles(column: NDArray[np.float64], number: int) -> tuple[float, ...]:
    """Return the quantiles of samples, without the least sample, since the bin below it would be empty."""
    edges = np.unique(np.quantile(column, np.arange(1, number) / number))
    return tuple(float(edge) for edge in edges if edge > column.min())


def _coordinates(point: Any, number: int) -> list[float]:
    """Return a point as a list of numbers, checked."""
    try:
        values: list[float] = np.asarray(point, dtype=np.float64).ravel().tolist()
    except (TypeError, ValueError):
        raise InputError("point", point, "give numbers") from None
    require(len(values) == number, "point", point, f"give {number} coordinates")
    require(not any(map(math.isnan, values)), "point", values, "is not a number; no bin contains it")
    return values


def _coordinate_ranges(low: ArrayLike, high: ArrayLike, bins: int | Sequence[int]) -> list[tuple[float, float, int]]:
    """Return the bounds and the number of bins of each coordinate, checked."""
    lower, upper = (np.asarray(end, dtype=np.float64).ravel().tolist() for end in (low, high))
    require(len(lower) == len(upper), "low, high", (lower, upper), "give as many of one as of the other")
    ranges = list(zip(lower, upper, _bins_per_coordinate(bins, len(lower)), strict=True))
    for place, (least, greatest, number) in enumerate(ranges):
        if number > 1 and not -FARTHEST <= least < greatest <= FARTHEST:
            where = f"low, high of coordinate {place}"
            raise InputError(where, (least, greatest), "give two finite numbers, the lower first, or use quantiles")
    _check_size(number for _, _, number in ranges)
    return ranges


def _bins_per_coordinate(bins: int | Sequence[int], coordinates: int) -> list[int]:
    given: list[Any] = [bins] * coordinates if np.ndim(bins) == 0 else list(bins)  # type: ignore[arg-type]  # several
    fine = len(given) == coordinates and all(_is_whole(number) and number >= 1 for number in given)
    require(fine, "bins", bins, f"give a whole number of at least 1, or {coordinates} of them")
    for number in given:
        _check_size([number])
    return [int(number) for number in given]


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _check_size(factors: Iterable[int]) -> None:
    """Raise if a product of numbers of bins is more labels than there may be, before the labels are made."""
    number = 1
    for factor in factors:
        number *= factor
        require(number <= MOST_LABELS, "number of labels", number, f"give fewer bins, for at most {MOST_LABELS:,}")
