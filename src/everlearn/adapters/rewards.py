"""The rewards of a Gymnasium environment as texts: an observation tells the reward, and a label holds no fractions.

So the rewards must be finitely many: those of a list, or a number of levels to the nearest of which they are rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from everlearn.errors import InputError, RewardError, require
from everlearn.labels import few


@dataclass(frozen=True)
class Rewards:
    """A finite list of rewards, and a text for each.

    Parameters
    ----------
    values:
        the rewards, increasing
    step:
        the distance between two levels, where rewards are rounded to the nearest; zero where they are taken as they are

    Examples
    --------
    >>> rewards = listed([-1, 20, -10])
    >>> rewards.texts, rewards.text(-10.0), rewards.paid["20"]
    (('-10', '-1', '20'), '-10', 20.0)
    >>> rewards.text(0.5)
    Traceback (most recent call last):
    ...
    everlearn.errors.RewardError: reward: 0.5; not among those declared: -10, -1, 20; name all with task.rewards=...,
    or round with task.reward_levels and task.reward_range

    """

    values: tuple[float, ...]
    step: float = 0.0

    @cached_property
    def paid(self) -> dict[str, float]:
        """What each text is worth."""
        return {_text(value): value for value in self.values}

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts, in the order of the rewards."""
        return tuple(self.paid)

    @property
    def error(self) -> float:
        """By how much a reward may be rounded."""
        return self.step / 2

    def text(self, reward: float) -> str:
        """Return the text of a reward that was paid."""
        given = float(reward)
        if self.step == 0:
            if (text := _text(given)) not in self.paid:
                remedy = "name all with task.rewards=..., or round with task.reward_levels and task.reward_range"
                raise RewardError("reward", given, f"not among those declared: {few(self.texts)}; {remedy}")
            return text
        low, high = self.values[0], self.values[-1]
        if not low <= given <= high:
            raise RewardError("reward", given, f"outside task.reward_range, {low:g} to {high:g}; widen it")
        return self.texts[round((given - low) / self.step)]


def _text(reward: float) -> str:
    return repr(reward + 0.0).removesuffix(".0")  # the sum makes one of the two zeros


def listed(values: Iterable[float]) -> Rewards:
    """Return rewards that are taken as they are."""
    found = sorted({float(value) + 0.0 for value in values})
    require(bool(found) and all(map(math.isfinite, found)), "task.rewards", found, "give finite numbers, at least one")
    return Rewards(tuple(found))


def levels(number: int, low: float, high: float) -> Rewards:
    """Return rewards that are rounded to one of so many levels between two ends.

    Examples
    --------
    >>> rounded = levels(5, -1, 1)
    >>> rounded.texts, rounded.text(0.3), rounded.error
    (('-1', '-0.5', '0', '0.5', '1'), '0.5', 0.25)

    """
    require(number >= 2, "task.reward_levels", number, "give at least 2")
    step = (high - low) / (number - 1)
    return Rewards((*(float(low + step * place) for place in range(number - 1)), float(high)), step)


def read_numbers(given: str | float | Sequence[float] | None, argument: str) -> list[float] | None:
    """Return numbers that were given as a text, ``-1,20``, or as a sequence, or as one number.

    Examples
    --------
    >>> read_numbers("-1, 20", "task.rewards"), read_numbers(3, "task.bins")
    ([-1.0, 20.0], [3.0])

    """
    if given is None:
        return None
    parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int | float) else given
    try:
        return [float(part) for part in parts]
    except (TypeError, ValueError):
        raise InputError(argument, given, "give numbers, as in -1,20") from None


def read_range(given: str | Sequence[float] | None) -> tuple[float, float] | None:
    """Return a range that was given as ``low,high`` or as two numbers."""
    if (found := read_numbers(given, "task.reward_range")) is None:
        return None
    fine = len(found) == 2 and all(map(math.isfinite, found)) and found[0] < found[1]
    require(fine, "task.reward_range", given, "give two finite numbers, the lower first")
    return found[0], found[1]
