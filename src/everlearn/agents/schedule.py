"""Schedules: the subroutines foo1 to foo4 of Algorithm 2, as pure functions of the time t = 1, 2, ...

=========  ================  ==================================================  =====================
the paper  here              what it does                                        must be
=========  ================  ==================================================  =====================
foo1       ``horizon``       the effective planning horizon tau                  finite, at least 1
foo2       ``optimism``      the optimism coefficient beta                       finite, not negative
foo3       ``value_shift``   added to every action value                         finite
foo4       ``count_scale``   multiplies every count                              finite, not negative
=========  ================  ==================================================  =====================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from everlearn.errors import require


@dataclass(frozen=True)
class Schedule:
    """foo1 to foo4.  Each takes t, a whole number from 1, and returns a number.

    Parameters
    ----------
    horizon, optimism, value_shift, count_scale:
        foo1 to foo4
    ceiling:
        foo1(t) - (1 + foo3(1) + ... + foo3(t)), where that is the same for every t and known; else it is summed up.
        A known one is exact, so that values clipped at different times are exactly equal, as on paper.

    Examples
    --------
    >>> patient = Schedule(lambda t: 2 * t**0.25, lambda t: 0.5, lambda t: 0.01, lambda t: 0.9999)
    >>> patient.horizon(16)
    4.0

    """

    horizon: Callable[[int], float]
    optimism: Callable[[int], float]
    value_shift: Callable[[int], float]
    count_scale: Callable[[int], float]
    ceiling: float | None = None
    name: str = "schedule"
    parameters: Mapping[str, Any] = field(default_factory=dict)


def smooth(
    *,
    horizon_scale: float = 1.5,
    horizon_power: float = 0.2,
    optimism_scale: float = 0.44,
    optimism_power: float = 0.3,
) -> Schedule:
    """Grow the horizon at every step and never forget (Section 4.3).

    foo1 = horizon_scale t^horizon_power, foo2 = optimism_scale t^optimism_power sqrt(log(2 t^2)), foo3 the growth of
    foo1, foo4 = 1.  Since foo3(1) is the whole of foo1(1), values begin 1 above the clip; unvisited pairs stay there.

    Examples
    --------
    >>> schedule = smooth()
    >>> schedule.horizon(1), schedule.value_shift(1), schedule.ceiling
    (1.5, 1.5, -1.0)

    """

    def horizon(t: int) -> float:
        return horizon_scale * math.pow(t, horizon_power)

    def optimism(t: int) -> float:
        return optimism_scale * math.pow(t, optimism_power) * math.sqrt(math.log(2.0 * t * t))

    def value_shift(t: int) -> float:
        return horizon_scale * (math.pow(t, horizon_power) - math.pow(t - 1, horizon_power))

    return Schedule(horizon, optimism, value_shift, _one, ceiling=-1.0)


def change_points(
    *,
    first: int = 20,
    growth: float = 2.0,
    horizon_scale: float = 1.0,
    horizon_power: float = 0.2,
    optimism_scale: float = 4.0,
    optimism_power: float = 0.3,
) -> Schedule:
    """Plan over a horizon that grows at change points, and forget the counts there (Section 4.2).

    The change points are T_0 = 1 and T_k = first growth^(k - 1).  With T the most recent, foo1 = horizon_scale
    T^horizon_power, foo2 = optimism_scale T^optimism_power sqrt(log(2 T^2)), foo3 the growth of foo1, and foo4 is 0 at
    a change point and 1 elsewhere.  k_0 = 0, so that t = 1 is no change, except that a horizon_scale beyond 1 is added
    to the values there.

    Examples
    --------
    >>> schedule = change_points()
    >>> [t for t in range(1, 200) if schedule.count_scale(t) == 0]
    [20, 40, 80, 160]
    >>> schedule.value_shift(1), schedule.horizon(1)
    (0.0, 1.0)

    """
    require(first >= 2, "schedule.first", first, "give a step of at least 2")
    require(growth > 1, "schedule.growth", growth, "give a factor above 1")

    def recent(t: int) -> float:
        if t < first:
            return 1.0
        k = int(math.log(t / first) / math.log(growth))
        while first * math.pow(growth, k + 1) <= t:
            k += 1
        while first * math.pow(growth, k) > t:
            k -= 1
        return first * math.pow(growth, k)

    def horizon(t: int) -> float:
        return horizon_scale * math.pow(recent(t), horizon_power)

    def optimism(t: int) -> float:
        point = recent(t)
        return optimism_scale * math.pow(point, optimism_power) * math.sqrt(math.log(2.0 * point * point))

    def value_shift(t: int) -> float:
        return horizon(t) - (horizon(t - 1) if t > 1 else 1.0)

    def count_scale(t: int) -> float:
        return 1.0 if t == 1 or recent(t) == recent(t - 1) else 0.0

    return Schedule(horizon, optimism, value_shift, count_scale, ceiling=0.0)


def fixed(*, horizon: float = 10.0, optimism: float = 1.0) -> Schedule:
    """Keep one horizon and one optimism, so that Algorithm 2 is Algorithm 1.

    foo3(1) = horizon - 1 lifts the values from 1 to the horizon at the first step; afterwards nothing changes.

    Examples
    --------
    >>> schedule = fixed(horizon=8)
    >>> schedule.value_shift(1), schedule.value_shift(2)
    (7, 0.0)

    """
    return Schedule(lambda _: horizon, lambda _: optimism, lambda t: horizon - 1 if t == 1 else 0.0, _one, ceiling=0.0)


def _one(_t: int) -> float:
    return 1.0
