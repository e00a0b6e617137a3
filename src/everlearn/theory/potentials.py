"""Quadratic functions of the lengths of queues that bound what a network costs, found by linear programming.

Let V be quadratic in the lengths x, c(x) the holding cost, and A_a V (x) the sum over events of their rate times the
change of V, which is affine in x.  If g <= c + A_a V for all lengths and actions, no policy costs less than g; if
g >= c + A_pi V for all lengths and V is bounded below, the policy pi costs at most g.  Both are linear in V and g, so a
linear program finds the best V (Bertsimas, Paschalidis and Tsitsiklis, 1994; Kumar and Kumar, 1994).

- An affine function is at least g on all lengths that occur if its coefficients are at least 0 and it is at least g at
  the least of these lengths.  For the lower bound, the best of what a server can do is at least an affine function u of
  x, which is at most 0 (idle) and at most what the service of class k changes, wherever x_k >= 1.
- For the upper bound, the policy depends only on *levels*: min(x_k, m_k), where m_k is the number of servers of class
  k.  So there are finitely many affine functions.  Policies are orders of priority; the cost of fixed shares of the
  servers' time is known where each class has one server.

A quadratic function is not bounded, but the lower bound needs only that it may be cut off far away: multiply V by a
function of the number of jobs that is 1 up to a very large number and then falls to 0 as slowly as a small multiple of
a logarithm.  That changes A_a V by at most a small multiple of c, so the inequality remains true if the coefficients
are above 0; the programs' solutions are shrunk so that they are.  Both inequalities are checked after the program was
solved, so that its tolerance does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, permutations, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.network import Network
from everlearn.protocol import Table

MARGIN = 1e-6
"""By how much solutions are shrunk or stretched, which is more than a linear program's tolerance."""

ROUNDED = 1e-9
"""By how much what is computed may be wrong in floating-point numbers, relative to costs; the true error is smaller."""

STEEP = 1e3
"""A potential may have a slope at 0 of at most -``STEEP`` times its curvature, so that it is bounded below."""

MOST_LEVELS = 4_096
"""The most levels, all orders of priority together, for which programs are solved."""


class Potential(NamedTuple):
    """V(x) = ``weights`` times the products of two lengths and the lengths; ``cost`` is the bound that it proves."""

    weights: Table
    cost: float

    def __call__(self, lengths: NDArray[Any]) -> Table:
        """Return V at the lengths in the columns."""
        return np.asarray(self.weights @ _features(lengths))


def _features(lengths: NDArray[Any]) -> Table:
    first, second = np.triu_indices(len(lengths))
    return np.concatenate([lengths[first] * lengths[second], lengths])


def _changes(move: Table) -> Table:
    """Return by how much a move changes each feature: the coefficients of each length, and a constant."""
    points = np.column_stack([np.eye(len(move)), np.zeros(len(move))])
    after = _features(points + move[:, None]) - _features(points)
    after[:, :-1] -= after[:, -1:]
    return after.T


class _Moves:
    """The changes of all features by all moves of a network; coefficients of lengths, and then a constant."""

    def __init__(self, network: Network) -> None:
        n, joins = network.classes, np.vstack([np.eye(network.classes), np.zeros(network.classes)])
        self.cost = np.array([*network.holding, 0.0])
        self.arriving = sum(network.arrivals[k] * _changes(joins[k]) for k in range(n))
        ends = [n if to is None else to for to in network.routes]
        self.served = np.array([_changes(joins[ends[k]] - joins[k]) for k in range(n)])


def cost_at_least(network: Network) -> float:
    """Return a cost below which no policy is.

    Examples
    --------
    It is exact for the M/M/1 queue at half load.

    >>> round(cost_at_least(Network((0.5,), ((1.0,),), (None,), (1,))), 4)
    1.0

    """
    return max(0.0, (1 - ROUNDED) * _below(network, None, 0.0, np.zeros(network.classes)).cost)


def below(network: Network, jobs: int, cost: float) -> list[Potential]:
    """Return potentials that prove that no policy costs less than ``cost`` if there are always more than ``jobs`` jobs.

    Each is as large as possible in another direction.
    """
    directions = np.array(list(product((0.0, 1.0), repeat=network.classes)))[1:]
    potentials = [_below(network, jobs, cost, jobs * each / each.sum()) for each in directions]
    return [each for each in potentials if each.cost >= cost]


def _below(network: Network, jobs: int | None, cost: float, where: Table) -> Potential:
    """Maximise the cost that a potential proves; or, beyond a number of jobs, the potential at certain lengths."""
    from scipy.optimize import linprog

    n, moves, servers = network.classes, _Moves(network), len(network.services)
    size = moves.served.shape[2]
    rows, limits = [], []
    for s, classes in enumerate(network.skills):
        for k in classes:
            change = network.services[s][k] * moves.served[k]
            least = np.eye(n + 1)
            least[n, k] = 1.0  # the constant counts where class k has a job
            u = np.zeros((n + 1, servers, n + 1))
            u[:, s] = least
            rows.append(np.hstack([-least @ change, u.reshape(n + 1, -1)]))
            limits.append(np.zeros(n + 1))
    rest = np.hstack([moves.arriving, *[np.eye(n + 1)] * servers])
    rows.append(-rest[:n])
    limits.append(moves.cost[:n])
    goal = -rest[n]
    if jobs is not None:
        rows.append(-rest[:n] * (jobs + 1) - rest[n])
        limits.append(moves.cost[:n] * (jobs + 1) - (1 + MARGIN) * cost)
        goal = np.zeros(len(goal))
        goal[: size - n] = -_features(where)[:-n]
    bounds = [(None, None)] * size + [(None, 0.0)] * (servers * (n + 1))
    solved = linprog(goal, np.vstack(rows), np.concatenate(limits), bounds=bounds).x
    if solved is None:
        return Potential(np.zeros(size), -np.inf)
    weights = (1 - MARGIN) * solved[:size]
    proved = moves.cost + moves.arriving @ weights
    for s, classes in enumerate(network.skills):
        proved += _least(n, [(k, network.services[s][k] * moves.served[k] @ weights) for k in classes])
    if min(proved[:n]) <= ROUNDED:
        return Potential(weights, -np.inf)
    return Potential(weights, float(proved[n] if jobs is None else proved[n] + (jobs + 1) * proved[:n].min()))


def _least(n: int, options: list[tuple[int, Table]]) -> Table:
    """Return an affine function that is at most 0, and at most each option wherever its class has a job."""
    values = np.minimum(0.0, np.min([option for _, option in options], axis=0))
    values[n] = min(0.0, *(option[n] + option[k] - values[k] for k, option in options), 0.0)
    return np.asarray(values)


Policy = Callable[[tuple[int, ...]], list[float]]
"""From levels to the rate at which each class is served."""


def cost_at_most(network: Network, order: Potential | None = None) -> float:
    """Return what a known policy costs at most: an order of priority, or fixed shares; infinity if none is found.

    With fixed shares servers may idle while a job waits, so no agent of a task need attain this cost.  ``order`` is
    what ``best_order`` returned, if it is known.

    Examples
    --------
    >>> round(cost_at_most(Network((0.5,), ((1.0,),), (None,), (1,))), 4)
    1.0

    """
    return min((1 + ROUNDED) * shared_cost(network), (order or best_order(network)).cost)


def best_order(network: Network) -> Potential:
    """Return the potential that proves the least cost of an order of priority, whose servers never idle.

    The cost is infinite if none is found.

    Examples
    --------
    It is exact for two classes that share a server (c mu).

    >>> round(best_order(Network((0.3, 0.2), ((1.0, 0.6),), (None, None), (1, 3))).cost, 3)
    3.0

    """
    most = [len(servers) for servers in _servers(network)]
    number = MOST_LEVELS // prod(m + 1 for m in most)
    levels = list(product(*(range(m + 1) for m in most))) if number else []
    orders = product(*(permutations(_oldest_first(network, classes)) for classes in network.skills))
    potentials = [_above(network, levels, _priority(network, order)) for order in islice(orders, number)]
    return min(potentials, key=lambda each: each.cost, default=Potential(np.zeros(0), np.inf))


def shared_cost(network: Network) -> float:
    """Return the least cost of fixed shares of each server's time, if each class has one server; otherwise infinity.

    Each class is then an M/M/1 queue in a network of product form (Jackson, 1957), and the shares that exceed the load
    are proportional to the square root of h lambda / mu (Kleinrock, 1964).  A server idles in the share of a class
    that has no job, which the servers of a task never do; theirs may cost more.  A server whose load is not below 1 has
    no such shares: the cost is infinite.

    Examples
    --------
    >>> round(shared_cost(Network((0.3, 0.0), ((1.0, 0.0), (0.0, 1.0)), (1, None), (1, 1))), 4)
    0.8571

    """
    if any(len(servers) > 1 for servers in _servers(network)):
        return np.inf
    cost = 0.0
    for s, classes in enumerate(network.skills):
        loads = np.array([network.throughput[k] / network.services[s][k] for k in classes])
        if loads.sum() >= 1.0:
            return np.inf
        cost += np.sqrt(loads * [network.holding[k] for k in classes]).sum() ** 2 / (1.0 - loads.sum())
    return float(cost)


def _servers(network: Network) -> list[list[int]]:
    return [[s for s, classes in enumerate(network.skills) if k in classes] for k in range(network.classes)]


def _oldest_first(network: Network, classes: tuple[int, ...]) -> list[int]:
    return sorted(classes, key=lambda k: network.steps_left[k])


def _priority(network: Network, orders: tuple[tuple[int, ...], ...]) -> Policy:
    def rates(levels: tuple[int, ...]) -> list[float]:
        return network.work(levels, tuple(max(order, key=lambda k: levels[k] > 0) for order in orders))

    return rates


def _above(network: Network, levels: list[tuple[int, ...]], policy: Policy) -> Potential:
    """Return the potential that proves the least cost of a policy; infinity if there is none."""
    from scipy.optimize import linprog

    n, moves, most = network.classes, _Moves(network), levels[-1]
    size = moves.served.shape[2]
    corners, slopes, costs, holding = [], [], [], []
    for level in levels:
        change = moves.arriving + np.tensordot(policy(level), moves.served, 1)
        corner = np.array([*level, 1.0])
        corners.append(corner @ change)
        costs.append(corner @ moves.cost)
        free = [k for k in range(n) if level[k] == most[k]]
        slopes.append(change[free])
        holding.append(moves.cost[free])
    corner, cost, slope, held = np.array(corners), np.array(costs), np.vstack(slopes), np.concatenate(holding)
    squares = np.flatnonzero(np.equal(*np.triu_indices(n)))
    steep = np.zeros((n, size + 1))
    steep[range(n), squares], steep[range(n), range(size - n, size)] = -STEEP, -1.0
    rows = np.vstack([np.pad(slope, ((0, 0), (0, 1))), np.pad(corner, ((0, 0), (0, 1)), constant_values=-1.0), steep])
    limits = np.concatenate([-held, -cost, np.zeros(n)])
    bounds = [(0.0, None)] * (size - n) + [(None, None)] * (n + 1)
    solved = linprog(np.eye(size + 1)[size], rows, limits, bounds=bounds).x
    if solved is None:
        return Potential(np.zeros(size), np.inf)
    weights = (1 + MARGIN) * solved[:size]
    weights[: size - n] = np.maximum(weights[: size - n], 0.0)
    bounded = (weights[squares] > 0) | (weights[size - n :] >= 0)
    proved = bounded.all() and max(held + slope @ weights) <= -ROUNDED
    return Potential(weights, (1 + ROUNDED) * float((cost + corner @ weights).max()) if proved else np.inf)
