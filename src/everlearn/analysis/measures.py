"""Measures: statistics that turn every unit of an arm, such as a run, into one number.

A measure is one record in ``MEASURES``.  Tables, comparisons, sentences and figures read everything from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from everlearn.errors import InputError, UnknownName
from everlearn.protocol import Table
from everlearn.results.arm import Arm


class Measure(NamedTuple):
    """A statistic of an arm, and the words that report it.

    Examples
    --------
    >>> MEASURES["final"].description
    'average reward over all steps'

    """

    function: Callable[[Arm], Table]
    """Computes one number per unit."""
    description: str
    """The title of tables and axes."""
    quantity: str
    """The name within a sentence, as in "no difference in regret"."""
    clause: str
    """The part of a sentence that reports a difference; it has fields ``size``, ``more`` and ``against``."""
    less_is_better: bool = False
    optimum: Literal["unused", "known", "nonzero"] = "unused"
    """What it needs to know of the optimum."""
    all_times: bool = False
    """Whether it uses recording times before the last."""


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
    return np.asarray(arm.regret)[:, -1]


def _relative_regret(arm: Arm) -> Table:
    optimum = np.asarray(arm.optimum)
    # Divided by the size of the optimum, so that more is worse even if the optimum is negative.
    return np.asarray((optimum - _final(arm)) / np.abs(optimum))


MEASURES: dict[str, Measure] = {
    "final": Measure(
        _final,
        "average reward over all steps",
        "average reward",
        "earned {size} {more} per step than {against}",
    ),
    "late": Measure(
        _late,
        "average reward past a tenth of the steps, once it has learned",
        "average reward past a tenth of the steps",
        "earned {size} {more} per step than {against} past a tenth of the steps",
        all_times=True,
    ),
    "anytime": Measure(
        _anytime,
        "cumulative average reward, averaged over logarithmic time",
        "average reward over logarithmic time",
        "earned {size} {more} per step than {against}, averaged over logarithmic time",
        all_times=True,
    ),
    "regret": Measure(
        _regret,
        "realized regret at the end, against the optimum over all policies",
        "regret",
        "had {size} {more} regret than {against}",
        less_is_better=True,
        optimum="known",
    ),
    "relative regret": Measure(
        _relative_regret,
        "realized regret a step, as a share of the optimum over all policies",
        "relative regret",
        "had {size} {more} relative regret than {against}",
        less_is_better=True,
        optimum="nonzero",
    ),
}


def measured(arm: Arm, name: str) -> Table:
    """Return a measure of an arm, one value per unit.

    ``late`` starts at the last recording time within the first tenth of the steps.  If there is none, it equals
    ``final``.

    Examples
    --------
    >>> arm = Arm("shop", "smooth", {}, np.array([1, 10, 100]), np.array([[0.0, 5.0, 95.0]]), np.array([1.0]))
    >>> {name: measured(arm, name).tolist() for name in ("final", "late", "regret")}
    {'final': [0.95], 'late': [1.0], 'regret': [5.0]}

    """
    if measurable(arm, name):
        return MEASURES[name].function(arm)
    problem = "is zero or not known" if MEASURES[name].optimum == "nonzero" else "is not known"
    *others, last = (other for other, measure in MEASURES.items() if measure.optimum == "unused")
    remedy = f"the optimum over all policies of {arm.task!r} {problem}; choose {', '.join(others)} or {last}"
    raise InputError("measure", name, remedy)


def measurable(arm: Arm, name: str) -> bool:
    """Return whether everything that a measure needs is known of an arm.

    Examples
    --------
    >>> arm = Arm("shop", "smooth", {}, np.array([1]), np.array([[0.5]]))
    >>> measurable(arm, "final"), measurable(arm, "regret")
    (True, False)

    """
    known_measure(name)
    need = MEASURES[name].optimum
    return need == "unused" or (arm.optimum is not None and (need == "known" or bool(np.all(arm.optimum))))


def known_measure(name: object) -> None:
    """Raise if this is not the name of a measure."""
    if not isinstance(name, str) or name not in MEASURES:
        raise UnknownName("measure", name, MEASURES)
