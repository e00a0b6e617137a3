"""Discretisers: finitely many labels for the points of a box, since an aleatoric state is a label.

A *grid* cuts each coordinate at its edges: the number of a bin is how many edges are at most the coordinate, so that
a bin holds its lower edge, and what lies outside counts as the first or the last bin.  *Tiles* are several grids, each
moved a little against the others (Sutton and Barto, 2018, Section 9.5.4).
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
"""How many labels a discretiser may have: there is an aleatoric state for each."""

MOST_TILINGS = 100

FARTHEST = 1e30
"""Beyond this a number is no end of a coordinate: some boxes give the greatest of their type for want of one."""

Edges: TypeAlias = "tuple[tuple[float, ...], ...]"
"""For each coordinate the places at which it is cut, increasing."""


@runtime_checkable
class Discretiser(Protocol):
    """What turns a point into a label, and knows every label there is."""

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
            fine = all(map(math.isfinite, cuts)) and all(one < other for one, other in pairwise(cuts))
            require(fine, "edges", cuts, "give increasing numbers, all finite")
        check_number(len(cuts) + 1 for cuts in self.edges)

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Every label, in order."""
        return tuple(product(*(range(len(cuts) + 1) for cuts in self.edges)))

    def __call__(self, point: Any) -> Label:
        """Return the numbers of the bins."""
        return tuple(
            bisect_right(cuts, value) for cuts, value in zip(self.edges, coordinates(point, self.edges), strict=True)
        )


@dataclass(frozen=True)
class Tiles:
    """Several grids over the same box; a label is the number of a tile in each of them."""

    grids: tuple[Grid, ...]

    def __post_init__(self) -> None:
        fine = 1 <= len(self.grids) <= MOST_TILINGS and len({len(grid.edges) for grid in self.grids}) == 1
        remedy = f"give from 1 to {MOST_TILINGS}, over the same coordinates"
        require(fine, "grids", [len(grid.edges) for grid in self.grids[:3]], remedy)
        corners = [len(cuts) for cuts in self._corners]
        check_number(corners)
        many = math.prod(corners) * len(self.grids)  # a label has a number for every grid
        require(many <= 8 * MOST_LABELS, "number of tiles", many, f"give fewer bins or grids, for {8 * MOST_LABELS:,}")

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Every label that a point can have, in order."""
        return tuple(dict.fromkeys(self(corner) for corner in product(*self._corners)))

    def __call__(self, point: Any) -> Label:
        """Return the numbers of the tiles."""
        return tuple(_number(grid, point) for grid in self.grids)

    @property
    def _corners(self) -> list[list[float]]:
        """For each coordinate the least point of every interval that no grid cuts; all labels are found there."""
        cuts = zip(*(grid.edges for grid in self.grids), strict=True)
        return [[-math.inf, *sorted({edge for edges in one for edge in edges})] for one in cuts]


def _number(grid: Grid, point: Any) -> int:
    number = 0
    for cuts, value in zip(grid.edges, coordinates(point, grid.edges), strict=True):
        number = number * (len(cuts) + 1) + bisect_right(cuts, value)
    return number


def uniform(low: ArrayLike, high: ArrayLike, bins: int | Sequence[int]) -> Grid:
    """Cut each coordinate into bins of equal width.

    Parameters
    ----------
    low, high:
        the ends of each coordinate, finite; what lies outside counts as the first or the last bin
    bins:
        how many for each coordinate, or one number for all; a coordinate with one bin needs no ends: nobody looks at it

    Examples
    --------
    >>> grid = uniform([0, -1], [1, 1], bins=[4, 2])
    >>> grid.edges, grid([0.3, 0.9]), grid([7.0, -7.0])
    (((0.25, 0.5, 0.75), (0.0,)), (1, 1), (3, 0))

    """
    ends, chosen = _laid_out(low, high, bins)
    check_number(chosen)
    return Grid(tuple(_cuts(*one, number) for one, number in zip(ends, chosen, strict=True)))


def quantile(samples: ArrayLike, bins: int | Sequence[int]) -> Grid:
    """Cut each coordinate so that its bins hold equally many samples.

    Parameters
    ----------
    samples:
        points, a row for each
    bins:
        how many for each coordinate, or one number for all; where samples are tied there are fewer

    Examples
    --------
    >>> grid = quantile([[0], [1], [2], [3], [100]], bins=2)
    >>> grid.edges, [grid([x]) for x in (1, 2, 50)]
    (((2.0,),), [(0,), (1,), (1,)])

    """
    points = np.asarray(samples, dtype=np.float64)
    require(points.ndim == 2 and points.size > 0, "samples", points.shape, "give an array with a row for each point")
    fine = bool((np.abs(points) <= FARTHEST).all())
    require(fine, "samples", points[~(np.abs(points) <= FARTHEST)][:1], f"give finite numbers, to {FARTHEST:g}")
    chosen = numbers(bins, points.shape[1])
    return Grid(tuple(_shares(one, number) for one, number in zip(points.T, chosen, strict=True)))


def tiles(low: ArrayLike, high: ArrayLike, bins: int | Sequence[int], tilings: int = 4) -> Tiles:
    """Lay several grids over a box, moved against each other by fractions of a tile.

    The k-th of K tilings is moved by (2j + 1) k modulo K K-ths of a tile along coordinate j = 0, 1, ..., as Sutton and
    Barto (2018, Section 9.5.4) advise.

    Parameters
    ----------
    low, high:
        the ends of each coordinate, finite
    bins:
        how many tiles for each coordinate, or one number for all; a tiling that is moved has one more
    tilings:
        how many grids

    Examples
    --------
    >>> two = tiles([0], [2], bins=2, tilings=2)
    >>> [grid.edges for grid in two.grids], two([0.7]), two([99.0])
    ([((1.0,),), ((0.5, 1.5),)], (0, 1), (1, 2))

    """
    fine = _is_whole(tilings) and 1 <= tilings <= MOST_TILINGS
    require(fine, "tilings", tilings, f"give at least 1, and at most {MOST_TILINGS}")
    ends, chosen = _laid_out(low, high, bins)
    check_number(chosen)
    moves = [[(2 * j + 1) * k % tilings / tilings for j in range(len(ends))] for k in range(tilings)]
    return Tiles(
        tuple(
            Grid(tuple(_cuts(*one, number, move) for one, number, move in zip(ends, chosen, moved, strict=True)))
            for moved in moves
        )
    )


def _cuts(low: float, high: float, number: int, move: float = 0.0) -> tuple[float, ...]:
    """Return the edges between bins of equal width, moved down by a fraction of it; a single bin is never cut."""
    last = number if move == 0 or number == 1 else number + 1
    places = [low + (high - low) * (place - move) / number for place in range(1, last)]
    return tuple(sorted({float(edge) for edge in places}))


def _shares(column: NDArray[np.float64], number: int) -> tuple[float, ...]:
    """Return the quantiles; one at the least sample would leave the bin below it empty."""
    found = np.quantile(column, np.arange(1, number) / number)
    return tuple(float(edge) for edge in np.unique(found) if edge > column.min())


def coordinates(point: Any, edges: Edges) -> list[float]:
    """Return a point as numbers, as many as there are coordinates."""
    try:
        values: list[float] = np.asarray(point, dtype=np.float64).ravel().tolist()
    except (TypeError, ValueError):
        raise InputError("point", point, "give numbers") from None
    require(len(values) == len(edges), "point", point, f"give {len(edges)} coordinates")
    require(not any(math.isnan(value) for value in values), "point", values, "is not a number; no bin holds it")
    return values


def _laid_out(
    low: ArrayLike, high: ArrayLike, bins: int | Sequence[int]
) -> tuple[list[tuple[float, float]], list[int]]:
    """Return the ends of each coordinate and how many bins it has, or say which end cannot be used."""
    lower, upper = (np.asarray(end, dtype=np.float64).ravel().tolist() for end in (low, high))
    require(len(lower) == len(upper), "low, high", (lower, upper), "give as many of one as of the other")
    ends, chosen = list(zip(lower, upper, strict=True)), numbers(bins, len(lower))
    for place, (one, other) in enumerate(ends):
        if chosen[place] > 1 and not -FARTHEST <= one < other <= FARTHEST:
            where = f"low, high of coordinate {place}"
            raise InputError(where, (one, other), "give two finite numbers, the lower first, or use quantiles")
    return ends, chosen


def numbers(bins: int | Sequence[int], coordinates: int) -> list[int]:
    """Return a number of bins for each coordinate."""
    given: list[Any] = [bins] * coordinates if np.ndim(bins) == 0 else list(bins)  # type: ignore[arg-type]  # several
    fine = len(given) == coordinates and all(_is_whole(one) and one >= 1 for one in given)
    require(fine, "bins", bins, f"give a whole number of at least 1, or {coordinates} of them")
    for number in given:
        check_number([number])
    return [int(number) for number in given]


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def check_number(parts: Iterable[int]) -> None:
    """Refuse more labels than there may be, before they are made."""
    number = 1
    for part in parts:
        number *= part
        require(number <= MOST_LABELS, "number of labels", number, f"give fewer bins, for at most {MOST_LABELS:,}")
