"""The second baseline of Section 1.4.3 and Appendix B: it follows the derivative of the average reward.

A phase under pi_0, a phase under pi_epsilon: their difference over epsilon estimates the derivative at 0.  While the
estimate is positive it goes up by epsilon and tries again; where it is not, it stays for ever at the best so far.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import mixture
from everlearn.agents.design import Design
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Climb(NamedTuple):
    """What the second baseline keeps."""

    roles: NDArray[np.int64]
    epsilon: Table
    gathered: Table
    """The sum of rewards of this phase, average and epsilon of the phase before, whether it has settled, its rises."""
    phase: NDArray[np.int64]
    increase: Table


def gradient(*, phase: int = 200_000, epsilon: float = 0.1, slow: str | None = None, fast: str | None = None) -> Design:
    """Estimate the derivative of average reward by trying a small epsilon, and climb it (second baseline, Appendix B).

    Parameters
    ----------
    phase:
        for how many steps it tries each epsilon
    epsilon:
        by how much it goes up at a time
    slow, fast:
        which actions these are; those so called unless given

    """
    mixture.check_phase(phase)
    mixture.check_epsilon(epsilon, 1.0)

    def build(indexed: IndexedTask) -> Climb:
        roles = mixture.roles(indexed, slow, fast)
        return Climb(roles, np.zeros(1), np.zeros(5), np.array([phase]), np.array([epsilon]))

    return Design(build, mixture.act, learn, mixture.policy, inspect=mixture.inspect, name="gradient")


def learn(knowledge: Climb, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Add up rewards; at the end of a phase, go up, or back and settle."""
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
