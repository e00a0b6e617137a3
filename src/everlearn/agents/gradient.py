"""The second baseline of Section 1.4.3 and Appendix B: it follows the derivative of the average reward.

After a phase with pi_0 and a phase with pi_epsilon, their difference over epsilon estimates the derivative at 0.  While
the estimate is positive, the agent increases epsilon and tries again; otherwise it stays at the best epsilon so far.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.baseline import baseline_design
from everlearn.agents.checks import check_fraction
from everlearn.agents.design import Design
from everlearn.protocol import Experience, ScheduleValues, Table


class Climb(NamedTuple):
    """What the second baseline knows."""

    roles: NDArray[np.int64]
    epsilon: Table
    gathered: Table
    """The sum of rewards of this phase, average and epsilon of the phase before, whether it has settled, and how often
    epsilon has risen."""
    phase: NDArray[np.int64]
    increase: Table


def learn(knowledge: Climb, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Add up rewards; at the end of a phase, increase epsilon, or return to the best and settle."""
    gathered = knowledge.gathered
    if gathered[3] == 1.0:
        return
    gathered[0] += experience.reward
    if now.t % knowledge.phase[0] != 0:
        return
    average = gathered[0] / knowledge.phase[0]
    epsilon = knowledge.epsilon[0]
    gathered[0] = 0.0
    if epsilon > 0.0 and (average - gathered[1]) / (epsilon - gathered[2]) <= 0.0:
        knowledge.epsilon[0] = gathered[2]
        gathered[3] = 1.0
    elif epsilon >= 1.0:
        gathered[3] = 1.0
    else:
        gathered[1] = average
        gathered[2] = epsilon
        gathered[4] += 1.0
        knowledge.epsilon[0] = min(1.0, gathered[4] * knowledge.increase[0])


def gradient(*, phase: int = 200_000, epsilon: float = 0.1, slow: str | None = None, fast: str | None = None) -> Design:
    """Serve fast with probability epsilon, and raise it while the average reward rises (second baseline, Appendix B).

    Parameters
    ----------
    phase:
        the number of steps for which it tries each epsilon
    epsilon:
        the increase of epsilon from phase to phase
    slow:
        the slow action; by default the action of this name
    fast:
        the fast action; by default the action of this name

    """
    check_fraction(epsilon=epsilon)
    return baseline_design("gradient", learn, Climb, gathered=5, phase=phase, constants=[epsilon], slow=slow, fast=fast)
