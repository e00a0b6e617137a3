"""Markov chains with rewards: gain, bias, stationary distributions, classes and periods.

For a chain (P, r), as a policy makes one of a task's pairs:

- the *gain* g = lim (1/T) sum_{k<T} P^k r (a Cesaro limit) is the average reward from each start; lambda_pi is g at the
  empty history;
- a *recurrent class* is a set of pairs that is never left and in which every pair is visited again; g is constant on a
  class, and on transient pairs it is the mean over the classes in which they are absorbed;
- the *bias* h solves g + h = r + P h, with mean zero under the stationary distribution of each class: what a start is
  worth beyond its gain.

For a recurrent class and any vector h, min(r + P h - h) <= g <= max(r + P h - h).  So the gain is certified, however h
was found.  So is the bias: relative to any one state of the class, the error of h is at most the width of that interval
times the longest expected time until that state is visited, since the error per step adds up until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import InputError
from everlearn.protocol import Table
from everlearn.theory.linear import SMALL, Factorised, Preconditioned, Sparse, System, longest_stay, rounding

SWEEPS = 50_000  # the most sweeps of an iteration
QUICK = 250  # sweeps after which a small chain is factorised instead
PATIENT = 2_000  # sweeps after which a large chain is solved with an incomplete factorisation instead
TOLERANCE = 1e-12
DISTINCT = 1e-9  # gains closer than this are the same
OFTEN = 0.5  # the state left out of a linear system has at least this share of the visits to the most visited state
ATTEMPTS = 5  # how often such a state is looked for


@dataclass(frozen=True)
class RecurrentClass:
    """A recurrent class: once one of its pairs is visited, its pairs are visited forever, and no others."""

    members: NDArray[np.int64]
    gain: float
    error: float  # a certified bound on the error of the gain
    bias: Table
    stationary: Table
    period: int
    phase: NDArray[np.int64]  # the step of each period at which a member is visited


class Chain:
    """A Markov chain with a reward for each state.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> chain = Chain(csr_array([[0.5, 0.5], [0.25, 0.75]]), np.array([1.0, 0.0]))
    >>> round(float(chain.gain[0]), 12), chain.classes[0].period
    (0.333333333333, 1)
    >>> chain.classes[0].stationary.round(12).tolist()
    [0.333333333333, 0.666666666667]

    """

    def __init__(self, matrix: Sparse, rewards: Table) -> None:
        self.matrix = matrix.tocsr()
        self.rewards = np.asarray(rewards, dtype=np.float64)

    @cached_property
    def classes(self) -> list[RecurrentClass]:
        """The recurrent classes."""
        return [self._solve_class(members) for members in closed_classes(self.matrix)]

    @cached_property
    def recurrent(self) -> NDArray[np.int64]:
        """The states of all recurrent classes, class by class."""
        return np.concatenate([recurrent.members for recurrent in self.classes])

    @cached_property
    def transient(self) -> NDArray[np.int64]:
        """The transient states, which are eventually left forever."""
        return np.setdiff1d(np.arange(len(self.rewards)), self.recurrent)

    @cached_property
    def gain(self) -> Table:
        """The average reward from each start."""
        gain = np.empty(len(self.rewards))
        for recurrent in self.classes:
            gain[recurrent.members] = recurrent.gain
        if self.transient.size:
            nothing = np.zeros(self.transient.size)
            gain[self.transient] = self._extend(nothing, gain) if len(self.classes) > 1 else self.classes[0].gain
        return gain

    @cached_property
    def bias(self) -> Table:
        """What each start is worth beyond its gain."""
        bias = np.empty(len(self.rewards))
        for recurrent in self.classes:
            bias[recurrent.members] = recurrent.bias
        if self.transient.size:
            bias[self.transient] = self._extend((self.rewards - self.gain)[self.transient], bias)
        return bias

    @cached_property
    def error(self) -> float:
        """A certified bound on the error of any gain.

        On transient pairs g = P g holds up to a residual, which adds up until absorption.
        """
        largest = max(recurrent.error for recurrent in self.classes)
        if not self.transient.size:
            return largest
        residual = np.abs(self.matrix @ self.gain - self.gain)[self.transient]
        return largest + float(residual.max() + _lost(self.matrix, self.gain)) * self.waiting

    @cached_property
    def waiting(self) -> float:
        """A certified bound on the expected time until absorption."""
        return longest_stay(self.matrix[self.transient][:, self.transient]) if self.transient.size else 0.0

    @cached_property
    def bias_error(self) -> float:
        """A certified bound on the error of any bias, apart from one constant for each class.

        In a class, it is relative to the most visited state; on transient pairs, to where they are absorbed.
        """
        largest = max(2 * recurrent.error * self._until_visited(recurrent) for recurrent in self.classes)
        if not self.transient.size:
            return largest
        residual = np.abs(self.rewards + self.matrix @ self.bias - self.bias - self.gain)[self.transient]
        lost = _lost(self.matrix, self.bias, self.rewards)
        return largest + float(residual.max() + self.error + lost) * self.waiting

    def _until_visited(self, recurrent: RecurrentClass) -> float:
        """Bound the expected time until the most visited state of a class is visited, from any of its members."""
        others = np.delete(recurrent.members, int(recurrent.stationary.argmax()))
        return longest_stay(self.matrix[others][:, others])

    def _extend(self, right: Table, values: Table) -> Table:
        """Return x with x = right + P x on transient states, where x is ``values`` on recurrent ones."""
        rows = self.matrix[self.transient]
        outside = rows[:, self.recurrent] @ values[self.recurrent]
        return solve_transient(rows[:, self.transient], right + outside)

    def _solve_class(self, members: NDArray[np.int64]) -> RecurrentClass:
        matrix, rewards = self.matrix[members][:, members], self.rewards[members]
        stationary, bias = solve_irreducible(matrix, rewards)
        bias = bias - stationary @ bias
        change = rewards + matrix @ bias - bias
        lost = _lost(matrix, bias, rewards)
        low, high = float(change.min()) - lost, float(change.max()) + lost
        gain = min(max(float(stationary @ rewards), low), high)
        return RecurrentClass(members, gain, max(high - gain, gain - low), bias, stationary, *phases(matrix))


def _lost(matrix: Sparse, *vectors: Table) -> float:
    """Bound the rounding of a product with a matrix of probabilities, and of sums with these vectors."""
    return rounding(matrix) * max(1.0, *(float(np.abs(vector).max()) for vector in vectors))


def closed_classes(matrix: Sparse) -> list[NDArray[np.int64]]:
    """Return the sets of states that are never left, each strongly connected."""
    from scipy.sparse.csgraph import connected_components

    number, label = connected_components(matrix, directed=True, connection="strong")
    entries = matrix.tocoo()
    leaves = np.zeros(number, dtype=bool)
    leaves[label[entries.row[label[entries.row] != label[entries.col]]]] = True
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [group for group in groups if not leaves[label[group[0]]]]


def phases(matrix: Sparse) -> tuple[int, NDArray[np.int64]]:
    """Return the period of an irreducible chain, the greatest common divisor of its cycles, and each state's phase."""
    from scipy.sparse.csgraph import dijkstra

    depth = dijkstra(matrix, indices=0, unweighted=True).astype(np.int64)
    entries = matrix.tocoo()
    period = max(1, int(np.gcd.reduce(depth[entries.row] + 1 - depth[entries.col])))
    return period, depth % period


def solve_irreducible(matrix: Sparse, rewards: Table) -> tuple[Table, Table]:
    """Return the stationary distribution and the bias of an irreducible chain, by the first method that succeeds."""
    small = matrix.shape[0] <= SMALL
    solution = (
        _iterate(matrix, rewards, QUICK if small else PATIENT)
        or solve_without_one(matrix, rewards, Factorised if small else Preconditioned)
        or _iterate(matrix, rewards, SWEEPS)
    )
    if solution is None:
        remedy = f"no stationary distribution in {SWEEPS:,} sweeps; it mixes too slowly"
        raise InputError("pairs", matrix.shape[0], remedy)
    return solution


def _iterate(matrix: Sparse, rewards: Table, sweeps: int) -> tuple[Table, Table] | None:
    """Return the stationary distribution and the bias by iteration; None if that takes more sweeps."""
    if matrix.shape[0] == 1:
        return np.ones(1), np.zeros(1)
    stationary = _iterate_stationary(matrix, sweeps)
    bias = None if stationary is None else _iterate_bias(matrix, rewards, sweeps)
    return None if stationary is None or bias is None else (stationary, bias)


def _iterate_stationary(matrix: Sparse, sweeps: int) -> Table | None:
    """Iterate the lazy chain, which has no period, until nothing changes; return None if that takes too long."""
    weights = np.full(matrix.shape[0], 1 / matrix.shape[0])
    transposed = matrix.T.tocsr()
    for _ in range(sweeps):
        following = 0.5 * (weights + transposed @ weights)
        change = float(np.abs(following - weights).sum())
        weights = np.asarray(following / following.sum())
        if change < 1e-15:
            return weights
    return None


def _iterate_bias(matrix: Sparse, rewards: Table, sweeps: int) -> Table | None:
    """Iterate h <- h + (r + P h - h) / 2 until r + P h - h is constant; return None if that takes too long.

    If another method is left to try, the pace of the first sweeps decides whether to continue.
    """
    bias, halfway = np.zeros(matrix.shape[0]), np.inf
    for sweep in range(sweeps):
        change = rewards + matrix @ bias - bias
        width, enough = float(np.ptp(change)), TOLERANCE * max(1.0, float(np.abs(bias).max()))
        if width <= enough:
            return np.asarray(bias - bias[0])
        if sweep == QUICK // 2:
            halfway = width
        if sweep == QUICK and sweeps < SWEEPS and width * (width / halfway) ** (2 * sweeps // QUICK) > enough:
            return None
        bias += 0.5 * change
        bias -= bias[0]
    return None


def solve_without_one(matrix: Sparse, rewards: Table, system: System) -> tuple[Table, Table] | None:
    """Return the stationary distribution x and the bias h by leaving out one state o; None if rounding leaves none.

    Without o, I - P is regular: x_rest = x_o p_o,rest (I - P_rest)^-1, and, with h = 0 at o,
    h_rest = (I - P_rest)^-1 (r - g)_rest.  The state o must be visited often.  If it is rare, the others are almost
    never left and the system is almost singular: then a residual down to rounding says little about the error.
    """
    weights, transposed = np.full(matrix.shape[0], 1 / matrix.shape[0]), matrix.T.tocsr()
    for _ in range(QUICK):
        weights = 0.5 * (weights + transposed @ weights)
    for _ in range(ATTEMPTS):
        often = int(weights.argmax())
        others = np.delete(np.arange(matrix.shape[0]), often)
        inside = system(matrix[others][:, others])
        entered = matrix[[often]][:, others].toarray().ravel()
        share = inside.solve(entered, weights[others] / weights[often], transposed=True)
        if share is None:
            return None
        share = np.maximum(share, 0.0)  # a share smaller than rounding may come out negative
        weights = np.insert(share, often, 1.0) / (1.0 + share.sum())
        bias = inside.solve((rewards - weights @ rewards)[others], np.zeros(others.size))
        if bias is None:
            return None
        solution = weights, np.insert(bias, often, 0.0)
        if weights[often] >= OFTEN * weights.max():
            break
    return solution


def solve_transient(inner: Sparse, right: Table) -> Table:
    """Return x with x = right + inner x, where inner is P among transient states."""
    exact = Factorised(inner).solve(right, np.zeros(inner.shape[0])) if inner.shape[0] <= SMALL else None
    if exact is not None:
        return exact
    solution = right.copy()
    for _ in range(SWEEPS):
        following = np.asarray(right + inner @ solution)
        if float(np.abs(following - solution).max()) <= TOLERANCE * max(1.0, float(np.abs(following).max())):
            return following
        solution = following
    raise InputError("transient pairs", inner.shape[0], f"not absorbed within {SWEEPS:,} sweeps")
