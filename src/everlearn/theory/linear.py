"""Linear systems (I - gamma P) x = b of a Markov chain, with a certified error.

Three ways, since none does everything.  Iteration x <- b + gamma P x costs a product with a sparse matrix a sweep and
needs no more memory than the matrix; it is quick where the chain mixes quickly or the horizon is short.  Factorisation
takes slow chains, but fills in on chains without structure.  Where a chain is slow and large, an incomplete
factorisation guides an iteration (:class:`Preconditioned`).  For gamma < 1 the residual bounds the error of each:
|x - x*| <= |b + gamma P x - x| / (1 - gamma) in the maximum norm.  For gamma = 1, among states that are all left in the
end, the longest expected stay takes the place of 1 / (1 - gamma) (:func:`longest_stay`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everlearn.errors import InputError
from everlearn.protocol import Table

SMALL = 30_000
"""Up to how many unknowns a factorisation is tried."""

SWEEPS = 20_000
"""How many sweeps an iteration may take."""

QUICK = 250
"""How many it may take where there is a factorisation to turn to."""

RELATIVE = 1e-13
"""The residual, relative to the right side, at which an iteration ends."""

STAYING = 1 / 16
"""The share that may still stay where a sum over a few steps stands for the expected time of a stay."""

REFINEMENTS = 8
"""How often a solution is corrected by solving for its residual."""


def solve_discounted(matrix: Any, right: Table, discount: float) -> tuple[Table, float]:
    """Return x with x = right + discount matrix x, and a bound on its error.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> solution, error = solve_discounted(csr_array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]), 0.5)
    >>> solution.round(12).tolist(), bool(error < 1e-12)
    ([1.333333333333, 0.666666666667], True)

    """
    scale = max(1.0, float(np.abs(right).max(initial=0.0)))
    solution = _iterate(matrix, right, discount, scale)
    if solution is None:
        solution = factorised(matrix, discount, right)
    residual = float(np.abs(right + discount * (matrix @ solution) - solution).max())
    rounding = np.finfo(float).eps * (4 * float(np.abs(solution).max()) + scale)
    return solution, (residual + rounding) / (1 - discount)


def factorised(matrix: Any, discount: float, right: Table) -> Table:
    """Solve by factorisation."""
    from scipy.sparse import identity
    from scipy.sparse.linalg import splu

    if matrix.shape[0] > SMALL:
        remedy = f"too many unknowns to factorise, and no convergence in {SWEEPS:,} sweeps; give a shorter horizon"
        raise InputError("pairs", matrix.shape[0], remedy)
    factors = splu((identity(matrix.shape[0], format="csc") - discount * matrix).tocsc())
    return np.asarray(factors.solve(right))


def _iterate(matrix: Any, right: Table, discount: float, scale: float) -> Table | None:
    """Iterate until the residual is the same everywhere; None where that would take too long.

    A residual c everywhere means that the solution is gamma c / (1 - gamma) higher everywhere (MacQueen, 1966).  So it
    is the mixing of the chain that counts, and not the horizon.
    """
    allowed = SWEEPS if matrix.shape[0] > SMALL else QUICK
    solution = right.copy()
    for _ in range(allowed):
        following = np.asarray(right + discount * (matrix @ solution))
        residual = following - solution
        low, high = float(residual.min()), float(residual.max())
        solution = following
        if high - low <= RELATIVE * scale:
            return solution + discount / (1 - discount) * (low + high) / 2
    return None


class Factorised:
    """Solves (I - P) x = b, where P is what stays among some states of a chain, all of which are left in the end.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> inside = Factorised(csr_array([[0.0, 0.5], [0.25, 0.0]]))
    >>> inside.solve(np.array([1.0, 0.0]), np.zeros(2)).round(12).tolist()
    [1.142857142857, 0.285714285714]

    """

    def __init__(self, matrix: Any) -> None:
        from scipy.sparse import identity
        from scipy.sparse.linalg import splu

        self._matrix = (identity(matrix.shape[0], format="csc") - matrix).tocsc()
        self._factors = splu(self._matrix)

    def solve(self, right: Table, near: Table, *, transposed: bool = False) -> Table | None:
        """Return x, beginning ``near`` it and corrected twice; None where it is beyond all numbers."""
        matrix, side = (self._matrix.T, "T") if transposed else (self._matrix, "N")
        solution = near
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(2):
                solution = solution + self._factors.solve(right - matrix @ solution, trans=side)
        return np.asarray(solution) if np.isfinite(solution).all() else None


class Preconditioned:
    """Solves (I - P) x = b as :class:`Factorised` does, where a complete factorisation would be too large.

    Stabilised biconjugate gradients (van der Vorst, 1992), guided by an incomplete factorisation, to a few digits; then
    again for the residual, until that is down to rounding.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> inside = Preconditioned(csr_array([[0.0, 0.5], [0.25, 0.0]]))
    >>> inside.solve(np.array([1.0, 0.0]), np.zeros(2)).round(12).tolist()
    [1.142857142857, 0.285714285714]
    >>> inside.solve(np.array([1.0, 0.0]), np.zeros(2), transposed=True).round(12).tolist()
    [1.142857142857, 0.571428571429]

    """

    def __init__(self, matrix: Any) -> None:
        from scipy.sparse import identity
        from scipy.sparse.linalg import spilu

        self._matrix = (identity(matrix.shape[0], format="csc") - matrix).tocsc()
        self._factors = spilu(self._matrix, drop_tol=1e-5, fill_factor=40)

    def solve(self, right: Table, near: Table, *, transposed: bool = False) -> Table | None:
        """Return x, beginning ``near`` it; None where it is not found to the accuracy of rounding."""
        from scipy.sparse.linalg import LinearOperator, bicgstab

        side = "T" if transposed else "N"
        matrix = (self._matrix.T if transposed else self._matrix).tocsr()
        guide = LinearOperator(matrix.shape, lambda residual: self._factors.solve(residual, trans=side))
        solution, before = near, np.inf
        for _ in range(REFINEMENTS):
            residual = right - matrix @ solution
            left = float(np.abs(residual).max())
            if left <= 8 * np.finfo(float).eps * float(np.abs(solution).max() + np.abs(right).max()):
                return np.asarray(solution)
            if not left < before:
                return None
            solution, before = solution + bicgstab(matrix, residual, rtol=1e-6, maxiter=300, M=guide)[0], left
        return None


def longest_stay(inner: Any) -> float:
    """Return a bound on the expected time among states that are all left in the end, whichever it begins in.

    Where w >= 0 and w - P w >= c > 0 everywhere, that time is at most max w / c: (I - P)^-1 = I + P + P^2 + ... is
    nowhere negative.  So however w was found, it comes with a certificate; the bound is infinite where none was found.

    Examples
    --------
    A state that is left with probability 1/4 a step.

    >>> from scipy.sparse import csr_array
    >>> round(longest_stay(csr_array([[0.75]])), 9)
    4.0

    """
    if inner.shape[0] == 0:
        return 0.0
    found = _stay_bound(inner, _swept_stay(inner))
    return found if np.isfinite(found) else _stay_bound(inner, _solved_stay(inner))


def rounding(matrix: Any) -> float:
    """Return a bound on the rounding of a product with a matrix of probabilities, for entries of at most 1."""
    widest = int(np.diff(matrix.tocsr().indptr).max(initial=0))
    return float(np.finfo(float).eps * max(8, widest + 4))


def _stay_bound(inner: Any, stay: Table | None) -> float:
    """Return max w / c, where c is positive beyond rounding; infinite where it is not."""
    if stay is None or float(stay.min()) < 0.0:
        return np.inf
    longest = float(stay.max())
    least = float((stay - inner @ stay).min()) - rounding(inner) * longest
    return longest / least if least > 0.0 else np.inf


def _swept_stay(inner: Any) -> Table | None:
    """Return the expected time up to some step by which most have left; None where that takes many sweeps."""
    stay, staying = np.ones(inner.shape[0]), np.ones(inner.shape[0])
    for _ in range(QUICK):
        staying = inner @ staying
        if float(staying.max()) <= STAYING:
            return stay
        stay += staying
    return None


def _solved_stay(inner: Any) -> Table | None:
    """Return the expected time as the solution of a linear system; None where that has none in these numbers."""
    ones = np.ones(inner.shape[0])
    try:
        system = Factorised(inner) if inner.shape[0] <= SMALL else Preconditioned(inner)
    except RuntimeError:  # singular as far as rounding can tell
        return None
    return system.solve(ones, ones)
