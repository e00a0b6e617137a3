"""Inventory control as a task: the agent sees all orders under way, their sum with the stock, or the stock alone."""

from __future__ import annotations

import math

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.inventory import LONGEST_LEAD_TIME, MOST_CAPACITY, MOST_DEMAND, Inventory
from everlearn.errors import require
from everlearn.tasks.portrait import Bars, Portrait
from everlearn.tasks.task import Task, check_amount

ALL, POSITION, ON_HAND = "all", "position", "on-hand"
VIEWS = (ALL, POSITION, ON_HAND)

USUAL_CAPACITY = 20


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
    """Order stock that arrives some steps later; both unsold stock and unmet demand cost money.

    Parameters
    ----------
    lead_time:
        the number of steps after which an order arrives
    mean_demand:
        the mean of the Poisson distribution
    holding_cost:
        the cost of a unit that is left at the end of a step
    penalty:
        the cost of a unit of demand that is lost
    capacity:
        the largest number of units on hand and on order; by default 20, or as many as an optimal policy may want if
        that is more, up to 200
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
    check_amount("holding_cost", holding_cost)
    check_amount("penalty", penalty, positive=True)
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
        portrait=Portrait(
            "Stock costs money every day, and so does a customer who leaves with nothing.",
            "{} in stock" + ", {} on order" * (lead_time - 1),
            Bars(("in stock", *(f"due in {k + 1}" for k in range(lead_time - 1))), room),
        ),
        source="Zipkin (2008)",
        parameters=parameters,
    )


def enough(lead_time: int, mean_demand: float, fractile: float) -> int:
    """Return a capacity that does not restrict an optimal policy, or the largest capacity if that is less.

    If unmet demand waited, it would be best to order up to a level: the quantile at penalty / (holding cost + penalty),
    the fractile, of the demand in the step of the order and the ``lead_time`` steps after it.  Since it is lost, less
    is wanted.
    """
    mean = (1 + max(1, min(lead_time, LONGEST_LEAD_TIME))) * max(0.0, min(mean_demand, MOST_DEMAND))
    level, chance, total = 0, math.exp(-mean), math.exp(-mean)
    while total < fractile and level < MOST_CAPACITY:
        level += 1
        chance *= mean / level
        total += chance
    return max(USUAL_CAPACITY, level)


def _view(store: Inventory, see: str) -> AleatoricState:
    """Return S0 and f of a view; an observation that cannot happen leads to the nearest state."""
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
