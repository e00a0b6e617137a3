"""Discretise the boxes of an environment as a user specifies it, in Python or on a command line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.adapters.discretisers import FARTHEST, MOST_TILINGS, Discretiser, quantile, tiles, uniform
from everlearn.adapters.rewards import read_numbers, split
from everlearn.errors import InputError, require

KINDS = ("uniform", "quantile", "tiles", "fine", "auto")


@dataclass(frozen=True)
class Boxes:
    """The arguments of :func:`everlearn.from_gymnasium` that concern boxes.

    ``bins``, ``low`` and ``high`` are one number for all coordinates, or one per coordinate, where ``none`` stands for
    the bound of the box.  A coordinate with one bin, or without width, is ignored.  ``points`` returns points of the
    environment, for quantiles.
    """

    kind: str | Discretiser
    bins: int | str | Sequence[int]
    low: float | str | Sequence[float | None] | None
    high: float | str | Sequence[float | None] | None
    tilings: int
    points: Callable[[], list[Any]]

    def __post_init__(self) -> None:
        """Check everything that can be checked without a box, since the environment may have none."""
        if isinstance(self.kind, str):
            require(self.kind in KINDS, "task.discretiser", self.kind, f"give one of {', '.join(KINDS)}")
        else:
            remedy = "give something with labels that maps a point to one of them"
            require(isinstance(self.kind, Discretiser), "task.discretiser", self.kind, remedy)
        fine = 1 <= self.tilings <= MOST_TILINGS
        require(fine, "task.tilings", self.tilings, f"give at least 1, and at most {MOST_TILINGS}")
        _read_bins(self.bins)
        _read_ends("low", self.low)
        _read_ends("high", self.high)

    def discretiser(self, box: Any) -> Discretiser:
        """Return the discretiser of a box."""
        if not isinstance(self.kind, str):
            return self.kind
        size = math.prod(box.shape)
        bins = self._bins(size)
        if self.kind == "quantile":
            return quantile(self._samples(size), bins)
        low, high = self._ends("low", self.low, box.low), self._ends("high", self.high, box.high)
        bins = [1 if low[place] == high[place] else bins[place] for place in range(size)]
        open_ended = [place for place in range(size) if bins[place] > 1 and not np.isfinite(high[place] - low[place])]
        remedy = "the box is unbounded there; give task.low and task.high, or task.discretiser=quantile"
        require(not open_ended, "coordinates of the observation", open_ended, remedy)
        return uniform(low, high, bins) if self.kind == "uniform" else tiles(low, high, bins, self.tilings)

    def _bins(self, size: int) -> list[int]:
        bins = _read_bins(self.bins)
        remedy = f"give a whole number of at least 1, or {size} of them, as in {_example(3, size)}"
        require(len(bins) in (1, size), "task.bins", self.bins, remedy)
        return bins * (size if len(bins) == 1 else 1)

    def _ends(self, name: str, given: object, own: Any) -> list[float]:
        """Return a bound for each coordinate: the given one, or that of the box."""
        ends = _read_ends(name, given)
        remedy = f"give one number, or {own.size}, with none for the box's own, as in {_example('none', own.size)}"
        require(len(ends) in (1, own.size), f"task.{name}", given, remedy)
        ends = ends * (own.size if len(ends) == 1 else 1)
        box_ends = np.asarray(own, dtype=np.float64).ravel().tolist()
        box_ends = [end if abs(end) <= FARTHEST else math.copysign(math.inf, end) for end in box_ends]
        return [box_end if end is None else end for end, box_end in zip(ends, box_ends, strict=True)]

    def _samples(self, size: int) -> Any:
        try:
            samples = np.array([np.asarray(point, dtype=np.float64).ravel() for point in self.points()])
        except (TypeError, ValueError):
            samples = np.empty((0, 0))
        if samples.ndim != 2 or samples.shape[1] != size:
            remedy = "the box is a part of the observation, where no quantiles are taken; give uniform or tiles"
            raise InputError("task.discretiser", "quantile", remedy)
        return samples


def _read_bins(bins: object) -> list[int]:
    remedy = "give a whole number of at least 1, or one for each coordinate, as in 3,3,6"
    numbers = read_numbers(bins, "task.bins", remedy) or []
    fine = bool(numbers) and all(number >= 1 and number.is_integer() for number in numbers)
    require(fine, "task.bins", bins, remedy)
    return [int(number) for number in numbers]


def _read_ends(name: str, given: object) -> list[float | None]:
    """Return bounds, with None for that of the box."""
    remedy = "give a number, or one for each coordinate with none for the box's own, as in -2.4,none"
    ends: list[float | None] = []
    for part in split(given):
        own = part is None or (isinstance(part, str) and part.lower() == "none")
        ends += [None] if own else read_numbers(part, f"task.{name}", remedy) or []
    fine = bool(ends) and all(end is None or abs(end) <= FARTHEST for end in ends)
    require(fine, f"task.{name}", given, remedy)
    return ends


def _example(part: object, size: int) -> str:
    return ",".join([str(part)] * min(size, 4)) + (",..." if size > 4 else "")
