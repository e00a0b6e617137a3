"""A network of queues whose servers can run fast or slowly, and whose arrivals depend on its reputation.

The station of Section 1.4 with several servers and queues.  Times are exponential, and the chain is uniformised
(Lippman, 1975; Serfozo, 1979): a step is a potential event of a Poisson process whose rate is the greatest total rate,
and at most one of these happens in it: an arrival or the completion of a service.

Each queue holds ``capacity`` customers, served or waiting, and has ``servers`` servers.  In *parallel* an arriving
customer chooses a queue at random, and leaves after service.  In *tandem* customers come to the first queue and pass
through all; a server waits while the next queue is full.  A customer who finds a full queue is lost.

A queue is too long for an arriving customer if it is full or has ``patience`` others.  The level of the reputation
counts how many customers in a row have found a short queue, up to ``window``; one who finds a long queue resets it to
0.  Arrivals have the rate floor + height level / window, so that long queues today keep customers away tomorrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import require
from everlearn.protocol import Table

SLOW, FAST = "slow", "fast"
PARALLEL, TANDEM = "parallel", "tandem"
EACH, ALL = "each", "all"

LARGEST = 1_000_000_000
"""The largest value of any parameter; up to here the sizes that follow from them are compared."""

MOST_MEMORIES, MOST_ENTRIES = 2_000_000, 20_000_000
"""Bounds on memories and transitions: a task and its table take 120 to 170 bytes per transition, less than 3 GB."""


@dataclass(frozen=True)
class QueueingNetwork:
    """The constants of a network, and its dynamics as sparse matrices.

    A memory is the number of customers in each queue and the level of the reputation, numbered in that order, the
    level changing fastest.

    Examples
    --------
    >>> queue = QueueingNetwork(queues=1, capacity=1, window=0, fast_rate=2)
    >>> queue.lengths.ravel().tolist(), queue.actions, queue.clock
    ([0, 1], ('slow', 'fast'), 4.0)
    >>> queue.transitions(0).toarray().tolist()
    [[0.5, 0.5], [0.25, 0.75]]

    """

    queues: int = 2
    capacity: int = 3
    servers: int = 1
    topology: str = PARALLEL
    control: str = EACH
    window: int = 3
    patience: int | None = None
    floor: float = 0.2
    height: float = 1.8
    slow_rate: float = 1.0
    fast_rate: float = 4.0

    def __post_init__(self) -> None:
        for name in ("queues", "capacity", "servers"):
            require(1 <= getattr(self, name) <= LARGEST, name, getattr(self, name), f"give 1 to {LARGEST:,}")
        patience = self.patience
        require(patience is None or patience >= 1, "patience", patience, "give at least 1 customer, or none")
        require(0 <= self.window <= LARGEST, "window", self.window, f"give 0 to {LARGEST:,} customers")
        require(self.topology in (PARALLEL, TANDEM), "topology", self.topology, f"give {PARALLEL} or {TANDEM}")
        require(self.control in (EACH, ALL), "control", self.control, f"give {EACH} or {ALL}")
        require(0 < self.floor < np.inf, "arrival_floor", self.floor, "give a positive rate")
        require(0 <= self.height < np.inf, "arrival_height", self.height, "give a rate of at least 0")
        require(0 < self.slow_rate < np.inf, "slow_rate", self.slow_rate, "give a positive rate")
        remedy = f"give a rate of at least slow_rate, {self.slow_rate:g}"
        require(self.slow_rate <= self.fast_rate < np.inf, "fast_rate", self.fast_rate, remedy)
        remedy = "their sum, over all servers, is the pace of the network; give rates whose sum is finite"
        require(self.clock < np.inf, "arrival and service rates", (self.floor, self.height, self.fast_rate), remedy)
        self._check_size()

    def _check_size(self) -> None:
        """Raise if the network would not fit into memory; logarithms are used, since the sizes may be huge.

        An action has at most one transition for each arrival, one for each service and one for no event.
        """
        memories = self.queues * math.log10(self.capacity + 1) + math.log10(self.window + 1)
        actions = math.log10(2) * (self.queues if self.control == EACH else 1)
        entries = memories + actions + math.log10(2 * self.queues + 1)
        few = memories <= math.log10(MOST_MEMORIES) and entries <= math.log10(MOST_ENTRIES)
        given = (self.queues, self.capacity, self.window, self.control)
        remedy = (
            f"that is 10^{memories:.1f} memories and 10^{entries:.1f} transitions, of at most {MOST_MEMORIES:,} and "
            f"{MOST_ENTRIES:,}; give fewer queues, a smaller capacity, a shorter window or control={ALL}"
        )
        require(few, "queues, capacity, window, control", given, remedy)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each part of a memory."""
        return (*[self.capacity + 1] * self.queues, self.window + 1)

    @property
    def memories(self) -> int:
        """The number of memories."""
        return math.prod(self.shape)

    @property
    def clock(self) -> float:
        """The rate of potential events: steps per unit of time."""
        return self.floor + self.height + self.queues * self.servers * self.fast_rate

    @property
    def modes(self) -> list[tuple[str, ...]]:
        """The mode of each queue's servers, for each action."""
        if self.control == ALL:
            return [(mode,) * self.queues for mode in (SLOW, FAST)]
        return list(product((SLOW, FAST), repeat=self.queues))

    @property
    def actions(self) -> tuple[str, ...]:
        """The labels of the actions."""
        return tuple(mode[0] if self.control == ALL else "-".join(mode) for mode in self.modes)

    @property
    def parts(self) -> NDArray[np.int64]:
        """The parts of each memory: one row per queue, and one for the level of the reputation."""
        return np.array(np.unravel_index(np.arange(self.memories), self.shape))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of customers in each queue, one row per queue."""
        return self.parts[:-1]

    @property
    def busy(self) -> NDArray[np.int64]:
        """The number of busy servers, one row per queue: none while the next queue of a tandem is full."""
        lengths = self.lengths
        at_work = np.minimum(lengths, self.servers)
        if self.topology == TANDEM:
            at_work[:-1] *= lengths[1:] < self.capacity
        return at_work

    def arrival_rate(self, level: NDArray[np.int64]) -> Table:
        """Return the rate of arrivals at levels of the reputation."""
        share = level / self.window if self.window else np.ones(level.shape)
        return np.asarray(self.floor + self.height * share)

    def transitions(self, action: int) -> Any:
        """Return the probabilities of next memories under an action, by its number, as a sparse matrix (CSR)."""
        from scipy.sparse import csr_array

        rates, following = self._events(self.modes[action])
        chances = np.empty((self.memories, len(rates) + 1))
        chances[:, :-1] = np.stack(rates, axis=1) / self.clock
        chances[:, -1] = np.maximum(0.0, 1 - chances[:, :-1].sum(axis=1))  # rounding may make it negative
        targets = np.stack([*following, np.arange(self.memories)], axis=1)
        starts = np.arange(0, chances.size + 1, chances.shape[1])
        matrix = csr_array((chances.ravel(), targets.ravel(), starts), shape=(self.memories, self.memories))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix

    def _events(self, modes: tuple[str, ...]) -> tuple[list[Table], list[NDArray[np.int64]]]:
        """Return for each event its rate in each memory, and the memory to which it leads."""
        parts, busy = self.parts, self.busy
        doors = range(self.queues if self.topology == PARALLEL else 1)
        rates = [self.arrival_rate(parts[-1]) / len(doors)] * len(doors)
        following = [self._arrived(parts, door) for door in doors]
        for queue, mode in enumerate(modes):
            rates.append(busy[queue] * (self.fast_rate if mode == FAST else self.slow_rate))
            following.append(self._served(parts, busy, queue))
        return rates, following

    def _arrived(self, parts: NDArray[np.int64], door: int) -> NDArray[np.int64]:
        """Return the memories after a customer has arrived at a queue."""
        after, others = parts.copy(), parts[door]
        after[door] = np.minimum(others + 1, self.capacity)
        content = others < min(self.patience or self.capacity, self.capacity)
        after[-1] = np.where(content, np.minimum(parts[-1] + 1, self.window), 0)
        return self._number(after)

    def _served(self, parts: NDArray[np.int64], busy: NDArray[np.int64], queue: int) -> NDArray[np.int64]:
        """Return the memories after a service has been completed; those without a busy server stay the same."""
        after, served = parts.copy(), (busy[queue] > 0).astype(np.int64)
        after[queue] -= served
        if self.topology == TANDEM and queue + 1 < self.queues:
            after[queue + 1] += served
        return self._number(after)

    def _number(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(np.ravel_multi_index(tuple(parts), self.shape))
