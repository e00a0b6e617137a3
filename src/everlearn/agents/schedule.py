"""Schedules: the subroutines foo1 to foo4 of Algorithm 2, as pure functions of the time t = 1, 2, ...

=========  ================  ==================================================  =====================
the paper  here              what it does                                        must be
=========  ================  ==================================================  =====================
foo1       ``horizon``       the effective planning horizon tau                  finite, at least 1
foo2       ``optimism``      the optimism coefficient beta                       finite, not negative
foo3       ``value_shift``   added to every action value                         finite
foo4       ``count_scale``   multiplies every count                              finite, not negative
=========  ================  ==================================================  =====================

The paper invites other schedules (Sections 4.3 and 5).  Besides foo1 to foo4, a schedule may set what the paper fixes:
the weight of the horizon in the step size, the form of the bonus, and how many times a chosen action is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.registry import settings_text

FOREVER = 1 << 62
"""More steps than any run can have."""

Formula: TypeAlias = Callable[[int, Table], tuple[float, float, float]]
"""A function of t and constants that returns foo1, foo2 and foo4.  Numba must be able to compile it."""

LATER = {"forgetting": 0.0, "centring": 0.0, "restart": 0.0}
"""Parameters of schedules and designs that earlier versions did not have, with the values that give the results of
those versions."""


@dataclass(frozen=True)
class Schedule:
    """A schedule: how the parameters of an agent, such as ``growing-horizon`` (Algorithm 2), change with time.

    The first four parameters are the paper's functions foo1 to foo4.  Each takes the time step, an integer t >= 1, and
    returns a number.  Below, tau is foo1(t), and N counts how often the agent has taken an action in a state.

    Parameters
    ----------
    horizon:
        foo1: the planning horizon, in steps
    optimism:
        foo2: the size of the bonus for actions that were seldom taken
    value_shift:
        foo3: the amount that is added to all action values at each step
    count_scale:
        foo4: the factor by which all counts N are multiplied at each step
    ceiling:
        the value of foo1(t) - (1 + foo3(1) + ... + foo3(t)), if it does not depend on t.  If it is given,
        there are no rounding errors: values clipped at different times are exactly equal.  If it is None, the sum is
        computed step by step
    scales_counts:
        whether foo4 ever differs from 1; if not, set this to False, and agents need less memory
    formula:
        ``formula(t, constants)`` returns foo1, foo2 and foo4 together.  With it, compiled code can evaluate the
        schedule.  It requires ``ceiling``
    constants:
        the numbers that ``formula`` receives
    steady:
        ``steady(t)`` is a number n of steps for which compiled code need not evaluate the schedule again: foo1 and foo2
        are constant in the steps t to t + n - 1, and foo4 is 1 in the steps t + 1 to t + n - 1.  It requires
        ``formula``
    monotone:
        whether foo1 and foo2 are each monotone in t, and foo4 is always 1; only the first and the last step of a range
        are then checked
    step_weight:
        w in the step size (1 + w tau) / (N + w tau); Line 11 of Algorithm 2 has w = 2
    doubt:
        if it is None, the bonus is that of the paper, foo2 / sqrt(N); otherwise it is foo2 * ((doubt + sigma) / sqrt(N)
        + rarity * tau / N), where sigma is the standard deviation of the update targets of an action value
    rarity:
        the weight of the last term of that bonus; it is ignored if ``doubt`` is None
    persistence:
        after choosing an action in a state, the agent repeats it for the next min(persistence * N, persistence_most)
        visits to that state, where N is the count of that action there; with 0, as in the paper, it chooses again at
        every visit
    persistence_most:
        the greatest number of such visits
    forgetting:
        the least step size, for environments that change: if N is so large that the step size would be less, a smaller
        N is used, so that only about the last 1 / forgetting visits to a state-action pair matter.  With 0, as in the
        paper, all visits matter
    unit:
        whether rewards are always scaled to [0, 1] by their declared range; if not, the rewards of raw tasks are not
        scaled
    name:
        its name in tables and messages
    parameters:
        the parameters with which it was made

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
    scales_counts: bool = True
    formula: Formula | None = None
    constants: tuple[float, ...] = ()
    steady: Callable[[int], int] | None = None
    monotone: bool = False
    step_weight: float = 2.0
    doubt: float | None = None
    rarity: float = 0.0
    persistence: float = 0.0
    persistence_most: float = 0.0
    forgetting: float = 0.0
    unit: bool = False
    name: str = "schedule"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        settings = settings_text(self.parameters)
        return f"Schedule({self.name!r}{': ' if settings else ''}{settings})"


def smooth(
    *,
    horizon_scale: float = 1.5,
    horizon_power: float = 0.2,
    optimism_scale: float = 0.44,
    optimism_power: float = 0.3,
) -> Schedule:
    """Grow the horizon at every step and never forget (Section 4.3).

    foo1 = horizon_scale t^horizon_power, foo2 = optimism_scale t^optimism_power sqrt(log(2 t^2)), foo3 is the
    growth of foo1, and foo4 = 1.  An update limits an action value to the horizon, foo1(t).  If ``horizon_power`` is
    positive, an action value starts above this limit: it is 1 + foo1(t) until the action is first taken in the state.

    Examples
    --------
    >>> schedule = smooth()
    >>> schedule.horizon(1), schedule.value_shift(1), schedule.ceiling
    (1.5, 1.5, -1.0)

    """
    constants = (horizon_scale, horizon_power, optimism_scale, optimism_power)

    def value_shift(t: int) -> float:
        return horizon_scale * (math.pow(t, horizon_power) - math.pow(t - 1, horizon_power))

    ceiling = -1.0 if horizon_power != 0 else horizon_scale - 1.0  # 0^0 = 1: a constant horizon is never added
    plain = _from_formula(smooth_formula, constants, value_shift, ceiling, scales_counts=False)
    return replace(plain, monotone=optimism_power >= 0)


def practical(
    *,
    horizon_scale: float = 12.0,
    horizon_power: float = 0.05,
    optimism_scale: float = 0.1,
    optimism_power: float = 0.05,
    step_weight: float = 4.0,
    doubt: float = 0.02,
    rarity: float = 0.02,
    persistence: float = 0.2,
    persistence_most: float = 50.0,
    forgetting: float = 0.0,
) -> Schedule:
    """Grow the horizon as in smooth, be optimistic where outcomes vary, and repeat a choice for several visits.

    foo1 to foo4 are those of :func:`smooth` with other constants.  Rewards are scaled to [0, 1] in every task.
    It differs from the paper in three ways (line numbers are those of Algorithm 2):

    - The bonus of Line 14 depends on the standard deviation of the targets of a state-action pair, so a pair whose
      targets hardly vary is not explored for long.
    - In the step size of Line 11, the weight of the horizon is ``step_weight`` instead of 2.
    - An action that Line 8 chose in a state is repeated for several visits to that state.  If the effect of an action
      is delayed, as at the service station, whose customers take a while to come back, one trial teaches nothing.

    Parameters
    ----------
    horizon_scale:
        as in :func:`smooth`
    horizon_power:
        as in :func:`smooth`
    optimism_scale:
        as in :func:`smooth`
    optimism_power:
        as in :func:`smooth`
    step_weight:
        as in :class:`Schedule`
    doubt:
        as in :class:`Schedule`
    rarity:
        as in :class:`Schedule`
    persistence:
        as in :class:`Schedule`
    persistence_most:
        as in :class:`Schedule`
    forgetting:
        as in :class:`Schedule`

    Examples
    --------
    >>> schedule = practical()
    >>> schedule.horizon(1), schedule.ceiling, schedule.unit
    (12.0, -1.0, True)

    """
    settings = {
        "step_weight": float(step_weight),
        "doubt": float(doubt),
        "rarity": float(rarity),
        "persistence": float(persistence),
        "persistence_most": float(persistence_most),
        "forgetting": float(forgetting),
    }
    for name, value in settings.items():
        require(0 <= value < math.inf, f"schedule.{name}", value, "give a finite number of at least 0")
    require(forgetting <= 1, "schedule.forgetting", forgetting, "give a step size from 0 to 1")
    paper = smooth(
        horizon_scale=horizon_scale,
        horizon_power=horizon_power,
        optimism_scale=optimism_scale,
        optimism_power=optimism_power,
    )
    changes: dict[str, Any] = {**settings, "unit": True}
    return replace(paper, **changes)


def smooth_formula(t: int, constants: Table) -> tuple[float, float, float]:
    """Return foo1, foo2 and foo4 of :func:`smooth`."""
    horizon = constants[0] * math.pow(t, constants[1])
    optimism = constants[2] * math.pow(t, constants[3]) * math.sqrt(math.log(2.0 * t * t))
    return horizon, optimism, 1.0


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

    The change points are T_k = first growth^(k - 1) for k = 1, 2, ...  Let T be the most recent one, or 1 before the
    first.  Then foo1 = horizon_scale T^horizon_power, foo2 = optimism_scale T^optimism_power sqrt(log(2 T^2)), foo3 is
    the growth of foo1, and foo4 is 0 at a change point and 1 elsewhere.  As in the paper, t = 1 is not a change point,
    so no counts are forgotten there; foo3(1) = horizon_scale - 1 moves the initial values from 1 to the horizon.

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
    constants = (float(first), growth, horizon_scale, horizon_power, optimism_scale, optimism_power)

    def value_shift(t: int) -> float:
        before = 1.0 if t == 1 else change_points_formula(t - 1, constants)[0]  # type: ignore[arg-type]
        return change_points_formula(t, constants)[0] - before  # type: ignore[arg-type]

    def steady(t: int) -> int:
        following = constants[0]
        while following <= t:
            following *= constants[1]
        return math.ceil(following) - t if following < FOREVER else FOREVER

    plain = _from_formula(change_points_formula, constants, value_shift, ceiling=0.0, scales_counts=True)
    return replace(plain, steady=steady)


def change_points_formula(t: int, constants: Table) -> tuple[float, float, float]:
    """Return foo1, foo2 and foo4 of :func:`change_points`."""
    point = 1.0
    following = constants[0]
    while following <= t:
        point = following
        following *= constants[1]
    horizon = constants[2] * math.pow(point, constants[3])
    optimism = constants[4] * math.pow(point, constants[5]) * math.sqrt(math.log(2.0 * point * point))
    return horizon, optimism, 0.0 if point > t - 1 and t > 1 else 1.0


def fixed(*, horizon: float = 10.0, optimism: float = 1.0) -> Schedule:
    """Keep one horizon and one optimism, so that Algorithm 2 becomes Algorithm 1.

    foo3(1) = horizon - 1 lifts the values from 1 to the horizon at the first step; afterwards nothing changes.

    Examples
    --------
    >>> schedule = fixed(horizon=8)
    >>> schedule.value_shift(1), schedule.value_shift(2)
    (7, 0.0)

    """

    def value_shift(t: int) -> float:
        return horizon - 1 if t == 1 else 0.0

    plain = _from_formula(fixed_formula, (horizon, optimism), value_shift, ceiling=0.0, scales_counts=False)
    return replace(plain, steady=lambda _t: FOREVER, monotone=True)


def fixed_formula(t: int, constants: Table) -> tuple[float, float, float]:  # noqa: ARG001
    """Return foo1, foo2 and foo4 of :func:`fixed`."""
    return constants[0], constants[1], 1.0


def _from_formula(
    formula: Formula,
    constants: tuple[float, ...],
    value_shift: Callable[[int], float],
    ceiling: float,
    scales_counts: bool,
) -> Schedule:
    given: Any = constants  # the interpreter reads a tuple faster than an array, and to the same bits
    return Schedule(
        lambda t: formula(t, given)[0],
        lambda t: formula(t, given)[1],
        value_shift,
        lambda t: formula(t, given)[2],
        ceiling,
        scales_counts,
        formula,
        constants,
    )
