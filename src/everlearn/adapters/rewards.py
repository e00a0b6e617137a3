"""The rewards of a Gymnasium environment as texts: an observation tells the reward, and a label holds no fractions.

So the rewards must be finitely many: those of a list, or a number of levels to the nearest of which they are rounded.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from everlearn.errors import InputError, RewardError, require
from everlearn.labels import few

CLOSE = 1e-6
"""How far, of itself, a reward may be from a listed one: single precision, and sums that rounding has touched."""

MOST_LEVELS = 1_000_000

MOST_FOUND = 100
"""How many different rewards a trial may find; where there are more, they are fractions of any size."""


@dataclass(frozen=True)
class Rewards:
    """A finite list of rewards, and a text for each.

    Parameters
    ----------
    values:
        the rewards, increasing
    step:
        the distance between two levels, where rewards are rounded to the nearest; zero where they are taken as they are
    tried:
        whether they were found in a trial, which may have missed some

    """

    values: tuple[float, ...]
    step: float = 0.0
    tried: bool = False

    @cached_property
    def paid(self) -> dict[str, float]:
        """What each text is worth."""
        return {_text(value): value for value in self.values}

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts, in the order of the rewards."""
        return tuple(self.paid)

    @property
    def error(self) -> float:
        """By how much a reward may be rounded."""
        return self.step / 2

    def text(self, reward: Any) -> str:
        """Return the text of a reward that was paid."""
        given = number_paid(reward)
        return self.texts[self._nearest(given) if self.step == 0 else self._level(given)]

    def _nearest(self, given: float) -> int:
        place = bisect_left(self.values, given)
        near = [one for one in (place - 1, place) if 0 <= one < len(self.values)]
        nearest = min(near, key=lambda one: abs(self.values[one] - given))
        if not is_close(given, self.values[nearest]):
            every = listed([*self.values, given])
            remedy = f"add it, as in task.rewards={','.join(every.texts)}, or round with {_rounding(every.values)}"
            raise RewardError("reward", given, f"not among those declared: {few(self.texts)}; {remedy}")
        return nearest

    def _level(self, given: float) -> int:
        """Return the nearest level; what lies outside by less than half a step is off by no more than the rest."""
        low, high = self.values[0], self.values[-1]
        if not low - self.error <= given <= high + self.error:
            raise RewardError("reward", given, f"outside task.reward_range, {low:g} to {high:g}; widen it")
        return min(max(round((given - low) / self.step), 0), len(self.values) - 1)


def number_paid(reward: Any) -> float:
    """Return a reward as a number, or say that an environment paid something else."""
    try:
        given = float(reward)
    except (TypeError, ValueError):
        raise RewardError("reward", reward, "the environment paid what is no number; wrap it") from None
    if not math.isfinite(given):
        raise RewardError("reward", given, "the environment paid it, and a reward must be finite; wrap it")
    return given


def is_close(one: float, other: float) -> bool:
    """Tell whether two rewards are the same but for rounding."""
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-12)


def found(counts: Counter[float]) -> Rewards:
    """Return the rewards that a trial found, those that are the same but for rounding once."""
    kept: list[float] = []
    for value in sorted(counts):
        if not kept or not is_close(value, kept[-1]):
            kept.append(value)
    if len(kept) > MOST_FOUND:
        remedy = f"a trial found more than {MOST_FOUND}, from {kept[0]:g} to {kept[-1]:g}; round them with"
        raise InputError("task.rewards", None, f"{remedy} {_rounding(kept)}")
    return replace(listed(kept), tried=True)


def _rounding(values: Sequence[float]) -> str:
    """Return the parameters that round rewards in increasing order."""
    return f"task.reward_levels=21 and task.reward_range={math.floor(values[0])},{math.ceil(values[-1])}"


def _text(reward: float) -> str:
    return repr(reward + 0.0).removesuffix(".0")  # the sum makes one of the two zeros


def listed(values: Iterable[float]) -> Rewards:
    """Return rewards that are taken as they are."""
    found = sorted({float(value) + 0.0 for value in values})
    require(bool(found) and all(map(math.isfinite, found)), "task.rewards", found, "give finite numbers, at least one")
    return Rewards(tuple(found))


def levels(number: int, low: float, high: float) -> Rewards:
    """Return rewards that are rounded to one of so many levels between two ends."""
    fine = 2 <= number <= MOST_LEVELS
    require(fine, "task.reward_levels", number, f"give at least 2, and at most {MOST_LEVELS:,}")
    step = (high - low) / (number - 1)
    values = (*(float(low + step * place) for place in range(number - 1)), float(high))
    apart = all(one < other for one, other in pairwise(values))
    require(apart, "task.reward_range", (low, high), f"is too narrow for {number} levels; widen it")
    return Rewards(values, step)


def read_numbers(given: object, argument: str, remedy: str = "give numbers, as in -1,20") -> list[float] | None:
    """Return numbers that were given as a text, ``-1,20``, or as a sequence, or as one number."""
    if given is None:
        return None
    try:
        numbers = [float(part) for part in parts_of(given)]
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, given, remedy) from None
    require(not any(map(math.isnan, numbers)), argument, given, remedy)
    return numbers


def parts_of(given: Any) -> list[Any]:
    """Return the parts of a text, of a sequence, or one thing alone."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")]
    return [given] if np.ndim(given) == 0 and not isinstance(given, set | frozenset) else list(given)


def read_range(given: str | Sequence[float] | None) -> tuple[float, float] | None:
    """Return a range that was given as ``low,high`` or as two numbers."""
    remedy = "give two finite numbers, the lower first, as in -1,1"
    if (ends := read_numbers(given, "task.reward_range", remedy)) is None:
        return None
    fine = len(ends) == 2 and math.isfinite(ends[1] - ends[0]) and ends[0] < ends[1]
    require(fine, "task.reward_range", given, remedy)
    return ends[0], ends[1]
