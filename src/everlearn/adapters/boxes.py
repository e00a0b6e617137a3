"""How the boxes of an environment are discretised: what a user says of it, as it can be typed on a command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from everlearn.adapters.discretisers import Discretiser, quantile, tiles, uniform
from everlearn.adapters.rewards import read_numbers
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
        its parameters; ``bins``, ``low`` and ``high`` are one number for all coordinates, or one for each
    points:
        returns points of the environment, for quantiles

    Examples
    --------
    >>> from gymnasium.spaces import Box
    >>> Boxes("uniform", "2,4", None, None, 1, list).discretiser(Box(0, 1, (2,))).edges
    ((0.5,), (0.25, 0.5, 0.75))

    """

    kind: str | Discretiser
    bins: int | str | Sequence[int]
    low: float | str | Sequence[float] | None
    high: float | str | Sequence[float] | None
    tilings: int
    points: Callable[[], list[Any]]

    def discretiser(self, box: Any) -> Discretiser:
        """Return the discretiser of a box."""
        if not isinstance(self.kind, str):
            fine = isinstance(self.kind, Discretiser)
            require(fine, "task.discretiser", self.kind, "give something with labels that maps a point to one of them")
            return self.kind
        require(self.kind in KINDS, "task.discretiser", self.kind, f"give one of {', '.join(KINDS)}")
        size = int(np.prod(box.shape))
        bins = self._bins(size)
        if self.kind == "quantile":
            return quantile(self._samples(size), bins)
        low, high = self._end("low", self.low, box.low), self._end("high", self.high, box.high)
        unbounded = [place for place in range(size) if not np.isfinite([low[place], high[place]]).all()]
        remedy = "the box has no end there; give task.low and task.high, or task.discretiser=quantile"
        require(not unbounded, "coordinates of the observation", unbounded, remedy)
        return uniform(low, high, bins) if self.kind == "uniform" else tiles(low, high, bins, self.tilings)

    def _bins(self, size: int) -> list[int]:
        found = read_numbers(self.bins, "task.bins") or []
        fine = len(found) in (1, size) and all(one >= 1 and one.is_integer() for one in found)
        require(fine, "task.bins", self.bins, f"give a whole number of at least 1, or {size} of them")
        return [int(one) for one in found] * (size if len(found) == 1 else 1)

    def _end(self, name: str, given: float | str | Sequence[float] | None, own: Any) -> list[float]:
        found = read_numbers(given, f"task.{name}")
        if found is None:
            return np.asarray(own, dtype=np.float64).ravel().tolist()
        require(len(found) in (1, own.size), f"task.{name}", given, f"give one number, or {own.size}")
        return found * (own.size if len(found) == 1 else 1)

    def _samples(self, size: int) -> Any:
        try:
            samples = np.array([np.asarray(point, dtype=np.float64).ravel() for point in self.points()])
        except (TypeError, ValueError):
            samples = np.empty((0, 0))
        if samples.ndim != 2 or samples.shape[1] != size:
            remedy = "the box is a part of the observation, where no quantiles are taken; give uniform or tiles"
            raise InputError("task.discretiser", "quantile", remedy)
        return samples
