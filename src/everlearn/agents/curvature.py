"""The third baseline, of Appendix B: it extrapolates the average reward by its first two derivatives.

Three phases, with pi_0, pi_epsilon and pi_2epsilon, give both derivatives at 0 by finite differences.  From then on the
agent applies the epsilon in [0, 1] that maximises the quadratic.  With a small epsilon noise dominates the second
derivative, since it is divided by epsilon^2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.baseline import baseline_design
from everlearn.agents.checks import check_fraction
from everlearn.agents.design import Design
from everlearn.protocol import Experience, ScheduleValues, Table


class Extrapolation(NamedTuple):
    """What the third baseline knows; it gathers the sums of rewards of the three phases."""

    roles: NDArray[np.int64]
    epsilon: Table
    gathered: Table
    phase: NDArray[np.int64]
    spacing: Table


def learn(knowledge: Extrapolation, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Add up rewards over three phases, then choose once."""
    phase = knowledge.phase[0]
    trial = (now.t - 1) // phase
    if trial > 2:
        return
    knowledge.gathered[trial] += experience.reward
    if now.t % phase != 0:
        return
    if trial < 2:
        knowledge.epsilon[0] = (trial + 1) * knowledge.spacing[0]
    else:
        averages = knowledge.gathered / phase
        knowledge.epsilon[0] = best_epsilon(averages[0], averages[1], averages[2], knowledge.spacing[0])


def best_epsilon(at_zero: float, at_one: float, at_two: float, spacing: float) -> float:
    """Return the maximiser on [0, 1] of the quadratic through the averages at 0, ``spacing`` and twice ``spacing``."""
    first = (4.0 * at_one - 3.0 * at_zero - at_two) / (2.0 * spacing)
    half_second = (at_zero - 2.0 * at_one + at_two) / (2.0 * spacing * spacing)
    best = 1.0 if first + half_second > 0.0 else 0.0
    if half_second < 0.0:
        best = min(1.0, max(0.0, -first / (2.0 * half_second)))
    return best


def curvature(
    *, phase: int = 200_000, epsilon: float = 0.25, slow: str | None = None, fast: str | None = None
) -> Design:
    """Fit a quadratic in epsilon to the average reward, and maximise it on [0, 1] (third baseline, Appendix B).

    Parameters
    ----------
    phase:
        the number of steps for which it tries each epsilon
    epsilon:
        the spacing of the three probabilities of fast service that it tries: 0, epsilon and twice epsilon
    slow:
        the slow action; by default the action of this name
    fast:
        the fast action; by default the action of this name

    """
    check_fraction(most=0.5, epsilon=epsilon)
    return baseline_design(
        "curvature", learn, Extrapolation, gathered=3, phase=phase, constants=[epsilon], slow=slow, fast=fast
    )
