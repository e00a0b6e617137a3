"""Inventory control with lost sales and a lead time, as in Zipkin (2008): an order arrives some steps later.

At each step an order is placed, which arrives ``lead_time`` steps later, before the demand there.  Then the demand is
drawn from a Poisson distribution; it is met from the stock on hand, and what cannot be met is lost.  There is room for
``capacity`` units on hand and on order together, and what would exceed it is not ordered.

The demand has no largest value.  If the stock on hand is at most b, one more unit of demand beyond b is one more unit
lost: expected costs depend on the tail beyond b only through its probability and its mean.  So the tail is replaced by
two values with the same probability and mean.  If b is the capacity this is exact: averages are those of the Poisson
demand.

If demand exceeds an amount below the capacity with a probability of less than 1e-12, b is that amount, so that rewards
and observations do not grow with room that is never needed.  With more than b on hand, the units lost are fewer than
those of demand beyond b, and what is left differs from these by the stock minus the demand, whose mean is the same.  So
the error of the expected cost of a step is at most (holding cost + penalty) E(D - b)+, about 1e-12 of these costs, and
that of the distribution of the next memory is 1e-12.

What remains is the error due to the capacity and the largest order.  It is zero if the optimal policy without these
bounds stays below them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from everlearn.environments.model import Model
from everlearn.errors import require

MOST_CAPACITY, MOST_DEMAND, LONGEST_LEAD_TIME = 200, 100, 20
MOST_MEMORIES, MOST_OBSERVATIONS = 1_000_000, 1_000_000
"""Bounds beyond which tables would not fit into memory."""

RARE = 1e-12
"""The tail of the demand begins at an amount that is exceeded with less than this probability."""


@dataclass(frozen=True)
class Inventory:
    """The constants of a store, and its dynamics.

    A memory is the stock on hand, and then what arrives after 1, 2, ... steps.  An observation is (sold, lost, left,
    received): of this step's demand, what was met and what was not; what is left of the stock; and what arrives now.

    Examples
    --------
    >>> store = Inventory(lead_time=2)
    >>> store.following((6, 3), "order 4", sold=5)
    (4, 4)
    >>> round(sum(d * p for d, p in enumerate(store.demand)), 12)
    5.0

    """

    lead_time: int = 1
    mean_demand: float = 5.0
    capacity: int = 20
    most_ordered: int = 8
    demand: tuple[float, ...] = field(init=False, repr=False)
    """The probability of each demand, beginning with 0."""
    quantities: dict[str, int] = field(init=False, repr=False, compare=False)
    """What each action orders."""

    def __post_init__(self) -> None:
        require(1 <= self.capacity <= MOST_CAPACITY, "capacity", self.capacity, f"give 1 to {MOST_CAPACITY} units")
        largest, mean = self.most_ordered, self.mean_demand
        require(1 <= largest <= self.capacity, "most_ordered", largest, f"give 1 to {self.capacity}, the capacity")
        require(0 < mean <= MOST_DEMAND, "mean_demand", mean, f"give a positive number of at most {MOST_DEMAND}")
        longest = LONGEST_LEAD_TIME
        require(1 <= self.lead_time <= longest, "lead_time", self.lead_time, f"give 1 to {longest} steps")
        few = (self.lead_time - 1) * math.log(largest + 1) <= math.log(MOST_MEMORIES / (self.capacity + 1))
        require(few, "lead_time", self.lead_time, "too many orders under way; give less, or a smaller most_ordered")
        object.__setattr__(self, "demand", demand_law(mean, self.capacity))
        seen = len(self._sales) * (largest + 1)
        remedy = f"that is {seen:,} observations, of at most {MOST_OBSERVATIONS:,}; give less of either"
        require(seen <= MOST_OBSERVATIONS, "capacity and most_ordered", (self.capacity, largest), remedy)
        object.__setattr__(self, "quantities", {f"order {quantity}": quantity for quantity in range(largest + 1)})

    @property
    def actions(self) -> tuple[str, ...]:
        """The orders that can be placed."""
        return tuple(self.quantities)

    @property
    def observations(self) -> tuple[tuple[int, int, int, int], ...]:
        """Every observation."""
        return tuple((*seen, received) for seen in self._sales for received in range(self.most_ordered + 1))

    @property
    def _sales(self) -> list[tuple[int, int, int]]:
        """Every (sold, lost, left); nothing is left if something was lost."""
        most, demands = self.capacity, len(self.demand)
        sales = range(min(most + 1, demands))
        met = [(sold, 0, left) for sold in sales for left in range(most - sold + 1)]
        return met + [(sold, lost, 0) for sold in sales for lost in range(1, demands - sold)]

    @property
    def memories(self) -> tuple[tuple[int, ...], ...]:
        """Every stock on hand with every sequence of orders under way, within the capacity."""
        memories: list[tuple[int, ...]] = [(stock,) for stock in range(self.capacity + 1)]
        orders = range(self.most_ordered + 1)
        for _ in range(self.lead_time - 1):
            longer = ((*memory, order) for memory in memories for order in orders)
            memories = [memory for memory in longer if sum(memory) <= self.capacity]
        return tuple(memories)

    def accepted(self, position: int, action: str) -> int:
        """Return how much an action orders, given the units on hand and on order."""
        return min(self.quantities[action], self.capacity - position)

    def following(self, memory: tuple[int, ...], action: str, sold: int) -> tuple[int, ...]:
        """Return the next memory."""
        arriving, *later = *memory[1:], self.accepted(sum(memory), action)
        return (memory[0] - sold + arriving, *later)

    def model(self) -> Model:
        """Return the environment, with nothing on hand and nothing on order."""
        return Model(self.actions, self.observations, (0,) * self.lead_time, self._rho)

    def _rho(
        self, memory: tuple[int, ...], action: str
    ) -> Iterator[tuple[tuple[int, int, int, int], float, tuple[int, ...]]]:
        for demand, probability in enumerate(self.demand):
            sold = min(demand, memory[0])
            left = memory[0] - sold
            following = self.following(memory, action, sold)
            yield (sold, demand - sold, left, following[0] - left), probability, following


def demand_law(mean: float, largest_stock: int) -> tuple[float, ...]:
    """Return the probabilities of demands 0, 1, ...: Poisson below some b, and then a tail with the same mean.

    Here b is ``largest_stock``, or a smaller demand that is exceeded with a probability of less than 1e-12.  The tail
    consists of b and one larger value.
    """
    chances = [math.exp(-mean)]
    while len(chances) <= max(largest_stock, mean) or chances[-1] > 0:
        chances.append(chances[-1] * mean / len(chances))
    first = largest_stock
    while first > 1 and math.fsum(chances[first:]) < RARE:
        first -= 1
    tail = math.fsum(chances[first:])
    excess = math.fsum(beyond * chance for beyond, chance in enumerate(chances[first:]))
    law = chances[:first]
    if excess == 0:
        return (*law, tail)
    steps = max(1, math.ceil(excess / tail))
    return (*law, tail - excess / steps, *[0.0] * (steps - 1), excess / steps)
