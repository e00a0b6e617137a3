"""How the boxes of an environment are discretised: what a user says of it, as it can be typed on a command line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.adapters.discretisers import FARTHEST, MOST_TILINGS, Discretiser, quantile, tiles, uniform
from everlearn.adapters.rewards import parts_of, read_numbers
from everlearn.errors import InputError, require

KINDS = ("uniform", "quantile", "tiles")


@dataclass(frozen=True)
class Boxes:
    """What a user says of boxes.

    Parameters
    ----------
    kind:
        the name of a discretiser, or one that was made already
    bins, low, high, tilings:
        its parameters; ``bins``, ``low`` and ``high`` are one number for all coordinates, or one for each, where an end
        that is none is the box's own; a coordinate with one bin, or without width, is not looked at
    points:
        returns points of the environment, for quantiles

    """

    kind: str | Discretiser
    bins: int | str | Sequence[int]
    low: float | str | Sequence[float | None] | None
    high: float | str | Sequence[float | None] | None
    tilings: int
    points: Callable[[], list[Any]]

    def __post_init__(self) -> None:
        """Check everything that can be checked before there is a box, since there may never be one."""
        if isinstance(self.kind, str):
            require(self.kind in KINDS, "task.discretiser", self.kind, f"give one of {', '.join(KINDS)}")
        else:
            require(
                isinstance(self.kind, Discretiser),
                "task.discretiser",
                self.kind,
                "give something with labels that maps a point to one of them",
            )
        fine = 1 <= self.tilings <= MOST_TILINGS
        require(fine, "task.tilings", self.tilings, f"give at least 1, and at most {MOST_TILINGS}")
        _whole_numbers(self.bins)
        for name, end in (("low", self.low), ("high", self.high)):
            _ends(name, end)

    def discretiser(self, box: Any) -> Discretiser:
        """Return the discretiser of a box."""
        if not isinstance(self.kind, str):
            return self.kind
        size = math.prod(box.shape)
        bins = self._bins(size)
        if self.kind == "quantile":
            return quantile(self._samples(size), bins)
        low, high = self._end("low", self.low, box.low), self._end("high", self.high, box.high)
        bins = [1 if one == other else number for one, other, number in zip(low, high, bins, strict=True)]
        open_ended = [place for place in range(size) if bins[place] > 1 and not np.isfinite(high[place] - low[place])]
        remedy = "the box has no end there; give task.low and task.high, or task.discretiser=quantile"
        require(not open_ended, "coordinates of the observation", open_ended, remedy)
        return uniform(low, high, bins) if self.kind == "uniform" else tiles(low, high, bins, self.tilings)

    def _bins(self, size: int) -> list[int]:
        found = _whole_numbers(self.bins)
        remedy = f"give a whole number of at least 1, or {size} of them, as in {_like(3, size)}"
        require(len(found) in (1, size), "task.bins", self.bins, remedy)
        return found * (size if len(found) == 1 else 1)

    def _end(self, name: str, given: object, own: Any) -> list[float]:
        """Return an end for each coordinate: the one that is given, or the box's own."""
        found = _ends(name, given)
        remedy = f"give one number, or {own.size}, with none for the box's own, as in {_like('none', own.size)}"
        require(len(found) in (1, own.size), f"task.{name}", given, remedy)
        chosen = found * (own.size if len(found) == 1 else 1)
        ends = np.asarray(own, dtype=np.float64).ravel().tolist()
        ends = [end if abs(end) <= FARTHEST else math.copysign(math.inf, end) for end in ends]
        return [end if one is None else one for one, end in zip(chosen, ends, strict=True)]

    def _samples(self, size: int) -> Any:
        try:
            samples = np.array([np.asarray(point, dtype=np.float64).ravel() for point in self.points()])
        except (TypeError, ValueError):
            samples = np.empty((0, 0))
        if samples.ndim != 2 or samples.shape[1] != size:
            remedy = "the box is a part of the observation, where no quantiles are taken; give uniform or tiles"
            raise InputError("task.discretiser", "quantile", remedy)
        return samples


def _whole_numbers(bins: object) -> list[int]:
    remedy = "give a whole number of at least 1, or one for each coordinate, as in 3,3,6"
    found = read_numbers(bins, "task.bins", remedy) or []
    fine = bool(found) and all(one >= 1 and one.is_integer() for one in found)
    require(fine, "task.bins", bins, remedy)
    return [int(one) for one in found]


def _ends(name: str, given: object) -> list[float | None]:
    remedy = "give a number, or one for each coordinate with none for the box's own, as in -2.4,none"
    found: list[float | None] = []
    for part in parts_of(given):
        own = part is None or (isinstance(part, str) and part.lower() == "none")
        found += [None] if own else read_numbers(part, f"task.{name}", remedy) or []
    fine = bool(found) and all(end is None or abs(end) <= FARTHEST for end in found)
    require(fine, f"task.{name}", given, remedy)
    return found


def _like(part: object, size: int) -> str:
    return ",".join([str(part)] * min(size, 4)) + (",..." if size > 4 else "")
