"""The first baseline of Section 1.4.3 and Appendix B: it analyses, and never experiments.

For one phase it applies slow service and counts arrivals at the vacant station.  It takes that arrival rate p as fixed.
Knowing revenue, costs and completion probabilities, it computes the average reward of every pi_epsilon,

    (revenue - cost_eps / c_eps) / (1 / c_eps - 1 + 1 / p),   c_eps = (1 - epsilon) c_slow + epsilon c_fast,

and applies the best epsilon from then on.  Numerator and denominator times c_eps are linear in epsilon, so the quotient
is monotone and the best epsilon is 0 or 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.baseline import baseline_design
from everlearn.agents.design import Design
from everlearn.errors import require
from everlearn.protocol import Experience, ScheduleValues, Table


class Analysis(NamedTuple):
    """What the first baseline knows; it gathers steps and arrivals at the vacant station."""

    roles: NDArray[np.int64]
    epsilon: Table
    gathered: Table
    phase: NDArray[np.int64]
    told: Table
    """Revenue, slow and fast cost, slow and fast completion probability."""


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
    """Return the average reward of pi_epsilon for a fixed arrival rate."""
    cost = (1.0 - epsilon) * told[1] + epsilon * told[2]
    completion = (1.0 - epsilon) * told[3] + epsilon * told[4]
    return float((told[0] - cost / completion) / (1.0 / completion - 1.0 + 1.0 / arrival))


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
    """Estimate the arrival rate under slow service, assume it constant, and choose a mode (first baseline, Appendix B).

    Parameters
    ----------
    phase:
        the number of steps for which it gathers data
    revenue:
        what a customer pays, which the agent knows
    fast_cost:
        the cost of a step of fast service, which the agent knows
    slow_cost:
        the cost of a step of slow service, which the agent knows
    slow_completion:
        the probability that a slow service is completed at a step, which the agent knows
    fast_completion:
        the probability that a fast service is completed at a step, which the agent knows
    slow:
        the slow action; by default the action of this name
    fast:
        the fast action; by default the action of this name

    """
    for name, probability in (("slow_completion", slow_completion), ("fast_completion", fast_completion)):
        require(0 < probability <= 1, f"agent.{name}", probability, "give a probability in (0, 1]")
    told = [revenue, slow_cost, fast_cost, slow_completion, fast_completion]
    return baseline_design("static", learn, Analysis, gathered=2, phase=phase, constants=told, slow=slow, fast=fast)
