"""Markov chains with rewards: gain, bias, stationary distributions, classes and periods.

For a chain (P, r), as a policy makes one of a task's pairs:

- the *gain* g = lim (1/T) sum_{k<T} P^k r (a Cesaro limit) is the average reward from each start; lambda_pi is g at the
  empty history;
- a *recurrent class* is a set of pairs that is never left and in which every pair is visited again; g is the same
  throughout a class, and on transient pairs the mean of where they are absorbed;
- the *bias* h solves g + h = r + P h, with mean zero under the stationary distribution of each class: what a start is
  worth beyond its gain.

For a recurrent class and any vector h, min(r + P h - h) <= g <= max(r + P h - h).  So however h was found, the gain
comes with a certificate.  So does the bias: against any one state of the class, h is off by at most the width of that
interval times the longest expected time until that state is visited, since what is missed a step adds up until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import InputError
from everlearn.protocol import Table
from everlearn.theory.linear import SMALL, Factorised, Preconditioned, longest_stay, rounding

SWEEPS = 50_000
QUICK = 250
"""Sweeps after which a chain that is small enough is factorised instead."""
PATIENT = 2_000
"""Sweeps after which a larger one is solved with an incomplete factorisation instead."""
TOLERANCE = 1e-12
DISTINCT = 1e-9
"""Gains closer than this are the same."""
OFTEN = 0.5
"""What share of the visits to the most visited state one must have that is left out of a linear system."""
ATTEMPTS = 5
"""How often such a state is looked for."""


@dataclass(frozen=True)
class RecurrentClass:
    """Pairs that are visited for ever once one of them is."""

    members: NDArray[np.int64]
    gain: float
    error: float
    """How far the gain may be off, certified."""
    bias: Table
    stationary: Table
    period: int
    phase: NDArray[np.int64]
    """When, in each period, a member is visited."""


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

    def __init__(self, matrix: Any, rewards: Table) -> None:
        self.matrix = matrix.tocsr()
        self.rewards = np.asarray(rewards, dtype=np.float64)

    @cached_property
    def classes(self) -> list[RecurrentClass]:
        """The recurrent classes."""
        return [self._solve(members) for members in closed_classes(self.matrix)]

    @cached_property
    def transient(self) -> NDArray[np.int64]:
        """The states that are left for ever sooner or later."""
        recurrent = np.concatenate([one.members for one in self.classes])
        return np.setdiff1d(np.arange(len(self.rewards)), recurrent)

    @cached_property
    def gain(self) -> Table:
        """The average reward from each start."""
        gain = np.empty(len(self.rewards))
        for one in self.classes:
            gain[one.members] = one.gain
        if self.transient.size:
            gain[self.transient] = self._absorbed([one.gain for one in self.classes])
        return gain

    @cached_property
    def bias(self) -> Table:
        """What each start is worth beyond its gain."""
        bias = np.empty(len(self.rewards))
        for one in self.classes:
            bias[one.members] = one.bias
        if self.transient.size:
            inner, outer = self._transient_parts()
            known = np.concatenate([one.members for one in self.classes])
            right = self.rewards[self.transient] - self.gain[self.transient] + outer[:, known] @ bias[known]
            bias[self.transient] = solve_transient(inner, right)
        return bias

    @cached_property
    def error(self) -> float:
        """How far any gain may be off.

        On transient pairs x = P x is missed by a residual; its sum over the time until absorption bounds the error.
        """
        largest = max(one.error for one in self.classes)
        if not self.transient.size:
            return largest
        residual = np.abs(self.matrix @ self.gain - self.gain)[self.transient]
        lost = rounding(self.matrix) * max(1.0, float(np.abs(self.gain).max()))
        return largest + float(residual.max() + lost) * self.waiting

    @cached_property
    def waiting(self) -> float:
        """A bound on the expected time until absorption, certified."""
        return longest_stay(self._transient_parts()[0]) if self.transient.size else 0.0

    @cached_property
    def bias_error(self) -> float:
        """How far any bias may be off, certified, apart from a constant that each class is higher or lower by.

        In a class, that is against its most visited state; on transient pairs, against where they are absorbed.
        """
        largest = max(2 * one.error * self._until_visited(one) for one in self.classes)
        if not self.transient.size:
            return largest
        residual = np.abs(self.rewards + self.matrix @ self.bias - self.bias - self.gain)[self.transient]
        lost = rounding(self.matrix) * max(1.0, float(np.abs(self.bias).max()), float(np.abs(self.rewards).max()))
        return largest + float(residual.max() + self.error + lost) * self.waiting

    def _until_visited(self, one: RecurrentClass) -> float:
        """Return a bound on the expected time until the most visited state of a class, from any of its members."""
        others = np.delete(one.members, int(one.stationary.argmax()))
        return longest_stay(self.matrix[others][:, others])

    def _absorbed(self, gains: list[float]) -> Table:
        inner, outer = self._transient_parts()
        if len(gains) == 1:
            return np.full(self.transient.size, gains[0])
        known = np.concatenate([one.members for one in self.classes])
        value = np.concatenate([np.full(one.members.size, gain) for gain, one in zip(gains, self.classes, strict=True)])
        return solve_transient(inner, outer[:, known] @ value)

    def _transient_parts(self) -> tuple[Any, Any]:
        outer = self.matrix[self.transient]
        return outer[:, self.transient], outer

    def _solve(self, members: NDArray[np.int64]) -> RecurrentClass:
        matrix, rewards = self.matrix[members][:, members], self.rewards[members]
        stationary, bias = solved(matrix, rewards)
        bias = bias - stationary @ bias
        change = rewards + matrix @ bias - bias
        lost = rounding(matrix) * max(1.0, float(np.abs(bias).max()), float(np.abs(rewards).max()))
        low, high = float(change.min()) - lost, float(change.max()) + lost
        gain = min(max(float(stationary @ rewards), low), high)
        return RecurrentClass(members, gain, max(high - gain, gain - low), bias, stationary, *phases(matrix))


def closed_classes(matrix: Any) -> list[NDArray[np.int64]]:
    """Return the sets of states that are never left, each strongly connected."""
    from scipy.sparse.csgraph import connected_components

    number, label = connected_components(matrix, directed=True, connection="strong")
    entries = matrix.tocoo()
    leaves = np.zeros(number, dtype=bool)
    leaves[label[entries.row[label[entries.row] != label[entries.col]]]] = True
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [group for group in groups if not leaves[label[group[0]]]]


def phases(matrix: Any) -> tuple[int, NDArray[np.int64]]:
    """Return the period of an irreducible chain, and when in each period a state is visited.

    The period is the greatest common divisor of the lengths of its cycles.
    """
    from scipy.sparse.csgraph import dijkstra

    depth = dijkstra(matrix, indices=0, unweighted=True).astype(np.int64)
    entries = matrix.tocoo()
    found = max(1, int(np.gcd.reduce(depth[entries.row] + 1 - depth[entries.col])))
    return found, depth % found


def solved(matrix: Any, rewards: Table) -> tuple[Table, Table]:
    """Return stationary distribution and bias of an irreducible chain, in the first way that succeeds."""
    if matrix.shape[0] <= SMALL:
        found = iterated(matrix, rewards, QUICK) or factorised(matrix, rewards)
    else:
        found = iterated(matrix, rewards, PATIENT) or preconditioned(matrix, rewards)
    found = found or iterated(matrix, rewards, SWEEPS)
    if found is None:
        remedy = f"no stationary distribution in {SWEEPS:,} sweeps; it mixes too slowly"
        raise InputError("pairs", matrix.shape[0], remedy)
    return found


def iterated(matrix: Any, rewards: Table, sweeps: int) -> tuple[Table, Table] | None:
    """Return stationary distribution and bias by iteration; None where that takes more sweeps."""
    if matrix.shape[0] == 1:
        return np.ones(1), np.zeros(1)
    stationary = _power(matrix, sweeps)
    bias = None if stationary is None else _relative_values(matrix, rewards, sweeps)
    return None if stationary is None or bias is None else (stationary, bias)


def factorised(matrix: Any, rewards: Table) -> tuple[Table, Table] | None:
    """Return stationary distribution x and bias h by one factorisation; None where rounding leaves none.

    Without some state o, I - P is regular: x_rest = x_o p_o,rest (I - P_rest)^-1, and, with h = 0 at o,
    h_rest = (I - P_rest)^-1 (r - g)_rest.
    """
    return _without_one(matrix, rewards, Factorised)


def preconditioned(matrix: Any, rewards: Table) -> tuple[Table, Table] | None:
    """Return stationary distribution and bias as :func:`factorised` does, with an incomplete factorisation."""
    return _without_one(matrix, rewards, Preconditioned)


def _without_one(
    matrix: Any, rewards: Table, system: type[Factorised] | type[Preconditioned]
) -> tuple[Table, Table] | None:
    """Leave out a state that is visited often.

    Where it is rare, the others are all but never left, and the system is all but singular: a residual down to rounding
    then says little of how good the solution is.
    """
    found, weights = None, _swept(matrix, QUICK)
    for _ in range(ATTEMPTS):
        often = int(weights.argmax())
        found = _without(matrix, rewards, weights, often, system)
        if found is None or found[0][often] >= OFTEN * found[0].max():
            return found
        weights = found[0]
    return found


def _without(
    matrix: Any, rewards: Table, weights: Table, often: int, system: type[Factorised] | type[Preconditioned]
) -> tuple[Table, Table] | None:
    others = np.delete(np.arange(matrix.shape[0]), often)
    try:
        inside = system(matrix[others][:, others])
    except RuntimeError:  # singular as far as rounding, or what was dropped, can tell
        return None
    entered = matrix[[often]][:, others].toarray().ravel()
    share = inside.solve(entered, weights[others] / weights[often], transposed=True)
    if share is None:
        return None
    share = np.maximum(share, 0.0)  # what is rarer than rounding may come out below nothing
    stationary = np.insert(share, often, 1.0) / (1.0 + share.sum())
    bias = inside.solve((rewards - stationary @ rewards)[others], np.zeros(others.size))
    return None if bias is None else (stationary, np.insert(bias, often, 0.0))


def _power(matrix: Any, sweeps: int) -> Table | None:
    """Iterate the lazy chain, which has no period, until nothing changes; None where that takes too long."""
    weights = np.full(matrix.shape[0], 1 / matrix.shape[0])
    transposed = matrix.T.tocsr()
    for _ in range(sweeps):
        following = 0.5 * (weights + transposed @ weights)
        change = float(np.abs(following - weights).sum())
        weights = np.asarray(following / following.sum())
        if change < 1e-15:
            return weights
    return None


def _swept(matrix: Any, sweeps: int) -> Table:
    """Return where the lazy chain is likely to be after so many sweeps from anywhere."""
    weights = np.full(matrix.shape[0], 1 / matrix.shape[0])
    transposed = matrix.T.tocsr()
    for _ in range(sweeps):
        weights = 0.5 * (weights + transposed @ weights)
    return weights


def _relative_values(matrix: Any, rewards: Table, sweeps: int) -> Table | None:
    """Iterate h <- h + (r + P h - h) / 2 until r + P h - h is constant; None where that takes too long.

    Where there is another way to turn to, the pace of the first sweeps tells whether to go on.
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


def solve_transient(inner: Any, right: Table) -> Table:
    """Return x with x = right + inner x, where inner is what stays among transient states."""
    found = _factorised_transient(inner, right) if inner.shape[0] <= SMALL else None
    if found is not None:
        return found
    solution = right.copy()
    for _ in range(SWEEPS):
        following = np.asarray(right + inner @ solution)
        if float(np.abs(following - solution).max()) <= TOLERANCE * max(1.0, float(np.abs(following).max())):
            return following
        solution = following
    raise InputError("transient pairs", inner.shape[0], f"not absorbed within {SWEEPS:,} sweeps")


def _factorised_transient(inner: Any, right: Table) -> Table | None:
    try:
        return Factorised(inner).solve(right, np.zeros(inner.shape[0]))
    except RuntimeError:  # singular as far as rounding can tell
        return None
