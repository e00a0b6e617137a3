"""The search space: for each parameter a list of values, or a range, from which candidates are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from everlearn.errors import InputError, require
from everlearn.experiments.spec import check_keys, check_mapping

SCALES = ("linear", "log")
DIGITS = 4
"""The number of digits of drawn numbers: they are easy to write down, and equal on every machine."""

MOST = 1e300
"""The largest absolute value of the end of a range; numbers drawn from it must be finite."""


@dataclass(frozen=True)
class Choice:
    """A list of values, drawn with equal probability."""

    values: tuple[Any, ...]

    def draw(self, random: np.random.Generator) -> Any:
        """Return one of the values."""
        return self.values[int(random.random() * len(self.values))]


@dataclass(frozen=True)
class Range:
    """The numbers from ``low`` to ``high``, uniform, or uniform in the logarithm if ``scale`` is ``log``."""

    low: float
    high: float
    scale: str = "linear"
    whole: bool = False

    def draw(self, random: np.random.Generator) -> float:
        """Return a number in the range; a whole number n stands for the interval from n to n + 1."""
        end = self.high + 1 if self.whole else self.high
        share = float(random.random())
        drawn = self.low * (end / self.low) ** share if self.scale == "log" else self.low + share * (end - self.low)
        if self.whole:
            return min(int(drawn), int(self.high))
        return min(max(float(f"{drawn:.{DIGITS}g}"), self.low), self.high)


Searched: TypeAlias = Choice | Range


def read_search(given: Any) -> dict[str, Searched]:
    """Check a search space and return it, sorted by names such as ``schedule.horizon_scale``."""
    parameters = _flatten(check_mapping(given, "search"))
    require(bool(parameters), "search", parameters, "name at least one parameter, as in [search.schedule]")
    return {name: _read_values(parameters[name], f"search.{name}") for name in sorted(parameters)}


def _flatten(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by full name, both for a key ``agent.phase`` and for ``phase`` in a table ``agent``."""
    parameters: dict[str, Any] = {}
    for key, value in given.items():
        kind, dot, _ = key.partition(".")
        if kind not in ("agent", "schedule"):
            raise InputError("key", f"search.{key}", "search parameters of agent and schedule, as in [search.agent]")
        if dot:
            parameters[key] = value
        else:
            table = check_mapping(value, f"search.{key}")
            parameters |= {f"{kind}.{name}": values for name, values in table.items()}
    return parameters


def _read_values(given: Any, key: str) -> Searched:
    if isinstance(given, list | tuple):
        require(len(given) > 0, key, given, "is an empty list; give at least one value")
        return Choice(tuple(given))
    require(isinstance(given, Mapping), key, given, "give a list of values, or a range as in { low = 1, high = 10 }")
    check_keys(given, ("low", "high", "scale", "whole"), f"{key}.")
    low, high = (_read_end(given, end, key) for end in ("low", "high"))
    scale, whole = given.get("scale", "linear"), given.get("whole", False)
    require(scale in SCALES, f"{key}.scale", scale, f"give one of {', '.join(SCALES)}")
    require(isinstance(whole, bool), f"{key}.whole", whole, "give true or false")
    require(low <= high, f"{key}.high", given["high"], f"give a number of at least {low:g}, which is low")
    require(scale == "linear" or low > 0, f"{key}.low", given["low"], "a logarithmic scale begins above 0")
    if whole:
        ends = low.is_integer() and high.is_integer()
        require(ends, key, dict(given), "give whole numbers for low and high, or leave whole out")
    return Range(low, high, scale, whole)


def _read_end(given: Mapping[str, Any], end: str, key: str) -> float:
    value = given.get(end)
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST
    if not number:
        raise InputError(f"{key}.{end}", value, "give a number: a range has a low and a high end")
    return float(value)  # type: ignore[arg-type]  # it is a number
