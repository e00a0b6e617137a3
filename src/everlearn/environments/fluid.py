"""The fluid policy of a network of queues: serve as if jobs were a fluid that drains at the rates of the services.

Without randomness, the cheapest way to drain a network from given lengths is a linear program in continuous time (Chen
and Yao, 1993).  Here time has ``INTERVALS`` intervals, each longer than the one before.  A server prefers the class to
which the program gives most of its time in the first interval, which is short.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from everlearn.errors import require
from everlearn.protocol import Table

if TYPE_CHECKING:
    from everlearn.environments.network import Lengths, Network

INTERVALS, GROWTH = 12, 1.6
"""The number of intervals, and how many times as long as the one before each is."""

LEVELS = 10
"""Longer lengths are rounded, so that the longest has this many levels: only their ratios matter."""

TIE = 1e-3
"""What time at work is worth, relative to the slowest service, to decide between ways that cost the same; it is up to
twice as much for what comes first in the order of servers and classes, so that the solver does not decide."""

DECIMALS = 6
"""Shares are rounded to so many decimals, since the last digits depend on the solver."""


def fluid_share(network: Network, lengths: Lengths, s: int, k: int) -> float:
    """Return the share of its time that a server gives to a class.

    Examples
    --------
    Jobs of the third class leave.  Those of the first join the second, whose server is idle if it is empty:

    >>> from everlearn.environments.network import Network
    >>> criss_cross = Network((0.6, 0, 0.6), ((2, 0, 2), (0, 1.5, 0)), (1, None, None), (1, 1, 1))
    >>> fluid_share(criss_cross, (9, 9, 9), 0, 2), fluid_share(criss_cross, (9, 0, 9), 0, 0)
    (1.0, 0.75)

    """
    longest = max(lengths)
    if longest > LEVELS:
        lengths = tuple(round(LEVELS * x / longest) for x in lengths)
    return float(_first_shares(network, lengths)[s, k])


@lru_cache(maxsize=100_000)
def _first_shares(network: Network, lengths: Lengths) -> Table:
    """Return the shares of all servers in the first interval."""
    from scipy.optimize import linprog

    n, pairs = network.classes, [(s, k) for s, classes in enumerate(network.skills) for k in classes]
    shares = np.zeros((len(network.services), n))
    if not any(lengths):
        return shares
    remedy = "the fluid never drains; give another rule, such as max-pressure, or a network with a load below 1"
    require(network.load < 1, "load", network.load, remedy)
    slowest = min(network.services[s][k] for s, k in pairs)
    growth = GROWTH ** np.arange(INTERVALS)
    durations = growth / growth.sum() * sum(lengths) * n / slowest / (1 - network.load)  # enough to drain everything
    drained = np.zeros((n, len(pairs)))
    for column, (s, k) in enumerate(pairs):
        drained[k, column] += network.services[s][k]
        if (to := network.routes[k]) is not None:
            drained[to, column] -= network.services[s][k]
    # Variables: the time of each pair in each interval.  Lengths after interval i: x + arrivals - drained, at least 0.
    until = np.tril(np.ones((INTERVALS, INTERVALS)))
    arrived = np.outer(until @ durations, network.arrivals) + np.array(lengths, dtype=float)
    working = np.array([[float(s == t) for s, _ in pairs] for t in range(len(network.services))])
    table = np.vstack([np.kron(until, drained), np.kron(np.eye(INTERVALS), working)])
    limits = np.concatenate([arrived.ravel(), np.repeat(durations, len(network.services))])
    weights = 0.5 * (durations + np.append(durations[1:], 0.0))  # of the lengths at the end of each interval
    first = 2.0 - np.arange(len(pairs)) / len(pairs)
    worth = np.array(network.holding, dtype=float) @ drained + TIE * slowest * first
    value = np.kron(until.T @ weights, worth)
    rates = linprog(-value, table, limits).x[: len(pairs)] / durations[0]
    for column, (s, k) in enumerate(pairs):
        shares[s, k] = round(rates[column], DECIMALS)
    return shares
