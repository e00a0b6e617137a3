"""The least average cost of a network of unbounded queues, between certified bounds.

Let c(x) be the holding cost of the lengths x, and A_a V (x) the sum over events of their rate times the change of V.

- If V is bounded and g <= c(x) + A_a V (x) for *all* lengths x and actions a, no policy costs less than g: add up along
  the stream, and V cancels.
- If V is bounded below and g >= c(x) + A_pi V (x) for all x, the policy pi costs at most g.

V is computed on a grid, 0 <= x_k <= N_k, and continued to all lengths, so that both inequalities hold everywhere:

- For the lower bound, V(x) = V(min(x, N)).  Outside, c is larger than at min(x, N), and every event changes V as one of
  two events there does: a class with N_k jobs or more may keep N_k after a service, or not.  The cheaper one counts.
- For the upper bound, V is the minimum of the values on the grid and of E(x) = K + sum of q_k x_k (x_k + 1) / 2, which
  alone counts outside.  Let servers divide their time in fixed shares, such that class k is served faster, by s_k > 0,
  than jobs join it, and let q_k = m h_k / s_k.  Then c + A E <= (1 - m) c + m C for a constant C, which is at most g
  wherever c is large; m is such that this includes all lengths outside the grid.  K is such that E is not less than the
  values on the grid where c is small.  The policy is greedy where the minimum is that of the grid, and elsewhere it
  divides its time in those shares: the minimum of two such functions is one, since A_pi V is smaller for it.

So no arrival is lost, and nothing is assumed at the boundary: it counts too little for the lower bound and too much for
the upper one, and both as seldom as it is reached.  The lower bound is over all policies: servers may idle, and
may use the whole history.  Rounding errors are included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.network import Network
from everlearn.errors import require
from everlearn.protocol import Table

MOST_POINTS = 20_000_000
"""The largest grid."""

SWEEPS, LOOKED = 20_000, 50
"""The most sweeps of value iteration, and after how many the residuals are looked at."""

FAR, POINTS = 1e-12, 150_000
"""A default grid reaches lengths that are about so unlikely, but has at most so many points."""

ROUNDING = 16 * np.finfo(float).eps
"""A bound on the relative error of a residual, which adds about ten products."""


class NetworkOptimum(NamedTuple):
    """The optimal average reward of a network, minus its least average cost, between certified bounds."""

    lower: float
    """A known policy earns at least this."""
    upper: float
    """No policy earns more than this."""
    values: Table
    """V of the upper bound on the cost, on the grid."""

    @property
    def average_reward(self) -> float:
        """The middle of the bounds."""
        return 0.5 * (self.lower + self.upper)

    @property
    def certified(self) -> bool:
        """Whether the bounds are closer than 0.01 percent."""
        return bool(self.upper - self.lower <= 1e-4 * abs(self.lower))

    def __repr__(self) -> str:
        """Return one line: the bounds, as costs."""
        grid = " x ".join(str(size) for size in self.values.shape)
        return f"NetworkOptimum(average cost from {-self.upper:.7g} to {-self.lower:.7g}, on a grid of {grid})"


class Options(NamedTuple):
    """What servers can do, in arrays: groups of options, of which one is taken each; an option is a list of slots.

    A slot is a server that serves a class, if that class has at least ``needs`` jobs.  If each class has one server, a
    group is a server; otherwise a single group has all combinations.
    """

    groups: NDArray[np.int64]
    options: NDArray[np.int64]
    classes: NDArray[np.int64]
    rates: Table
    needs: NDArray[np.int64]


class Beyond(NamedTuple):
    """E, which continues V outside the grid: K and q; and C, such that c + A E <= (1 - m) c + m C."""

    K: float
    q: Table
    m: float
    C: float


def default_grid(network: Network) -> tuple[int, ...]:
    """Return a grid that takes seconds: as large in each class as the load of its servers needs, or as points allow.

    Examples
    --------
    >>> default_grid(Network((0.3, 0, 0.3), ((2, 0, 2), (0, 1.5, 0)), (1, None, None), (1, 1, 1)))
    (23, 18, 23)

    """
    lengths = []
    for k in range(network.classes):
        s, *others = (s for s, classes in enumerate(network.skills) if k in classes)
        busy = sum(network.throughput[j] / network.services[s][j] for j in network.skills[s])
        lengths.append(np.log(FAR) / np.log(network.load if others else max(busy, 0.01)))
    shrunk = min(1.0, (POINTS / float(np.prod(np.array(lengths) + 1))) ** (1 / network.classes))
    return tuple(max(int(np.ceil(shrunk * length)), len(network.services)) for length in lengths)


def network_optimum(network: Network, grid: tuple[int, ...] | None = None, tolerance: float = 1e-7) -> NetworkOptimum:
    """Return the optimum of a network, from a grid that has up to ``grid[k]`` jobs of class k.

    The bounds are certified for every grid and tolerance; a larger grid brings them closer.

    Examples
    --------
    The M/M/1 queue at half load has one job on average.

    >>> queue = Network((0.5,), ((1.0,),), (None,), (1,))
    >>> network_optimum(queue, (60,))
    NetworkOptimum(average cost from 1 to 1, on a grid of 61)

    """
    require(network.load < 1, "load of the network", network.load, "is not stable; give lower arrival rates")
    grid = default_grid(network) if grid is None else tuple(grid)
    fine = len(grid) == network.classes and min(grid) >= len(network.services)
    remedy = f"give {network.classes} whole numbers, each at least the number of servers, {len(network.services)}"
    require(fine, "grid", grid, remedy)
    size = int(np.prod([length + 1.0 for length in grid]))
    require(size <= MOST_POINTS, "grid", grid, f"has {size:,} points; give one with at most {MOST_POINTS:,}")
    beyond = _beyond(network, grid)
    problem = _Problem(network, grid)
    least = problem.solve(np.zeros(size), None, tolerance)
    values, most = problem.values.copy(), np.inf
    while True:
        most = problem.solve(values, beyond, tolerance)
        short = problem.shortfall(beyond, most)
        if short <= 0:
            return NetworkOptimum(-most, -least, problem.values.reshape(problem.sizes))
        beyond = beyond._replace(K=beyond.K + short + 1.0)


class _Problem:
    """A network on a grid, and the values of the last solution."""

    def __init__(self, network: Network, grid: tuple[int, ...]) -> None:
        self.network = network
        self.sizes = np.array(grid) + 1
        self.strides = np.array([int(np.prod(self.sizes[k + 1 :])) for k in range(len(grid))])
        self.arrivals, self.holding = np.array(network.arrivals, dtype=float), np.array(network.holding, dtype=float)
        routes = np.array([-1 if to is None else to for to in network.routes])
        self.constants = self.sizes, self.strides, self.arrivals, routes, self.holding, *_options(network)
        self.values = np.zeros(0)

    def solve(self, values: Table, beyond: Beyond | None, tolerance: float) -> float:
        """Find values by value iteration, in place and without loops; return a lower bound, or with E an upper bound.

        A bound holds for any values; the iteration stops when it is close to the estimate of g at the empty network.
        """
        sweep, self.values = _compiled(_sweep), values
        end = (0.0, np.zeros(len(self.sizes)), True) if beyond is None else (beyond.K, beyond.q, False)
        entered, bound = self.arrivals > 0, 0.0
        for count in range(1, SWEEPS + 1):
            gain = float(self.arrivals[entered] @ (values[self.strides[entered]] - values[0]))
            sweep(values, *self.constants, *end, gain, True)
            if count % LOOKED == 0:
                values -= values[0]
                residuals = sweep(values, *self.constants, *end, gain, False)
                bound = residuals[0] if beyond is None else residuals[1]
                if abs(bound - gain) <= tolerance * max(1.0, gain):
                    break
        largest = float(np.abs(values).max()) if beyond is None else beyond.K + float(beyond.q @ self.sizes**2)
        rounding = ROUNDING * self.network.clock * largest
        return bound - rounding if beyond is None else bound + rounding

    def shortfall(self, beyond: Beyond, gain: float) -> float:
        """Return by how much E is less than the values where c + A E may be more than g."""
        axes = np.ogrid[tuple(slice(size) for size in self.sizes)]
        cost = sum(h * x for h, x in zip(self.holding, axes, strict=True))
        E = beyond.K + sum(0.5 * q * x * (x + 1.0) for q, x in zip(beyond.q, axes, strict=True))
        near = (beyond.m - 1) * cost < beyond.m * beyond.C - gain
        return float(np.where(near, self.values.reshape(self.sizes) - E, -np.inf).max())


def _beyond(network: Network, grid: tuple[int, ...]) -> Beyond:
    """Return E, with K = 0: find the shares that maximise the least s_k, and then m."""
    from scipy.optimize import linprog

    n, arrivals = network.classes, np.array(network.arrivals, dtype=float)
    pairs = [(s, k) for s, classes in enumerate(network.skills) for k in classes]
    rates = np.array([network.services[s][k] for s, k in pairs])
    leave = np.array([[float(k == c) for _, k in pairs] for c in range(n)]) * rates
    join = np.array([[float(network.routes[k] == c) for _, k in pairs] for c in range(n)]) * rates
    time = np.array([[float(s == t) for s, _ in pairs] + [0.0] for t in range(len(network.services))])
    table = np.vstack([np.column_stack([join - leave, np.ones(n)]), time])
    goal, limits = [0.0] * len(pairs) + [-1.0], np.concatenate([-arrivals, np.ones(len(time))])
    shares = linprog(goal, table, limits).x[:-1]
    entering, served = arrivals + join @ shares, leave @ shares
    h_by_s = np.array(network.holding) / (served - entering)
    servers = np.array([sum(k == c for _, k in pairs) for c in range(n)])
    C = float(h_by_s @ (entering + served * (servers - 1)))  # fewer jobs than servers are served more slowly
    least = min(h * (N + 1) for h, N in zip(network.holding, grid, strict=True))
    require(least > C, "grid", grid, f"is too small for a bound; its costs must exceed {C:.4g} in every direction")
    m = 1.000001 * least / (least - C)
    return Beyond(0.0, m * h_by_s * (1 + 1e-9), m, C)


def _options(network: Network) -> Options:
    """Return what servers can do, idling included."""
    if all(sum(k in classes for classes in network.skills) == 1 for k in range(network.classes)):
        groups = [[[(k, network.services[s][k], 1)] for k in classes] for s, classes in enumerate(network.skills)]
    else:
        groups = [[_slots(network, choice) for choice in product(*((*each, None) for each in network.skills))]]
    options = [option for group in groups for option in group]
    slots = [slot for option in options for slot in option]
    return Options(
        np.cumsum([0, *(len(group) for group in groups)]),
        np.cumsum([0, *(len(option) for option in options)]),
        np.array([slot[0] for slot in slots]),
        np.array([slot[1] for slot in slots], dtype=float),
        np.array([slot[2] for slot in slots]),
    )


def _slots(network: Network, choice: tuple[int | None, ...]) -> list[tuple[int, float, int]]:
    """Return the servers that work under a choice; if there are more than jobs of a class, the fastest work."""
    slots = []
    for k in range(network.classes):
        rates = sorted((network.services[s][k] for s, chosen in enumerate(choice) if chosen == k), reverse=True)
        slots += [(k, rate, need) for need, rate in enumerate(rates, 1)]
    return slots


@lru_cache(maxsize=2)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba

    return numba.njit(error_model="numpy")(function)  # type: ignore[no-any-return]


def _sweep(  # type: ignore[no-untyped-def]  # noqa: C901
    V, sizes, strides, arrivals, routes, holding, groups, options, classes, rates, needs, K, q, lower, gain, update
):
    """Return the least and the greatest c + A V over the grid; with ``update``, solve for V at each point in turn."""
    n = len(sizes)
    y, change = np.zeros(n, np.int64), np.zeros(n)
    low, high = np.inf, -np.inf
    for i in range(V.size):
        v, total, leaving = V[i], 0.0, 0.0
        full = False
        for k in range(n):
            total += holding[k] * y[k]
            full |= y[k] == sizes[k] - 1
        E = K
        if full and not lower:
            for k in range(n):
                E += 0.5 * q[k] * y[k] * (y[k] + 1)
        for k in range(n):
            if arrivals[k] > 0.0:
                if y[k] < sizes[k] - 1:
                    total += arrivals[k] * (V[i + strides[k]] - v)
                    leaving += arrivals[k]
                elif not lower:
                    total += arrivals[k] * (E + q[k] * (y[k] + 1) - v)
                    leaving += arrivals[k]
            if y[k] > 0:
                j = routes[k]
                place = i - strides[k]
                if j < 0:
                    change[k] = V[place] - v
                elif y[j] < sizes[j] - 1:
                    change[k] = V[place + strides[j]] - v
                elif lower:
                    change[k] = V[place] - v
                else:
                    change[k] = E - q[k] * y[k] + q[j] * (y[j] + 1) - v
                if lower and y[k] == sizes[k] - 1:  # it stands for more jobs too, of which one may be served
                    kept = 0.0 if j < 0 or y[j] == sizes[j] - 1 else V[i + strides[j]] - v
                    change[k] = min(change[k], kept)
        for group in range(len(groups) - 1):
            best, pace = 0.0, 0.0
            for option in range(groups[group], groups[group + 1]):
                value, rate = 0.0, 0.0
                for slot in range(options[option], options[option + 1]):
                    k = classes[slot]
                    if y[k] >= needs[slot]:
                        value += rates[slot] * change[k]
                        rate += rates[slot]
                if value < best:
                    best, pace = value, rate
            total += best
            leaving += pace
        low, high = min(low, total), max(high, total)
        if update and leaving > 0.0:
            V[i] = v + (total - gain) / leaving
        k = n - 1
        while k >= 0:
            y[k] += 1
            if y[k] < sizes[k]:
                break
            y[k] = 0
            k -= 1
    return low, high
