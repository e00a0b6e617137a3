"""The service station as a task: the aleatoric state is whether a customer is present, the reward is profit."""

from __future__ import annotations

import math

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.service_station import (
    ACTIONS,
    ARRIVAL,
    BOTH,
    DEPARTURE,
    FAST,
    OBSERVATIONS,
    ServiceStation,
)
from everlearn.errors import require
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task


def service_station(
    *,
    window: int = 12,
    revenue: float = 1.0,
    fast_cost: float = 0.5,
    slow_cost: float = 0.0,
    slow_completion: float = 0.5,
    arrival_floor: float = 0.1,
    arrival_height: float = 0.9,
    arrival_decay: float = 10.0,
    cap: int | None = None,
    raw: bool = True,
) -> Task:
    """Serve customers fast at a cost, or slowly and lose them: service rate control with a reputation.

    Parameters
    ----------
    window:
        the number of customers on which the reputation depends
    revenue:
        what a customer pays on arrival
    fast_cost:
        the cost of a step of fast service
    slow_cost:
        the cost of a step of slow service
    slow_completion:
        the probability that a slow service is completed at a step
    arrival_floor:
        the arrival probability is floor + height exp(-decay (W - 1)), where W is the longest recent service
    arrival_height:
        how much higher the arrival probability is if no recent service was long
    arrival_decay:
        how fast the arrival probability falls with the longest recent service
    cap:
        longer service times count as this; by default the least cap that is exact in double precision
    raw:
        whether the agent learns from profit itself, as the paper's does, or from profit scaled to [0, 1]

    Examples
    --------
    >>> task = service_station()
    >>> {name: round(value, 10) for name, value in task.references.items()}
    {'optimum': 0.5, 'always fast': 0.5, 'always slow': 0.0909364893}

    """
    parameters = dict(locals())
    station = ServiceStation(window, slow_completion, arrival_floor, arrival_height, arrival_decay, cap)
    require(revenue > 0, "revenue", revenue, "give a positive number")
    require(fast_cost >= 0, "fast_cost", fast_cost, "give a number of at least 0")
    require(slow_cost >= 0, "slow_cost", slow_cost, "give a number of at least 0")

    def reward(present: int, action: str, observation: str) -> float:
        cost = (fast_cost if action == FAST else slow_cost) if present else 0.0
        return (revenue if observation in (ARRIVAL, BOTH) else 0.0) - cost

    return Task(
        ACTIONS,
        OBSERVATIONS,
        AleatoricState(0, presence, (0, 1)),
        Reward(reward, -max(fast_cost, slow_cost), revenue, raw),
        station.model(),
        name="service-station",
        summary="serve fast at a cost, or slowly and lose customers (Section 1.4, Appendix B)",
        portrait=Portrait(
            "Slow service is free today, and keeps customers away tomorrow. Will the agent find out?",
            {0: "nobody is there", 1: "a customer is there"},
        ),
        source="Dong, Van Roy and Zhou (2022), Section 1.4 and Appendix B",
        parameters=parameters,
        references=_references(station, revenue, fast_cost, slow_cost),
    )


def presence(present: int, _action: str, observation: str) -> int:
    """Return f: whether a customer is present."""
    if observation in (ARRIVAL, BOTH):
        return 1
    return 0 if observation == DEPARTURE else present


def _references(station: ServiceStation, revenue: float, fast: float, slow: float) -> dict[str, float]:
    """Return the averages that are known in closed form.

    Always fast: every service takes one step, so that W = 1 and a step ends with a customer with probability P(1).

    The optimum: no arrival probability exceeds 1, so no policy does better than if a queue waited at the door.  Then a
    step of service costs ``fast`` and completes, or costs ``slow`` and completes with probability c, and each
    completion brings the next customer.  That earns at most max(revenue - fast, c revenue - slow, 0) per step, where 0
    is earned while nobody is there.  Always fast attains the first if P(1) = 1, and is optimal if that is the largest.
    """
    door = station.arrival_probability(1)
    lines = {"always fast": door * (revenue - fast), "always slow": renewal_average(station, revenue, slow)}
    if door == 1.0 and revenue - fast >= max(station.slow_completion * revenue - slow, 0.0):
        lines = {"optimum": lines["always fast"], **lines}
    return lines


def renewal_average(station: ServiceStation, revenue: float, cost: float) -> float:
    """Return the exact average reward if a step of service always has the same mean cost and chance of completion.

    The result follows from renewal theory.  Service times X are independent and geometric.  Let W and W' be the longest
    recent service before and after a customer leaves.  Then the next customer arrives at once with probability P(W),
    else after 1 / P(W') more steps on average.  W and W' are maxima over ``window`` customers each, of which they share
    window - 1.
    """
    c, cap = station.slow_completion, station.cap
    at_most = [0.0] + [1 - (1 - c) ** w for w in range(1, cap)] + [1.0]  # P(X <= w), X capped
    shared = [0.0] + [at_most[w] ** (station.window - 1) for w in range(1, cap + 1)]
    services = range(1, cap + 1)

    def probability(distribution: list[float], w: int) -> float:
        return distribution[w] - distribution[w - 1]

    waiting = math.fsum(
        probability(shared, common)
        * probability(at_most, first)
        * probability(at_most, last)
        * (1 - station.arrival_probability(max(common, first)))
        / station.arrival_probability(max(common, last))
        for common in services
        for first in services
        for last in services
    )
    return (revenue - cost / c) / (1 / c + waiting)
