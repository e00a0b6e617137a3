"""The least average cost of a network of unbounded queues, between certified bounds.

Let c(x) be the holding cost of the lengths x, and A_a V (x) the sum over events of their rate times the change of V.

- If V is bounded and g <= c(x) + A_a V (x) for *all* lengths x and actions a, no policy costs less than g: add up along
  the stream, and V cancels.
- If V is bounded below and g >= c(x) + A_pi V (x) for all x, the policy pi costs at most g.

V is computed by value iteration for all lengths with at most N jobs in total, the *grid*, where the inequalities are
checked at each point.  Outside, V is a quadratic function of the lengths, a *potential*, of which they are proved:

- For the lower bound, V is the greatest of several potentials outside (:mod:`everlearn.theory.potentials`), each less a
  constant, such that none is above the values at the *edge* of the grid, where there are N jobs.  The greatest of
  several such functions is one, since A_a V is larger for it.  So V grows outside like the cost to come, and it does
  not pay to let queues grow until they leave the grid.
- For the upper bound, V is E(x) = K + sum of q_k x_k (x_k + 1) / 2 outside.  Let servers divide their time in fixed
  shares, such that class k is served faster, by s_k > 0, than jobs join it, and let q_k = m h_k / s_k.  Then
  c + A E <= (1 - m) c + m C for a constant C, and m is such that this is at most 0 for more than N jobs.  K is such
  that E is not below the values at the edge.  The policy is greedy on the grid; outside, its servers divide their time
  in those shares.

The constants are moved until potentials and values nearly meet at the edge.  So no arrival is lost, and nothing is
assumed at the boundary: what is outside costs too little for the lower bound and too much for the upper one, and both
count as seldom as it is reached.  Rounding errors are included.

Both bounds are over policies that may use the whole history and may also let servers idle.  The servers of a task never
idle while a job waits for them.  So no agent need attain the upper bound on the cost, although a known policy does.  A
third number is for the servers of a task: what a known policy costs at most that never lets them idle.  On the grid,
value iteration leaves out idling; outside, V belongs to an order of priority, of which a potential proves that it costs
at most C.  That potential is enlarged until c + A V <= 0 for more than N jobs, as E is.

If a grid would be too large, the bounds are those of potentials alone, and much wider.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from math import comb, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.network import Network
from everlearn.errors import InputError, require
from everlearn.protocol import Table
from everlearn.registry import whole
from everlearn.theory.potentials import MARGIN, Potential, below, best_order, cost_at_least, cost_at_most

MOST_POINTS = 20_000_000
"""The most numbers that are stored for a grid, (N + 2) to the power of the number of classes."""

SWEEPS, LOOKED = 20_000, 50
"""The most sweeps of value iteration, and after how many the residuals are looked at."""

SETTLED = 1e-4
"""The potentials outside the grid are moved towards the values at its edge until bounds change by a smaller part."""

MOST_MOVES = 40
"""After how many moves no better ones are tried."""

LAST_MOVE = 200
"""After how many moves there is no bound; the most that was needed so far is 40."""

CLEAR = 1e-3
"""How far potentials that crossed those values are moved back, relative to the largest value."""

FAR, POINTS = 1e-12, 50_000
"""A default grid reaches lengths that are about so unlikely, but has at most so many points."""

ROUNDING = 64 * np.finfo(float).eps
"""A bound on the relative error of a residual, which adds about ten products."""


class NetworkOptimum(NamedTuple):
    """The optimal average reward of a network, minus its least average cost, between certified bounds."""

    lower: float
    """A known policy earns at least this; it may let servers idle, so no agent of a task need attain it."""
    upper: float
    """No policy earns more than this."""
    working: float
    """A known policy earns at least this whose servers never idle, as those of a task; -inf if none is known."""
    values: Table
    """V of the upper bound on the cost that the grid proves, by the number of jobs of each class; zero off the grid."""

    @property
    def average_reward(self) -> float:
        """The middle of the bounds."""
        return 0.5 * (self.lower + self.upper)

    @property
    def certified(self) -> bool:
        """Whether the bounds are closer than 0.01 percent."""
        return bool(self.upper - self.lower <= 1e-4 * abs(self.lower))

    @property
    def source(self) -> str:
        """Where the bounds are from, in words."""
        jobs = self.values.shape[0] - 1
        return f"on a grid of {jobs} jobs" if jobs else "from quadratic functions"

    def __repr__(self) -> str:
        return f"NetworkOptimum(average cost from {-self.upper:.7g} to {-self.lower:.7g}, {self.source})"


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


def default_jobs(network: Network) -> int:
    """Return the size of a grid that takes seconds: as large as the load needs, or as the number of points allows.

    Examples
    --------
    >>> default_jobs(Network((0.3, 0, 0.3), ((2, 0, 2), (0, 1.5, 0)), (1, None, None), (1, 1, 1)))
    23

    """
    jobs = int(np.ceil(np.log(FAR) / np.log(max(network.load, 0.01))))
    while jobs > 1 and comb(jobs + network.classes, jobs) > POINTS:
        jobs -= 1
    return jobs


def network_optimum(network: Network, jobs: int | None = None, tolerance: float = 1e-7) -> NetworkOptimum:
    """Return the optimum of a network, from a grid of all lengths with at most ``jobs`` jobs in total.

    The bounds are certified for every grid and tolerance; a larger grid brings them closer.  They are over policies
    that may also let servers idle.  Without ``jobs``, bounds from potentials alone are returned if the default grid is
    too small for a bound, or would need too many points.

    Examples
    --------
    The M/M/1 queue at half load has one job on average.

    >>> queue = Network((0.5,), ((1.0,),), (None,), (1,))
    >>> network_optimum(queue, 60)
    NetworkOptimum(average cost from 1 to 1, on a grid of 60 jobs)

    """
    require(isinstance(network, Network), "network", network, "give an el.Network; that of a task is task.network")
    require(network.load < 1, "load of the network", network.load, "is not stable; give lower arrival rates")
    jobs = None if jobs is None else whole(jobs, "jobs", least=1)
    require(
        type(tolerance) in (int, float) and 0 < tolerance < inf,
        "tolerance",
        tolerance,
        "give a positive number, such as 1e-6",
    )
    given, jobs = jobs is not None, default_jobs(network) if jobs is None else jobs
    size = (jobs + 2.0) ** network.classes
    order = best_order(network)
    if not given and (jobs < _needed(network) or size > MOST_POINTS):
        return _without_grid(network, order)
    require(jobs >= 1 and size <= MOST_POINTS, "jobs", jobs, f"give 1 or more, with at most {MOST_POINTS:,} points")
    grid = _Grid(network, jobs)
    most = min(grid.bound(_beyond(network, jobs), True, tolerance), cost_at_most(network, order))
    values, least, working = grid.inside(), cost_at_least(network), order.cost
    if outside := below(network, jobs, most):
        least = max(least, grid.bound(outside, False, tolerance))
    if grid.separate and (enlarged := _enlarged(order, min(network.holding) * (jobs + 1.0))):
        grid.idling = False
        working = min(working, grid.bound(enlarged, True, tolerance))
    if working <= (1 + tolerance) * most:  # a policy that never idles is worth more than the last digits
        most = working
    return NetworkOptimum(-most, -min(least, most), -working, values)


def _enlarged(order: Potential, least: float) -> list[Potential]:
    """Return the potential of an order of priority so large that c + A V <= 0 where the cost c is at least ``least``.

    There is none if the order may cost more than that.
    """
    factor = (1.0 + MARGIN) * least / (least - order.cost) if least > order.cost else 0.0
    return [Potential(factor * order.weights, 0.0)] if factor else []


def _without_grid(network: Network, order: Potential) -> NetworkOptimum:
    most, least = cost_at_most(network, order), cost_at_least(network)
    needed = _needed(network)
    fits = (needed + 2.0) ** network.classes <= MOST_POINTS
    remedy = "no bound was found for the cost of a simple policy; simulate rules" + f", or give jobs={needed}" * fits
    require(most < np.inf, "network", f"{network.classes} classes at load {network.load:g}", remedy)
    return NetworkOptimum(-most, -least, -order.cost, np.zeros((1,) * network.classes))


class _Grid:
    """The values of all lengths with at most one job more than a number of jobs, and what the compiled code needs."""

    def __init__(self, network: Network, jobs: int) -> None:
        self.clock, self.jobs, n, self.idling = network.clock, jobs, network.classes, True
        self.separate = _are_separate(network)
        self.strides = np.array([(jobs + 2) ** (n - 1 - k) for k in range(n)])
        self.arrivals, self.holding = np.array(network.arrivals, dtype=float), np.array(network.holding, dtype=float)
        routes = np.array([-1 if to is None else to for to in network.routes])
        self.constants = jobs, self.strides, self.arrivals, routes, self.holding, *_options(network)
        self.values = np.zeros((jobs + 2,) * n)
        total = sum(np.ogrid[(slice(jobs + 2),) * n])
        self.edge, self.exits = (np.array(np.nonzero(np.asarray(total == level))) for level in (jobs, jobs + 1))

    def bound(self, outside: list[Potential], upper: bool, tolerance: float) -> float:
        """Return a bound on the cost, from values that continue as the least, or greatest, of these potentials."""
        sign = 1.0 if upper else -1.0
        beyond = np.array([each(self.exits) for each in outside])
        near = np.array([each(self.edge) for each in outside])
        shifts, pace, last, settled = np.zeros((len(outside), 1)), 1.0, np.inf, False
        for moves in range(LAST_MOVE):
            self.values[tuple(self.exits)] = sign * (sign * (beyond + shifts)).min(axis=0)
            cost = self.solve(upper, tolerance if settled else max(tolerance, SETTLED))
            short = (sign * (self.values[tuple(self.edge)] - near - shifts)).max(axis=1, keepdims=True)
            if short.max() <= 0 and settled:
                return cost
            if short.max() > 0:
                pace = 1.0
            elif abs(cost - last) <= SETTLED * abs(cost) or moves >= MOST_MOVES:
                settled = True
                continue
            else:
                pace, last = 2.0 * pace, cost
            shifts += sign * np.where(short > 0, 2.0 * short + CLEAR * self.values.max(), pace * short)
        raise InputError("jobs", self.jobs, "values at the edge of the grid do not settle; give another number")

    def solve(self, upper: bool, tolerance: float) -> float:
        """Improve values by value iteration, in place and without loops; return the bound that they prove.

        They prove a bound whenever the iteration stops; it does when that is close to the estimate of g that makes the
        equation true for the empty network, whose value stays zero.
        """
        sweep, entered, bound, values = _compiled(_sweep), self.arrivals > 0, 0.0, self.values.ravel()
        for number in range(1, SWEEPS + 1):
            gain = float(self.arrivals[entered] @ values[self.strides[entered]])
            sweep(values, *self.constants, self.idling, gain, True)
            if number % LOOKED == 0:
                bound = sweep(values, *self.constants, self.idling, gain, False)[upper]
                if abs(bound - gain) <= tolerance * max(1.0, gain):
                    break
        return float(bound + (2 * upper - 1) * ROUNDING * self.clock * float(np.abs(values).max()))

    def inside(self) -> Table:
        """Return a copy of the values without those of one job more."""
        values = self.values.copy()
        values[tuple(self.exits)] = 0.0
        return values[(slice(self.jobs + 1),) * values.ndim]


def _beyond(network: Network, jobs: int) -> list[Potential]:
    """Return E, with K = 0."""
    h_by_s, C = _shares(network)
    least = min(network.holding) * (jobs + 1.0)
    require(least > C, "jobs", jobs, f"is too small for a bound; give {_needed(network):,} or more")
    half = 0.5 * (1.0 + MARGIN) * least / (least - C) * h_by_s
    squares = np.diag(half)[np.triu_indices(network.classes)]
    return [Potential(np.concatenate([squares, half]), 0.0)]


def _needed(network: Network) -> int:
    """Return the number of jobs of the smallest grid for which E proves a bound."""
    return int(_shares(network)[1] / min(network.holding)) + 1


def _shares(network: Network) -> tuple[Table, float]:
    """Return h_k / s_k for the shares that maximise the least s_k, and C."""
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
    return h_by_s, float(h_by_s @ (entering + served * (servers - 1)))  # few jobs are served by few servers


def _options(network: Network) -> Options:
    """Return what servers can do, idling included."""
    if _are_separate(network):
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


def _are_separate(network: Network) -> bool:
    """Return whether each class has one server, so that each server can choose by itself."""
    return all(sum(k in classes for classes in network.skills) == 1 for k in range(network.classes))


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
    V, jobs, strides, arrivals, routes, holding, groups, options, classes, rates, needs, idling, gain, update
):
    """Return the least and the greatest c + A V over the grid; with ``update``, solve for V at each point in turn.

    Without ``idling``, a group takes an option that serves a job if there is one.
    """
    n = len(strides)
    y, change = np.zeros(n, np.int64), np.zeros(n)
    low, high, i, total = np.inf, -np.inf, 0, 0
    while True:
        v, value, leaving = V[i], 0.0, 0.0
        for k in range(n):
            value += holding[k] * y[k]
            if arrivals[k] > 0.0:
                value += arrivals[k] * (V[i + strides[k]] - v)
                leaving += arrivals[k]
            if y[k] > 0:
                j = routes[k]
                change[k] = V[i - strides[k] + (strides[j] if j >= 0 else 0)] - v
        for group in range(len(groups) - 1):
            best, pace = 0.0 if idling else np.inf, 0.0
            for option in range(groups[group], groups[group + 1]):
                gained, rate = 0.0, 0.0
                for slot in range(options[option], options[option + 1]):
                    k = classes[slot]
                    if y[k] >= needs[slot]:
                        gained += rates[slot] * change[k]
                        rate += rates[slot]
                if gained < best and rate > 0.0:
                    best, pace = gained, rate
            if pace > 0.0:
                value += best
                leaving += pace
        low, high = min(low, value), max(high, value)
        if update:
            V[i] = v + (value - gain) / leaving
        k = n - 1
        while k >= 0 and total == jobs:  # no more jobs of this class fit: go on with the class before it
            total -= y[k]
            i -= y[k] * strides[k]
            y[k] = 0
            k -= 1
            if k >= 0 and total < jobs:
                break
        if k < 0:
            return low, high
        y[k] += 1
        total += 1
        i += strides[k]
