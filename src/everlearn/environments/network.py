"""Networks of unbounded queues: jobs of several classes, and servers that choose which class to serve.

Jobs of class k arrive at the rate ``arrivals[k]``.  Server s serves a job of class k at the rate ``services[s][k]``, or
never if this is 0.  A job that has been served joins the class ``routes[k]``, or leaves if this is None.  All times are
exponential, and a service may be interrupted, so that the numbers of jobs of each class, *lengths*, are a Markov chain.
It is uniformised (Lippman, 1975; Serfozo, 1979): a step is a potential event of a Poisson process with the rate
``clock``, and in most steps one of these happens: an arrival, or the end of a service.  So an average over steps is an
average over time.

An action names for each server the class that it prefers.  Servers take jobs in turn, those that can serve the fewest
classes first.  A server that finds no job of its preferred class takes another, in the order of h mu, so that no server
is idle while a job waits for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from everlearn.calls import explained
from everlearn.environments.fluid import fluid_share
from everlearn.errors import require
from everlearn.protocol import Table

Lengths: TypeAlias = tuple[int, ...]
"""The number of jobs of each class."""

Choice: TypeAlias = tuple[int, ...]
"""For each server the class that it prefers."""

MOST_ACTIONS = 100_000
"""The most combinations of what servers can prefer."""


@explained("el.Network(arrivals, services, routes, holding)")
@dataclass(frozen=True)
class Network:
    """A network of queues. Its four arguments are tuples, lists or arrays of numbers.

    A *choice* is a tuple: for each server, the class that it prefers, counted from 0.  In the labels of actions,
    classes are counted from 1.

    Parameters
    ----------
    arrivals:
        the rate at which jobs of each class arrive
    services:
        for each server the rate at which it serves each class, 0 if it cannot
    routes:
        for each class the class that a job joins after its service, counted from 0; None: it leaves
    holding:
        for each class what a job costs per unit of time, a whole number

    Examples
    --------
    >>> tandem = Network((0.5, 0), ((1, 0), (0, 1)), (1, None), (1, 1))
    >>> tandem.clock, tandem.actions, tandem.load
    (2.5, ('1-2',), 0.5)
    >>> list(tandem.events((1, 0), (0, 1)))
    [(0, (2, 0), 0.5), (2, (0, 1), 1.0)]

    """

    arrivals: tuple[float, ...]
    services: tuple[tuple[float, ...], ...]
    routes: tuple[int | None, ...]
    holding: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("arrivals", "services", "routes", "holding"):
            object.__setattr__(self, name, _fixed(getattr(self, name)))
        fine = _are_rates(self.arrivals) and sum(self.arrivals) > 0
        require(fine, "arrivals", self.arrivals, "give a rate of at least 0 for each class, one of them positive")
        n = len(self.arrivals)
        fine = _has_entries(self.services) and all(_are_rates(row) and len(row) == n for row in self.services)
        require(fine, "services", self.services, f"give for each server {n} rates of at least 0, one for each class")
        served = all(max(row) > 0 for row in self.services) and all(max(column) > 0 for column in zip(*self.services))  # noqa: B905
        require(served, "services", self.services, "each server must serve a class, and each class must be served")
        fine = _has_entries(self.routes, n) and all(
            to is None or (type(to) is int and 0 <= to < n) for to in self.routes
        )
        require(fine, "routes", self.routes, f"give for each class the next one, from 0 to {n - 1}, or None")
        require(self._open(), "routes", self.routes, "some jobs would never leave; let every route end with None")
        whole = _are_rates(self.holding) and all(cost >= 1 and cost == int(cost) for cost in self.holding)
        remedy = "give a whole number of at least 1 for each class; only ratios matter, so multiply if you need to"
        require(whole and len(self.holding) == n, "holding", self.holding, remedy)
        actions = math.prod(len(classes) for classes in self.skills)
        require(
            actions <= MOST_ACTIONS, "services", f"{actions:,} actions", f"give a network of at most {MOST_ACTIONS:,}"
        )

    def _open(self) -> bool:
        places: list[int | None] = list(range(len(self.routes)))
        for _ in self.routes:
            places = [None if place is None else self.routes[place] for place in places]
        return all(place is None for place in places)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.arrivals)

    @cached_property
    def clock(self) -> float:
        """The rate of potential events: steps per unit of time."""
        return float(sum(self.arrivals) + sum(max(row) for row in self.services))

    @cached_property
    def skills(self) -> tuple[tuple[int, ...], ...]:
        """For each server the classes that it can serve."""
        return tuple(tuple(k for k, rate in enumerate(row) if rate > 0) for row in self.services)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The actions as classes, one per server."""
        return tuple(product(*self.skills))

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """The labels of the actions: for each server the class that it prefers, counted from 1."""
        return tuple("-".join(str(k + 1) for k in choice) for choice in self.choices)

    @cached_property
    def throughput(self) -> Table:
        """The rate at which jobs of each class must be served: those that arrive, and those that are passed on."""
        rates = np.array(self.arrivals, dtype=float)
        passed = rates.copy()
        for _ in self.routes:
            following = np.zeros(self.classes)
            for k, to in enumerate(self.routes):
                if to is not None:
                    following[to] += passed[k]
            passed = following
            rates += passed
        return rates

    @cached_property
    def load(self) -> float:
        """The least share of time for which the busiest server must work; below 1, some policy keeps queues stable."""
        from scipy.optimize import linprog

        pairs = [(s, k) for s, classes in enumerate(self.skills) for k in classes]
        least = np.array([[-self.services[s][k] * (k == c) for s, k in pairs] + [0.0] for c in range(self.classes)])
        busy = np.array([[float(s == t) for s, _ in pairs] + [-1.0] for t in range(len(self.services))])
        limits = np.concatenate([-self.throughput, np.zeros(len(busy))])
        goal = np.array([0.0] * len(pairs) + [1.0])
        return float(round(linprog(goal, np.vstack([least, busy]), limits).x[-1], 12))

    @cached_property
    def _turns(self) -> list[tuple[int, tuple[int, ...]]]:
        """The servers in the order in which they take jobs, each with its classes by falling h mu."""
        order = sorted(range(len(self.services)), key=lambda s: (len(self.skills[s]), s))
        return [
            (s, tuple(sorted(self.skills[s], key=lambda k: (-self.holding[k] * self.services[s][k], k)))) for s in order
        ]

    def work(self, lengths: Lengths, choice: Choice) -> list[float]:
        """Return the rate at which each class is served if the servers make this choice."""
        left, rates = list(lengths), [0.0] * self.classes
        for s, others in self._turns:
            for k in (choice[s], *others):
                if left[k] > 0:
                    left[k] -= 1
                    rates[k] += self.services[s][k]
                    break
        return rates

    def events(self, lengths: Lengths, choice: Choice) -> Iterator[tuple[int, Lengths, float]]:
        """Yield each possible event, the lengths after it, and its rate: arrivals by class, then services by class."""
        for k, rate in enumerate(self.arrivals):
            if rate > 0:
                yield k, self._moved(lengths, None, k), float(rate)
        for k, rate in enumerate(self.work(lengths, choice)):
            if rate > 0:
                yield self.classes + k, self._moved(lengths, k, self.routes[k]), rate

    @staticmethod
    def _moved(lengths: Lengths, source: int | None, target: int | None) -> Lengths:
        return tuple(length - (k == source) + (k == target) for k, length in enumerate(lengths))

    def cost(self, lengths: Lengths) -> int:
        """Return the holding cost of all jobs per unit of time."""
        return sum(cost * length for cost, length in zip(self.holding, lengths, strict=True))

    @cached_property
    def steps_left(self) -> list[int]:
        """For each class how many more services a job needs after this one."""
        left = [0] * self.classes
        for k in range(self.classes):
            place = self.routes[k]
            while place is not None:
                left[k], place = left[k] + 1, self.routes[place]
        return left

    def choose(self, rule: str, lengths: Lengths) -> Choice:
        """Return the choice that a common rule makes: each server prefers the class that it ranks highest.

        Classes with jobs rank above those without.  ``rule`` is one of ``c-mu``, ``max-weight``, ``max-pressure``,
        ``longest-queue``, ``last-buffer`` and ``fluid``.

        Examples
        --------
        >>> criss_cross = Network((0.6, 0, 0.6), ((2, 0, 2), (0, 1.5, 0)), (1, None, None), (1, 1, 1))
        >>> criss_cross.choose("max-weight", (3, 0, 2)), criss_cross.choose("last-buffer", (3, 0, 2))
        ((0, 1), (2, 1))

        """
        index = RULES[rule]
        return tuple(
            max(classes, key=lambda k: (lengths[k] > 0, index(self, lengths, s, k)))
            for s, classes in enumerate(self.skills)
        )


def _fixed(given: Any) -> Any:
    """Return lists and arrays as tuples."""
    if isinstance(given, np.ndarray | np.generic):
        return _fixed(given.tolist())
    return tuple(_fixed(entry) for entry in given) if isinstance(given, list | tuple) else given


def _has_entries(given: object, number: int | None = None) -> bool:
    """Return whether something is a tuple with this many entries, or with any."""
    return isinstance(given, tuple) and (len(given) == number if number is not None else bool(given))


def _are_rates(given: Any) -> bool:
    """Return whether something is a tuple of finite numbers of at least 0."""
    return _has_entries(given) and all(type(rate) in (int, float) and 0 <= rate < math.inf for rate in given)


def _pressure(network: Network, lengths: Lengths, s: int, k: int) -> float:
    to = network.routes[k]
    ahead = 0 if to is None else network.holding[to] * lengths[to]
    return network.services[s][k] * (network.holding[k] * lengths[k] - ahead)


RULES: dict[str, Callable[[Network, Lengths, int, int], float]] = {
    "c-mu": lambda network, _lengths, s, k: network.holding[k] * network.services[s][k],
    "max-weight": lambda network, lengths, s, k: network.holding[k] * network.services[s][k] * lengths[k],
    "max-pressure": _pressure,
    "longest-queue": lambda _network, lengths, _s, k: lengths[k],
    "last-buffer": lambda network, _lengths, _s, k: -network.steps_left[k],
    "fluid": fluid_share,
}
"""Rules that operators use, by the index of a class at a server: c mu; MaxWeight, h mu x; MaxPressure, mu (h x - h' x')
with the class that follows (Tassiulas and Ephremides, 1992; Dai and Lin, 2005); the longest queue; the fewest services
left; the share of time in the cheapest way to drain a fluid (:mod:`everlearn.environments.fluid`)."""
