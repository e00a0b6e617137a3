"""Observations of Gymnasium as points of a fine grid, for agents whose values generalise.

Boxes, arrays, dictionaries and tuples are flattened to coordinates.  A coordinate of a box is cut into up to 1024
levels between its bounds; a bound that the box does not have is that of a trial, moved out by half of its width.  All
other coordinates are told apart exactly.  No set of labels is listed (:mod:`everlearn.grids`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from everlearn.adapters.discretisers import FARTHEST
from everlearn.adapters.rewards import Rewards
from everlearn.adapters.spaces import Reading
from everlearn.adapters.stream import GOING_ON, MARKS
from everlearn.errors import InputError, require
from everlearn.grids import MOST_PARTS, Grid, Interval, Unread, levels_for
from everlearn.labels import few
from everlearn.protocol import Label


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


class Points(Grid):
    """The points of a space: what the environment returns is read as a label, whatever its form."""

    def __init__(self, space: Any, *parts: Any, ordered: Any) -> None:
        self._space = space
        super().__init__(*parts, ordered=ordered)

    def number(self, label: Any) -> int:
        """Return the number of the label that a point is read as."""
        if label is None or isinstance(label, str):
            raise Unread(f"is no point of the observation space, {self._space}")
        if isinstance(label, list | tuple) and _is_flat(label):
            values = [*label]
        else:
            try:
                values = flat(self._space, label).tolist()
            except (TypeError, ValueError, KeyError):
                raise Unread(f"is not in the observation space, {self._space}") from None
        exact = [isinstance(part, range) for part in self.parts]
        if len(values) == len(exact):
            values = [_whole(each) if one else each for each, one in zip(values, exact, strict=True)]
        return super().number(values)


def _is_flat(label: Any) -> bool:
    return not any(hasattr(part, "__len__") and not isinstance(part, str) for part in label)


def _whole(value: Any) -> Any:
    """Return a whole number that was flattened to a float as an int again."""
    return int(value) if hasattr(value, "__float__") and not isinstance(value, bool) and value == value // 1 else value


class Observed(Grid):
    """The observations: triples of a point, a reward and a mark."""

    def __init__(self, points: Grid, rewards: Rewards) -> None:
        self._rewards = rewards
        super().__init__(points, rewards.texts, MARKS)

    def number(self, label: Any) -> int:
        """Return the number of a triple, or of a point alone, if there is only one reward."""
        if isinstance(label, list | tuple) and len(label) == len(self.parts) and isinstance(label[-1], str):
            point, reward, mark = label
            if mark not in MARKS:
                raise Unread(f"the third entry is {mark!r}; give one of {', '.join(map(repr, MARKS))}")
            text = reward if isinstance(reward, str) else self._rewards.text(reward)
            return super().number((point, text, mark))
        if len(self._rewards.texts) > 1:
            raise Unread(f"give (point, reward, mark): the rewards are {few(self._rewards.texts)}")
        return super().number((label, self._rewards.texts[0], GOING_ON))


@dataclass(frozen=True)
class Levels:
    """Reads a point of an environment as a label; values outside the bounds of a box belong to the edges."""

    space: Any
    points: Grid

    def __call__(self, point: Any) -> Label:
        """Return the label of a point."""
        try:
            values = flat(self.space, point).tolist()
        except (TypeError, ValueError, KeyError):
            raise InputError("point", point, f"is not in the observation space, {self.space}") from None
        require(len(values) == len(self.points.parts), "point", point, f"give {len(self.points.parts)} coordinates")
        inside = [_inside(part, value) for part, value in zip(self.points.parts, values, strict=True)]
        try:
            return self.points[self.points.number(inside)]  # type: ignore[no-any-return]
        except Unread as error:
            raise InputError("point", point, error.args[0]) from None


def _inside(part: Any, value: float) -> float:
    return min(max(value, part.low), part.high) if isinstance(part, Interval) and value == value else value


def fine_reading(space: Any, points: Callable[[], list[Any]]) -> Reading:
    """Return the labels of a space of observations, as a grid; ``points`` returns points of a trial."""
    every = list(coordinates(space))
    remedy = f"has {len(every)} coordinates; wrap the environment to have from 1 to {MOST_PARTS}"
    require(0 < len(every) <= MOST_PARTS, "observation space", space, remedy)
    levels = levels_for(sum(each.values == 0 for each in every), sum(np.log2(each.values or 1) for each in every))
    parts: list[Any] = []
    for each, (low, high) in zip(every, _bounds(every, space, points), strict=True):
        clips = (low, high) != (each.low, each.high)
        box = each.values == 0
        parts.append(Interval(low, high, levels, clips=clips) if box else range(int(each.low), int(each.high) + 1))
    grid = Points(space, *parts, ordered=[each.values == 0 for each in every])
    return Reading(grid, Levels(space, grid))  # type: ignore[arg-type]


def _bounds(every: list[Coordinate], space: Any, points: Callable[[], list[Any]]) -> list[tuple[float, float]]:
    """Return the bounds of each coordinate, with those that the space does not have from a trial."""
    own = [max(abs(each.low), abs(each.high)) <= FARTHEST for each in every]
    ends = [(each.low, each.high) for each in every] if all(own) else _seen(every, space, points)
    return [(low, max(high, low + max(abs(low), 1.0) * 1e-9)) for low, high in ends]


def _seen(every: list[Coordinate], space: Any, points: Callable[[], list[Any]]) -> list[tuple[float, float]]:
    seen = np.array([flat(space, point) for point in points()])
    with np.errstate(over="ignore", invalid="ignore"):
        least, greatest = seen.min(axis=0), seen.max(axis=0)
        margin = np.maximum((greatest - least) / 2, 1e-3)
    ends = [
        (each.low if abs(each.low) <= FARTHEST else float(least[c] - margin[c]),
         each.high if abs(each.high) <= FARTHEST else float(greatest[c] + margin[c]))
        for c, each in enumerate(every)
    ]  # fmt: skip
    for place, (low, high) in enumerate(ends, 1):
        remedy = f"coordinate {place} was not finite in a trial; wrap the environment to return finite numbers"
        require(math.isfinite(high - low), "observation space", space, remedy)
    return ends
