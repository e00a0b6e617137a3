"""Write the rewards of a Gymnasium environment as texts: observations contain rewards, and labels contain no fractions.

So there must be finitely many rewards: those of a list, or equally spaced levels to which rewards are rounded.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from everlearn.errors import InputError, RewardError, require
from everlearn.labels import few

CLOSE = 1e-6
"""The relative error with which a reward equals a listed one: single precision, and sums with rounding errors."""

MOST_LEVELS = 1_000_000

MOST_TRIED = 100
"""The largest number of different rewards in a trial; more are taken for a continuous range."""


@dataclass(frozen=True)
class Rewards:
    """A finite list of rewards, in increasing order, and a text for each.

    ``step`` is the distance between two levels if rewards are rounded to the nearest level, else zero.  Rewards that
    were ``tried`` are those of a trial, which may have missed some.
    """

    values: tuple[float, ...]
    step: float = 0.0
    tried: bool = False

    @cached_property
    def paid(self) -> dict[str, float]:
        """The reward of each text."""
        return {_text(value): value for value in self.values}

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts, in the order of the rewards."""
        return tuple(self.paid)

    @property
    def error(self) -> float:
        """The largest rounding error."""
        return self.step / 2

    def text(self, reward: Any) -> str:
        """Return the text of a reward that was paid."""
        given = number_paid(reward)
        return self.texts[self._nearest(given) if self.step == 0 else self._level(given)]

    def _nearest(self, given: float) -> int:
        place = bisect_left(self.values, given)
        neighbours = [index for index in (place - 1, place) if 0 <= index < len(self.values)]
        nearest = min(neighbours, key=lambda index: abs(self.values[index] - given))
        if not is_close(given, self.values[nearest]):
            every = listed_rewards([*self.values, given])
            remedy = f"add it, as in task.rewards={','.join(every.texts)}, or round with {_rounding(every.values)}"
            raise RewardError("reward", given, f"not among those declared: {few(self.texts)}; {remedy}")
        return nearest

    def _level(self, given: float) -> int:
        """Return the nearest level; half a step outside the range is allowed, since the error is no larger there."""
        low, high = self.values[0], self.values[-1]
        if not low - self.error <= given <= high + self.error:
            raise RewardError("reward", given, f"outside task.reward_range, {low:g} to {high:g}; widen it")
        return min(max(round((given - low) / self.step), 0), len(self.values) - 1)


def number_paid(reward: Any) -> float:
    """Return a reward as a finite number, or raise."""
    try:
        given = float(reward)
    except (TypeError, ValueError):
        raise RewardError("reward", reward, "the environment paid something that is not a number; wrap it") from None
    if not math.isfinite(given):
        raise RewardError("reward", given, "the environment paid it, and a reward must be finite; wrap it")
    return given


def is_close(reward: float, other: float) -> bool:
    """Return whether two rewards are equal up to rounding errors."""
    return math.isclose(reward, other, rel_tol=CLOSE, abs_tol=1e-12)


def tried_rewards(paid: Iterable[float]) -> Rewards:
    """Return the rewards that were paid in a trial, without those that are equal up to rounding errors."""
    values: list[float] = []
    for value in sorted(paid):
        if not values or not is_close(value, values[-1]):
            values.append(value)
    if len(values) > MOST_TRIED:
        remedy = f"a trial found more than {MOST_TRIED}, from {values[0]:g} to {values[-1]:g}; round them with"
        raise InputError("task.rewards", None, f"{remedy} {_rounding(values)}")
    return replace(listed_rewards(values), tried=True)


def _rounding(values: Sequence[float]) -> str:
    """Return the parameters with which rewards, in increasing order, are rounded."""
    return f"task.reward_levels=21 and task.reward_range={math.floor(values[0])},{math.ceil(values[-1])}"


def _text(reward: float) -> str:
    return repr(reward + 0.0).removesuffix(".0")  # adding 0 turns -0 into 0


def listed_rewards(values: Iterable[float]) -> Rewards:
    """Return rewards that are not rounded."""
    rewards = sorted({float(value) + 0.0 for value in values})
    fine = bool(rewards) and all(map(math.isfinite, rewards))
    require(fine, "task.rewards", rewards, "give finite numbers, at least one")
    return Rewards(tuple(rewards))


def rounded_rewards(number: int, low: float, high: float) -> Rewards:
    """Return rewards that are rounded to a number of levels, equally spaced from ``low`` to ``high``."""
    fine = 2 <= number <= MOST_LEVELS
    require(fine, "task.reward_levels", number, f"give at least 2, and at most {MOST_LEVELS:,}")
    step = (high - low) / (number - 1)
    values = (*(float(low + step * place) for place in range(number - 1)), float(high))
    distinct = all(lower < upper for lower, upper in pairwise(values))
    require(distinct, "task.reward_range", (low, high), f"is too narrow for {number} levels; widen it")
    return Rewards(values, step)


def read_numbers(given: object, argument: str, remedy: str = "give numbers, as in -1,20") -> list[float] | None:
    """Read numbers from a text such as ``-1,20``, a sequence or a single number; None stays None."""
    if given is None:
        return None
    try:
        numbers = [float(part) for part in split(given)]
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, given, remedy) from None
    require(not any(map(math.isnan, numbers)), argument, given, remedy)
    return numbers


def split(given: Any) -> list[Any]:
    """Return the parts of a text with commas, the entries of a sequence, or a list of a single value."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")]
    return [given] if np.ndim(given) == 0 and not isinstance(given, set | frozenset) else list(given)


def read_range(given: str | Sequence[float] | None) -> tuple[float, float] | None:
    """Read a range from a text such as ``-1,1`` or from two numbers; None stays None."""
    remedy = "give two finite numbers, the lower first, as in -1,1"
    if (ends := read_numbers(given, "task.reward_range", remedy)) is None:
        return None
    fine = len(ends) == 2 and math.isfinite(ends[1] - ends[0]) and ends[0] < ends[1]
    require(fine, "task.reward_range", given, remedy)
    return ends[0], ends[1]
