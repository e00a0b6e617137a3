"""The queueing network as a task: the aleatoric state keeps the lengths of the queues, the reward is profit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from everlearn.environments.queueing_network import EACH, FAST, PARALLEL, SLOW, TANDEM, QueueingNetwork
from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.tasks.arrays import mdp
from everlearn.tasks.portrait import Bars, Portrait
from everlearn.tasks.task import MOST_PAID, Task, check_amount


def queueing_network(
    *,
    queues: int = 2,
    capacity: int = 3,
    servers: int = 1,
    topology: str = PARALLEL,
    control: str = EACH,
    window: int = 3,
    patience: int | None = None,
    see_reputation: bool = False,
    revenue: float = 1.0,
    fast_cost: float = 1.5,
    slow_cost: float = 0.0,
    arrival_floor: float = 0.2,
    arrival_height: float = 1.8,
    slow_rate: float = 1.0,
    fast_rate: float = 4.0,
) -> Task:
    """Run the servers of several queues fast at a cost, or slowly and lose customers and reputation.

    Parameters
    ----------
    queues:
        the number of queues
    capacity:
        the number of customers that fit into each queue
    servers:
        the number of customers that each queue can serve at once
    topology:
        ``parallel``, where customers choose a queue at random, or ``tandem``, where they pass through all
    control:
        ``each``: an action is a mode for each queue, 2 to the power of ``queues`` in all; ``all``: one for the network
    window:
        how many customers in a row must find a short queue to restore the reputation; 0: arrivals never slow down
    patience:
        how many others in a queue are too many for an arriving customer; by default only a full queue is
    see_reputation:
        whether the aleatoric state keeps the level of the reputation too, which makes it the whole memory
    revenue:
        what a customer pays on admission
    fast_cost:
        the cost of a busy server per unit of time if it works fast
    slow_cost:
        the cost of a busy server per unit of time if it works slowly
    arrival_floor:
        the rate of arrivals if the reputation is at its lowest
    arrival_height:
        customers arrive at the rate floor + height level / window, where level is that of the reputation
    slow_rate:
        the rate at which a server completes slow services
    fast_rate:
        the rate at which a server completes fast services

    Notes
    -----
    Rates are in events per unit of time.  A unit of time has as many steps as the largest sum of all rates; averages
    are per step, and that many times larger per unit of time.

    Examples
    --------
    The queue is empty for 2/3 of the time if always fast, for 1/3 if always slow; 1/3 of the steps bring an arrival.

    >>> task = queueing_network(queues=1, capacity=1, window=0)
    >>> {name: round(value, 6) for name, value in task.references.items()}
    {'always fast': 0.138889, 'always slow': 0.111111}
    >>> queueing_network().actions, len(queueing_network().states)
    (('slow-slow', 'slow-fast', 'fast-slow', 'fast-fast'), 16)

    """
    parameters = dict(locals())
    network = QueueingNetwork(
        queues,
        capacity,
        servers,
        topology,
        control,
        window,
        patience,
        arrival_floor,
        arrival_height,
        slow_rate,
        fast_rate,
    )
    check_amount("revenue", revenue, positive=True)
    costs = {FAST: fast_cost / network.clock, SLOW: slow_cost / network.clock}
    for name, given, cost in (("fast_cost", fast_cost, costs[FAST]), ("slow_cost", slow_cost, costs[SLOW])):
        remedy = f"give a number of at least 0, for all servers in a step at most {MOST_PAID:g}"
        require(given >= 0 and queues * servers * cost <= MOST_PAID, name, given, remedy)
    matrices = [network.transitions(action) for action in range(len(network.actions))]
    seen = network.parts if see_reputation else network.lengths
    task = mdp(
        matrices,
        [_profit(network, matrix, mode, revenue, costs) for matrix, mode in zip(matrices, network.modes, strict=True)],
        actions=network.actions,
        aggregate=list(map(tuple, seen.T.tolist())),
        start=window,
        reward_range=(-queues * servers * max(costs.values()), revenue),
        name="queueing-network",
        source="Dong, Van Roy and Zhou (2022), Section 1.4; uniformised as in Lippman (1975) and Serfozo (1979)",
    )
    return replace(
        task,
        summary="run the servers of several queues fast at a cost, or slowly and lose customers",
        portrait=Portrait(
            "Run every server fast and pay for it, or slowly and lose customers.",
            f"{', '.join(['{}'] * queues)} waiting",
            Bars(tuple(f"queue {k + 1}" for k in range(queues)), capacity),
            preset={"task.window": "0"},
        ),
        parameters=parameters,
        references=_references(network, revenue, costs),
    )


def _profit(
    network: QueueingNetwork, matrix: Any, modes: tuple[str, ...], revenue: float, costs: dict[str, float]
) -> Any:
    """Return the reward of every transition under an action: customers pay on admission, and busy servers cost."""
    from scipy.sparse import csr_array

    customers, at_work = network.lengths.sum(axis=0), network.busy
    cost = sum(costs[mode] * at_work[queue] for queue, mode in enumerate(modes))
    origin = np.repeat(np.arange(network.memories), np.diff(matrix.indptr))
    admitted = customers[matrix.indices] > customers[origin]
    return csr_array((revenue * admitted - np.asarray(cost)[origin], matrix.indices, matrix.indptr), shape=matrix.shape)


def _references(network: QueueingNetwork, revenue: float, costs: dict[str, float]) -> dict[str, float]:
    """Return the averages that are known in closed form: those of independent queues with a constant arrival rate."""
    if (network.window and network.height) or (network.topology == TANDEM and network.queues > 1):
        return {}
    return {f"always {mode}": birth_death_average(network, mode, revenue, costs[mode]) for mode in (FAST, SLOW)}


def birth_death_average(network: QueueingNetwork, mode: str, revenue: float, cost: float) -> float:
    """Return the exact average reward of queues in parallel in one mode, without reputation.

    Each is a birth and death chain, M/M/s/K: the weight of a length n is that of n - 1 times the ratio of the arrival
    rate to the rate of departures from n.  Uniformisation does not change the stationary distribution.
    """
    arrival = (network.floor + network.height) / network.queues
    rate = network.fast_rate if mode == FAST else network.slow_rate
    at_work = np.minimum(np.arange(network.capacity + 1), network.servers)
    weights: Table = np.cumprod(np.append(1.0, arrival / (rate * at_work[1:])))
    share = weights / weights.sum()
    each = revenue * arrival / network.clock * (1 - share[-1]) - cost * float(share @ at_work)
    return float(network.queues * each)
