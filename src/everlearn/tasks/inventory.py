"""Inventory control as a task: all orders under way are seen, or only their sum with the stock, or the stock alone."""

from __future__ import annotations

import math

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.inventory import LONGEST, MOST_CAPACITY, MOST_DEMAND, Inventory
from everlearn.errors import require
from everlearn.tasks.task import Task

ALL, POSITION, ON_HAND = "all", "position", "on-hand"
VIEWS = (ALL, POSITION, ON_HAND)

USUAL_CAPACITY = 20
MOST_PAID = 1e300
"""Rewards of more are refused: their sums would not be finite."""


def inventory(
    *,
    lead_time: int = 1,
    mean_demand: float = 5.0,
    holding_cost: float = 1.0,
    penalty: float = 4.0,
    capacity: int | None = None,
    most_ordered: int = 8,
    see: str = ALL,
) -> Task:
    """Order stock that arrives some steps later: unsold stock costs, and so does demand that is not met.

    Parameters
    ----------
    lead_time:
        how many steps after it was placed an order arrives
    mean_demand:
        of the Poisson distribution
    holding_cost, penalty:
        what a unit costs that is left at the end of a step, and one of demand that was lost
    capacity:
        how many units there may be on hand and on order; none: 20, or as many as an optimal policy may want, if that is
        more, but at most 200
    most_ordered:
        the largest order
    see:
        what the agent keeps: ``all`` is the stock on hand and each order under way, ``position`` their sum, ``on-hand``
        the stock alone; with a lead time of 1 these are the same

    Examples
    --------
    >>> import everlearn as el
    >>> [round(el.Theory(inventory(lead_time=steps)).optimal_average_reward, 2) for steps in (1, 2)]
    [-4.04, -4.4]
    >>> round(el.Theory(inventory(lead_time=2, see="position")).distortion(10).value, 2)
    14.97

    """
    parameters = dict(locals())
    require(see in VIEWS, "see", see, f"give one of {', '.join(VIEWS)}")
    remedy = f"give a number of at least 0, at most {MOST_PAID:g}"
    require(0 <= holding_cost <= MOST_PAID, "holding_cost", holding_cost, remedy)
    require(0 < penalty <= MOST_PAID, "penalty", penalty, f"give a positive number of at most {MOST_PAID:g}")
    room = enough(lead_time, mean_demand, penalty / (holding_cost + penalty)) if capacity is None else capacity
    store = Inventory(lead_time, mean_demand, room, most_ordered)

    def reward(_aleatoric_state: object, _action: str, observation: tuple[int, int, int, int]) -> float:
        _sold, lost, left, _received = observation
        return -(holding_cost * left + penalty * lost)

    model = store.model()
    worst = max(holding_cost * room, penalty * (len(store.demand) - 1))
    return Task(
        store.actions,
        model.observations,
        _view(store, see),
        Reward(reward, -worst, 0.0),
        model,
        name="inventory",
        summary="order stock ahead of a demand that does not wait",
        source="Zipkin (2008)",
        parameters=parameters,
    )


def enough(lead_time: int, mean_demand: float, fractile: float) -> int:
    """Return a capacity that binds no optimal policy, or the greatest, if that is less.

    Where demand waits, it is best to order up to a level: the quantile at penalty / (holding cost + penalty), the
    fractile, of the demand in the step of the order and the ``lead_time`` after it.  Where it is lost, less is wanted.
    """
    mean = (1 + max(1, min(lead_time, LONGEST))) * max(0.0, min(mean_demand, MOST_DEMAND))
    level, chance, total = 0, math.exp(-mean), math.exp(-mean)
    while total < fractile and level < MOST_CAPACITY:
        level += 1
        chance *= mean / level
        total += chance
    return max(USUAL_CAPACITY, level)


def _view(store: Inventory, see: str) -> AleatoricState:
    """Return S0 and f of what the agent keeps.  An observation that cannot happen leads to the nearest state."""
    amounts = tuple(range(store.capacity + 1))

    def everything(memory: tuple[int, ...], action: str, observation: tuple[int, int, int, int]) -> tuple[int, ...]:
        return store.following(memory, action, min(observation[0], memory[0]))

    def position(units: int, action: str, observation: tuple[int, int, int, int]) -> int:
        return max(0, units - observation[0]) + store.accepted(units, action)

    def on_hand(_units: int, _action: str, observation: tuple[int, int, int, int]) -> int:
        _sold, _lost, left, received = observation
        return min(left + received, store.capacity)

    if see == ALL:
        return AleatoricState((0,) * store.lead_time, everything, store.memories)
    return AleatoricState(0, position if see == POSITION else on_hand, amounts)
