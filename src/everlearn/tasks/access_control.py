"""The access-control queue of Sutton and Barto (2018), Example 10.2: which customers to serve with a few servers.

At each step a customer stands at the head of a queue that never empties, with a priority drawn uniformly.  A customer
who is accepted while a server is free occupies it; any other is turned away.  Then each busy server becomes free with
probability ``free_probability``, independently, and the next customer is considered.

Interpretation.  The book does not say whether a server can become free at the step at which it was occupied: here it
can, as every busy server does "on each time step".  Accepting when no server is free is the same as rejecting.  And the
book does not say how the stream begins: here with all servers free and a customer of the lowest priority.

As a task: the aleatoric state is the last observation, which determines the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation
from everlearn.environments.model import Model
from everlearn.errors import require
from everlearn.tasks.portrait import Bars, Portrait
from everlearn.tasks.task import Task

ACCEPT, REJECT = "accept", "reject"
ACTIONS = (ACCEPT, REJECT)

MOST_SERVERS, MOST_PRIORITIES = 200, 16


@dataclass(frozen=True)
class AccessControl:
    """The constants of a queue, and its dynamics.

    A memory is (free servers, priority), where the priority is what the customer at the head pays.  It is observed.

    Examples
    --------
    >>> queue = AccessControl(servers=1, priorities=2, free_probability=0.25)
    >>> [(o.observation, o.probability) for o in queue.model().outcomes((1, 2), "accept")]
    [((0, 1), 0.375), ((0, 2), 0.375), ((1, 1), 0.125), ((1, 2), 0.125)]

    """

    servers: int = 10
    priorities: int = 4
    free_probability: float = 0.06

    def __post_init__(self) -> None:
        require(1 <= self.servers <= MOST_SERVERS, "servers", self.servers, f"give 1 to {MOST_SERVERS}")
        require(1 <= self.priorities <= MOST_PRIORITIES, "priorities", self.priorities, f"give 1 to {MOST_PRIORITIES}")
        free = self.free_probability
        require(0 < free <= 1, "free_probability", free, "give a probability in (0, 1]")

    @property
    def payments(self) -> tuple[int, ...]:
        """What a customer of each priority pays: 1, 2, 4, ..."""
        return tuple(2**level for level in range(self.priorities))

    @property
    def memories(self) -> tuple[tuple[int, int], ...]:
        """Every (free servers, priority)."""
        return tuple((free, payment) for free in range(self.servers + 1) for payment in self.payments)

    def model(self) -> Model:
        """Return the environment, with all servers free and a customer of the lowest priority."""
        return Model(ACTIONS, self.memories, (self.servers, 1), self._rho)

    def _rho(self, memory: tuple[int, int], action: str) -> Iterator[tuple[tuple[int, int], float, tuple[int, int]]]:
        free = memory[0] - int(occupies(memory, action))
        busy, p = self.servers - free, self.free_probability
        for freed in range(busy + 1):
            chance = math.comb(busy, freed) * p**freed * (1 - p) ** (busy - freed)
            for payment in self.payments:
                following = (free + freed, payment)
                yield following, chance / self.priorities, following


def occupies(memory: tuple[int, int], action: str) -> bool:
    """Return whether the customer at the head gets a server."""
    return action == ACCEPT and memory[0] > 0


def access_control(*, servers: int = 10, priorities: int = 4, free_probability: float = 0.06) -> Task:
    """Accept or reject customers who pay different prices: a busy server cannot take a higher-paying customer.

    With the numbers of the book the optimum is 2.747642 per step.  The book reports 2.31 after two million steps of
    differential semi-gradient Sarsa, which explored in one step of ten; its first edition, which has the same task as
    Example 6.7, reports 2.73 for R-learning.

    Parameters
    ----------
    servers:
        the number of servers
    priorities:
        the number of priorities; customers pay 1, 2, 4, ... by priority
    free_probability:
        the probability that a busy server becomes free at a step

    Examples
    --------
    >>> import everlearn as el
    >>> round(el.Theory(access_control()).optimal_average_reward, 6)
    2.747642

    """
    parameters = dict(locals())
    queue = AccessControl(servers, priorities, free_probability)
    model = queue.model()
    return Task(
        ACTIONS,
        model.observations,
        AleatoricState(model.memory, last_observation().update, model.observations),
        Reward(_payment, 0.0, float(max(queue.payments))),
        model,
        name="access-control",
        summary="accept customers or turn them away, with few servers",
        portrait=Portrait(
            "Take this customer, or keep the server free for one who pays more?",
            "{} free, the next pays {}",
            Bars(("free servers", "the next pays"), servers),
        ),
        source="Sutton and Barto (2018), Example 10.2",
        parameters=parameters,
    )


def _payment(head: tuple[int, int], action: str, _observation: tuple[int, int]) -> float:
    return float(head[1] if occupies(head, action) else 0)
