"""What is asked of an arm: each measure turns every unit, a run for instance, into one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from everlearn.errors import InputError, UnknownName
from everlearn.protocol import Table
from everlearn.results.arm import Arm


class Measure(NamedTuple):
    """A function from an arm to one number a unit, and what it says, in a line.

    Examples
    --------
    >>> MEASURES["final"].description
    'average reward over all steps'

    """

    function: Callable[[Arm], Table]
    description: str


def _final(arm: Arm) -> Table:
    return arm.average_reward[:, -1]


def _late(arm: Arm) -> Table:
    if arm.times[0] > arm.times[-1] / 10:
        return _final(arm)
    start = np.flatnonzero(arm.times <= arm.times[-1] / 10)[-1]
    gained = arm.total_reward[:, -1] - arm.total_reward[:, start]
    return np.asarray(gained / (arm.times[-1] - arm.times[start]))


def _anytime(arm: Arm) -> Table:
    if arm.times.size == 1:
        return _final(arm)
    logarithms = np.log(arm.times)
    return np.asarray(np.trapezoid(arm.average_reward, logarithms, axis=1) / (logarithms[-1] - logarithms[0]))


def _regret(arm: Arm) -> Table:
    if arm.regret is None:
        remedy = f"the optimum over all policies of {arm.task!r} is not known; choose final, late or anytime"
        raise InputError("measure", "regret", remedy)
    return arm.regret[:, -1]


def _relative_regret(arm: Arm) -> Table:
    if arm.optimum is None or not np.all(arm.optimum):
        remedy = f"the optimum over all policies of {arm.task!r} is zero or not known; choose final, late or anytime"
        raise InputError("measure", "relative regret", remedy)
    # The size of the optimum, so that more is worse also where the optimum is negative.
    return np.asarray((arm.optimum - _final(arm)) / np.abs(arm.optimum))


MEASURES: dict[str, Measure] = {
    "final": Measure(_final, "average reward over all steps"),
    "late": Measure(_late, "average reward past a tenth of the steps, once it has learned"),
    "anytime": Measure(_anytime, "cumulative average reward, averaged over logarithmic time"),
    "regret": Measure(_regret, "realized regret at the end, against the optimum over all policies"),
    "relative regret": Measure(_relative_regret, "realized regret a step, as a share of the optimum over all policies"),
}

LOSSES = ("regret", "relative regret")
"""The measures of which less is better."""


def measured(arm: Arm, name: str) -> Table:
    """Return a measure of an arm, one value a unit.

    ``late`` begins at the last recording time up to a tenth of all steps; without one, it is ``final``.

    Examples
    --------
    >>> arm = Arm("shop", "smooth", {}, np.array([1, 10, 100]), np.array([[0.0, 5.0, 95.0]]), np.array([1.0]))
    >>> {name: measured(arm, name).tolist() for name in ("final", "late", "regret")}
    {'final': [0.95], 'late': [1.0], 'regret': [5.0]}

    """
    known_measure(name)
    return MEASURES[name].function(arm)


def known_measure(name: object) -> None:
    """Refuse what is not the name of a measure.

    Examples
    --------
    >>> known_measure("end")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    everlearn.errors.UnknownName: measure: 'end'; known: anytime, final, ...

    """
    if not isinstance(name, str) or name not in MEASURES:
        raise UnknownName("measure", name, MEASURES)


def measurable(arm: Arm, name: str) -> bool:
    """Say whether all that a measure needs is known of an arm.

    Examples
    --------
    >>> arm = Arm("shop", "smooth", {}, np.array([1]), np.array([[0.5]]))
    >>> measurable(arm, "final"), measurable(arm, "regret")
    (True, False)

    """
    known_measure(name)
    if name in LOSSES and arm.optimum is None:
        return False
    return name != "relative regret" or bool(np.all(arm.optimum))
