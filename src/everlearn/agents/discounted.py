"""Algorithm 1, ``discounted_q_learning``: one horizon, a duration known beforehand.

It is Algorithm 2 under the schedule ``fixed``: values begin at tau, which foo3(1) = tau - 1 sees to, and N, which the
paper does not initialise, at 0.  Past its duration it goes on unchanged.
"""

from __future__ import annotations

import math
from dataclasses import replace

from everlearn.agents.design import Design
from everlearn.agents.growing_horizon import growing_horizon
from everlearn.agents.schedule import fixed
from everlearn.errors import require


def discounted(*, horizon: float = 10.0, duration: int | None = None) -> Design:
    """Optimistic Q-learning over a fixed horizon and a known duration (Algorithm 1).

    Parameters
    ----------
    horizon:
        tau, the effective planning horizon
    duration:
        T, the number of steps that the agent is told it will run for; that of the run unless given

    """
    constants = {"horizon": horizon, "optimism": fixed_optimism(horizon, duration)}
    schedule = replace(fixed(**constants), name="fixed", parameters=constants)
    return replace(growing_horizon(schedule=schedule), name="discounted", duration=duration)


def fixed_optimism(horizon: float, duration: int | None) -> float:
    """Return beta = 4 tau^(3/2) sqrt(log(2 T^2)), Line 2 of Algorithm 1.

    Examples
    --------
    >>> round(fixed_optimism(4, 1000), 6)
    121.888742

    """
    require(1 <= horizon < math.inf, "agent.horizon", horizon, "give a finite number of at least 1")
    if duration is None or duration < 1:
        require(False, "agent.duration", duration, "give the number of steps that the agent will run for")
    return math.pow(horizon, 1.5) * 4.0 * math.sqrt(math.log(2.0 * float(duration or 1) ** 2))
