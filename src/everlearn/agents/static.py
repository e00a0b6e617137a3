"""The first baseline of Section 1.4.3 and Appendix B: it analyses, and never experiments.

For one phase it applies the slow mode and counts arrivals at the vacant station.  Taking that arrival rate as fixed,
and knowing revenue, costs and completion probabilities, it computes the average that every pi_epsilon would have,

    (revenue - cost_eps / c_eps) / (1 / c_eps - 1 + 1 / p),   c_eps = (1 - epsilon) c_slow + epsilon c_fast,

and takes the best epsilon from then on.  Numerator and denominator times c_eps are linear in epsilon, so the quotient
is monotone and the best epsilon is 0 or 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents import mixture
from everlearn.agents.design import Design
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table
from everlearn.tasks.indexed import IndexedTask


class Analysis(NamedTuple):
    """Steps and arrivals at the vacant station, the epsilon chosen, and what the agent was told."""

    roles: NDArray[np.int64]
    epsilon: Table
    gathered: Table
    phase: NDArray[np.int64]
    told: Table


def static(
    *,
    phase: int = 200_000,
    revenue: float = 1.0,
    fast_cost: float = 0.5,
    slow_cost: float = 0.0,
    slow_completion: float = 0.5,
    fast_completion: float = 1.0,
    slow: str | None = None,
    fast: str | None = None,
) -> Design:
    """Estimate the arrival rate under slow service, take it as fixed, and choose (first baseline, Appendix B).

    Parameters
    ----------
    phase:
        for how many steps it gathers data
    revenue, fast_cost, slow_cost, slow_completion, fast_completion:
        what it is told of the station
    slow, fast:
        which actions these are; those so called unless given

    """
    mixture.check_phase(phase)
    for name, probability in (("slow_completion", slow_completion), ("fast_completion", fast_completion)):
        require(0 < probability <= 1, f"agent.{name}", probability, "give a probability in (0, 1]")
    told = np.array([revenue, slow_cost, fast_cost, slow_completion, fast_completion])

    def build(indexed: IndexedTask) -> Analysis:
        roles = mixture.roles(indexed, slow, fast)
        return Analysis(roles, np.zeros(1), np.zeros(2), np.array([phase]), told.copy())

    return Design(build, mixture.act, learn, mixture.policy, inspect=mixture.inspect, name="static")


def learn(knowledge: Analysis, experience: Experience, now: ScheduleValues, stream: Any) -> None:  # noqa: ARG001
    """Count for a phase, then decide once."""
    idle = knowledge.roles[2]
    if now.t <= knowledge.phase[0] and experience.aleatoric_state == idle:
        knowledge.gathered[0] += 1.0
        if experience.next_aleatoric_state != idle:
            knowledge.gathered[1] += 1.0
    if now.t == knowledge.phase[0] and knowledge.gathered[1] > 0.0:
        arrival = knowledge.gathered[1] / knowledge.gathered[0]
        if predicted_average(knowledge.told, arrival, 1.0) > predicted_average(knowledge.told, arrival, 0.0):
            knowledge.epsilon[0] = 1.0


def predicted_average(told: Table, arrival: float, epsilon: float) -> float:
    """Return the average reward of pi_epsilon, were the arrival rate fixed.

    Examples
    --------
    >>> predicted_average(np.array([1.0, 0.0, 0.5, 0.5, 1.0]), 0.1, 1.0)
    0.05

    """
    cost = (1.0 - epsilon) * told[1] + epsilon * told[2]
    completion = (1.0 - epsilon) * told[3] + epsilon * told[4]
    return float((told[0] - cost / completion) / (1.0 / completion - 1.0 + 1.0 / arrival))
