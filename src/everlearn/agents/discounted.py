"""Algorithm 1, ``discounted_q_learning``: one horizon, and a duration known beforehand.

It is Algorithm 2 with the schedule ``fixed``: foo3(1) = tau - 1 raises the values to tau, and N, which the paper does
not initialise, begins at 0.  After its duration the agent continues unchanged.
"""

from __future__ import annotations

import math
from dataclasses import replace

from everlearn.agents.checks import MOST_COUNTED, check_at_least, check_duration
from everlearn.agents.design import Design
from everlearn.agents.growing_horizon import growing_horizon
from everlearn.agents.schedule import fixed
from everlearn.errors import require

LONGEST_HORIZON = 1e100
"""The longest horizon with which the optimism can be computed."""


def discounted(*, horizon: float = 10.0, duration: int | None = None) -> Design:
    """Optimistic Q-learning over a fixed horizon and a known duration (Algorithm 1).

    Parameters
    ----------
    horizon:
        tau, the effective planning horizon
    duration:
        T, the duration that the agent plans for; default: the number of steps of the run

    """
    constants = {"horizon": horizon, "optimism": fixed_optimism(horizon, duration)}
    schedule = replace(fixed(**constants), name="fixed", parameters=constants)
    return replace(growing_horizon(schedule=schedule), name="discounted", duration=duration)


def fixed_optimism(horizon: float, duration: int | None) -> float:
    """Return beta = 4 tau^(3/2) sqrt(log(2 T^2)), Line 2 of Algorithm 1."""
    check_at_least(1, horizon=horizon)
    require(horizon <= LONGEST_HORIZON, "agent.horizon", horizon, f"give at most {LONGEST_HORIZON:.0e}")
    steps = check_duration(duration, MOST_COUNTED)
    return math.pow(horizon, 1.5) * 4.0 * math.sqrt(math.log(2.0 * float(steps) ** 2))
