"""Observations of Gymnasium as points of a fine grid, for agents whose values generalise.

Boxes, arrays, dictionaries and tuples are flattened to coordinates.  A coordinate of a box is cut into up to 1024
levels between its bounds; a bound that the box does not have is that of a trial, moved out by half of its width.  All
other coordinates are told apart exactly.  No set of labels is listed (:mod:`everlearn.grids`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from everlearn.adapters.discretisers import FARTHEST
from everlearn.adapters.spaces import Reading
from everlearn.errors import InputError, require
from everlearn.grids import Grid
from everlearn.protocol import Label

BITS = 52
"""The bits of a point; rewards and marks need some of the 62 bits of an observation."""

FINEST = 10
"""The most bits of a coordinate of a box."""


class Coordinate(NamedTuple):
    """The least and the greatest value of a coordinate, and the number of its values; 0 for a coordinate of a box."""

    low: float
    high: float
    values: int = 0


def coordinates(space: Any) -> Iterator[Coordinate]:
    """Yield the coordinates of a space, in the order of :func:`flat`."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        for low, high in zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True):
            yield Coordinate(low, high)
    elif isinstance(space, spaces.Discrete):
        yield Coordinate(int(space.start), int(space.start) + int(space.n) - 1, int(space.n))
    elif isinstance(space, spaces.MultiDiscrete):
        for start, number in zip(space.start.ravel().tolist(), space.nvec.ravel().tolist(), strict=True):
            yield Coordinate(start, start + number - 1, number)
    elif isinstance(space, spaces.MultiBinary):
        yield from [Coordinate(0, 1, 2)] * int(np.prod(space.shape))
    elif isinstance(space, spaces.Tuple | spaces.Dict):
        for part in space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces:
            yield from coordinates(part)
    else:
        remedy = "supported: Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple; wrap the environment"
        raise InputError("observation space", space, remedy)


def flat(space: Any, point: Any) -> Any:
    """Return a point of a space as an array of numbers."""
    from gymnasium import spaces

    if isinstance(space, spaces.Tuple):
        return np.concatenate([flat(part, one) for part, one in zip(space.spaces, point, strict=True)])
    if isinstance(space, spaces.Dict):
        return np.concatenate([flat(part, point[name]) for name, part in space.spaces.items()])
    return np.asarray(point, dtype=np.float64).ravel()


@dataclass(frozen=True)
class Levels:
    """Reads the level of each coordinate of a point."""

    space: Any
    low: tuple[float, ...]
    scale: tuple[float, ...]
    sizes: tuple[int, ...]
    exact: tuple[bool, ...]
    """Whether each coordinate is told apart exactly; the others are those of boxes."""

    def __call__(self, point: Any) -> Label:
        """Return the levels; values outside the bounds of a box have the first or the last."""
        try:
            values = flat(self.space, point)
        except (TypeError, ValueError, KeyError):
            raise InputError("point", point, f"is not in the observation space, {self.space}") from None
        require(len(values) == len(self.sizes), "point", point, f"give {len(self.sizes)} coordinates")
        require(not np.isnan(values).any(), "point", values.tolist(), "is not a number; no level contains it")
        beyond = (values < self.low) | (values >= np.add(self.low, np.array(self.sizes)))
        require(not (beyond & self.exact).any(), "point", point, f"is not in the observation space, {self.space}")
        levels = np.clip((values - self.low) * self.scale, 0, np.array(self.sizes) - 1)
        return tuple(levels.astype(np.int64).tolist())


def fine_reading(space: Any, points: Callable[[], list[Any]]) -> Reading:
    """Return the labels of a space of observations, as a grid; ``points`` returns points of a trial."""
    every = list(coordinates(space))
    require(bool(every), "observation space", space, "has no coordinates")
    boxes = sum(each.values == 0 for each in every)
    exact = sum(np.log2(each.values) for each in every if each.values)
    bits = min(FINEST, int((BITS - exact) // max(boxes, 1)))
    require(bits >= 1, "observation space", space, f"needs more than {BITS} bits; wrap the environment to show less")
    bounds = _bounds(every, space, points)
    sizes = tuple(each.values or (1 << bits) for each in every)
    widths = [each.values or high - low for each, (low, high) in zip(every, bounds, strict=True)]
    scale = tuple(size / width for size, width in zip(sizes, widths, strict=True))
    grid = Grid(*map(range, sizes), ordered=[each.values == 0 for each in every])
    lows, exactly = tuple(low for low, _ in bounds), tuple(each.values > 0 for each in every)
    return Reading(grid, Levels(space, lows, scale, sizes, exactly))  # type: ignore[arg-type]


def _bounds(every: list[Coordinate], space: Any, points: Callable[[], list[Any]]) -> list[tuple[float, float]]:
    """Return the bounds of each coordinate, with those that the space does not have from a trial."""
    own = [max(abs(each.low), abs(each.high)) <= FARTHEST for each in every]
    if all(own):
        return [(each.low, max(each.high, each.low + 1e-9)) for each in every]
    seen = np.array([flat(space, point) for point in points()])
    least, greatest = seen.min(axis=0), seen.max(axis=0)
    margin = np.maximum((greatest - least) / 2, 1e-3)
    return [
        (each.low if abs(each.low) <= FARTHEST else least[c] - margin[c],
         each.high if abs(each.high) <= FARTHEST else greatest[c] + margin[c])
        for c, each in enumerate(every)
    ]  # fmt: skip
