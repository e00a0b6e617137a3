"""Quadratic functions of the lengths of queues that bound what a network costs, found by linear programming.

Let V be quadratic in the lengths x, c(x) the holding cost, and A_a V (x) the sum over events of their rate times the
change of V, which is affine in x.  If g <= c + A_a V for all lengths and actions, no policy costs less than g; if
g >= c + A_pi V for all lengths and V is bounded below, the policy pi costs at most g.  Both are linear in V and g, so a
linear program finds the best V (Bertsimas, Paschalidis and Tsitsiklis, 1994; Kumar and Kumar, 1994).

- An affine function is at least g on all lengths that occur if its coefficients are at least 0 and it is at least g at
  the least of these lengths.  For the lower bound, the best of what a server can do is at least an affine function u of
  x, which is at most 0 (idle) and at most what the service of class k changes, wherever x_k >= 1.
- For the upper bound, the policy depends only on *levels*: min(x_k, m_k), where m_k is the number of servers of class k.
  So there are finitely many affine functions.  Policies are orders of priority, and fixed shares of the servers' time.

A quadratic function is not bounded, but the lower bound needs only that it may be cut off far away: multiply V by a
function of the number of jobs that is 1 up to a very large number and then falls to 0 as slowly as a small multiple of
a logarithm.  That changes A_a V by at most a small multiple of c, so the inequality remains true if the coefficients
are above 0; the programs' solutions are shrunk so that they are.  Both inequalities are checked after the program was
solved, so that its tolerance does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.network import Network
from everlearn.protocol import Table

MARGIN = 1e-6
"""By how much solutions are shrunk or stretched, which is more than a linear program's tolerance."""

STEEP = 1e3
"""A potential may have a slope at 0 of at most -``STEEP`` times its curvature, so that it is bounded below."""

MOST_LEVELS, MOST_ORDERS = 1_024, 64
"""The most levels that a policy may depend on, and the most orders of priority that are tried."""


class Potential(NamedTuple):
    """V(x) = ``weights`` times the products of two lengths and the lengths; ``cost`` is the bound that it proves."""

    weights: Table
    cost: float

    def __call__(self, lengths: Table) -> Table:
        """Return V at the lengths in the columns."""
        return np.asarray(self.weights @ _features(lengths))


def _features(lengths: Table) -> Table:
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


def cost_at_least(network: Network) -> Potential:
    """Return a potential and the cost below which no policy is.

    Examples
    --------
    It is exact for the M/M/1 queue at half load.

    >>> round(cost_at_least(Network((0.5,), ((1.0,),), (None,), (1,))).cost, 4)
    1.0

    """
    return _below(network, None, 0.0, np.zeros(network.classes))


def below(network: Network, jobs: int, cost: float) -> list[Potential]:
    """Return potentials that prove that no policy costs less than ``cost`` if there are always more than ``jobs`` jobs.

    Each is as large as possible in another direction.
    """
    directions = np.array(list(product((0.0, 1.0), repeat=network.classes)))[1:]
    found = [_below(network, jobs, cost, jobs * each / each.sum()) for each in directions]
    return [each for each in found if each.cost >= cost]


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
    if min(proved[:n]) <= 0:
        return Potential(weights, -np.inf)
    return Potential(weights, float(proved[n] if jobs is None else proved[n] + (jobs + 1) * proved[:n].min()))


def _least(n: int, options: list[tuple[int, Table]]) -> Table:
    """Return an affine function that is at most 0, and at most each option wherever its class has a job."""
    found = np.minimum(0.0, np.min([option for _, option in options], axis=0))
    found[n] = min(0.0, *(option[n] + option[k] - found[k] for k, option in options), 0.0)
    return np.asarray(found)


Policy = Callable[[tuple[int, ...]], list[float]]
"""From levels to the rate at which each class is served."""


def cost_at_most(network: Network) -> Potential | None:
    """Return a potential and the cost of a policy, if a program finds one."""
    found = [_above(network, policy, None, 0.0) for policy in _policies(network)]
    return min((each for each in found if each is not None), key=lambda each: each.cost, default=None)


def above(network: Network, jobs: int, cost: float) -> Potential | None:
    """Return a potential that proves that a policy costs at most ``cost`` if there are always more than ``jobs`` jobs.

    Of all policies, take that with the least potential.
    """
    found = [_above(network, policy, jobs, cost) for policy in _policies(network)]
    where = jobs * np.vstack([np.eye(network.classes), np.full(network.classes, 1 / network.classes)]).T
    return min((each for each in found if each is not None), key=lambda each: float(each(where).sum()), default=None)


def _policies(network: Network) -> Iterator[Policy]:
    """Yield fixed shares, and orders of priority."""
    for orders in islice(product(*(permutations(classes) for classes in network.skills)), MOST_ORDERS):
        def rates(levels: tuple[int, ...], orders: tuple[tuple[int, ...], ...] = orders) -> list[float]:
            return network.work(levels, tuple(max(order, key=lambda k: levels[k] > 0) for order in orders))
        yield rates


def _levels(network: Network) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    most = tuple(sum(k in classes for classes in network.skills) for k in range(network.classes))
    return most, list(product(*(range(m + 1) for m in most)))


def _above(network: Network, policy: Policy, jobs: int | None, cost: float) -> Potential | None:
    from scipy.optimize import linprog

    n, moves = network.classes, _Moves(network)
    size = moves.served.shape[2]
    most, levels = _levels(network)
    corners, changes, costs, flat = [], [], [], []
    for level in levels:
        change = moves.arriving + np.tensordot(policy(level), moves.served, 1)
        free = [k for k in range(n) if level[k] == most[k]]
        if jobs is None:
            points = [np.array([*level, 1.0])]
        else:
            points = [np.array([*level, 1.0]) + np.eye(n + 1)[k] * max(jobs + 1 - sum(level), 0) for k in free]
        for p in points:
            changes.append(p @ change)
            costs.append(p @ moves.cost)
        for k in free:
            flat.append((change[k], moves.cost[k]))
    F, fc = np.array([a for a, _ in flat]), np.array([c for _, c in flat])
    C, cc = np.array(changes), np.array(costs)
    first, second = np.triu_indices(n)
    bounds_below = np.zeros((n, size + 1))
    for k in range(n):
        bounds_below[k, np.flatnonzero((first == k) & (second == k))[0]] = -STEEP
        bounds_below[k, len(first) + k] = -1.0
    one = np.ones((len(C), 1))
    rows = np.vstack([np.hstack([F, np.zeros((len(F), 1))]), np.hstack([C, -one]), bounds_below])
    limits = np.concatenate([-fc, -cc, np.zeros(n)])
    bounds = [(0.0, None)] * len(first) + [(None, None)] * n
    if jobs is None:
        goal, bounds = np.eye(size + 1)[size], [*bounds, (None, None)]
    else:
        where = jobs * np.vstack([np.eye(n), np.full(n, 1 / n)]).T
        goal, bounds = np.append(_features(where).sum(axis=1), 0.0), [*bounds, ((1 - MARGIN) * cost,) * 2]
    solved = linprog(goal, rows, limits, bounds=bounds).x
    if solved is None:
        return None
    weights = (1 + MARGIN) * solved[:size]
    if max(fc + F @ weights) > 0:
        return None
    return Potential(weights, float((cc + C @ weights).max()))
