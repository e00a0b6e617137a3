"""Linear systems (I - gamma P) x = b of a Markov chain, with a certified error.

No method suits every chain, so there are three:

- iteration x <- b + gamma P x takes one sparse product per sweep and no memory beyond the matrix; it is fast if the
  chain mixes fast or the horizon is short;
- factorisation also solves slow chains, but it fills in on chains without structure (:class:`Factorised`);
- an incomplete factorisation guides an iteration on chains that are slow and large (:class:`Preconditioned`).

For gamma < 1 the residual bounds the error of each: |x - x*| <= |b + gamma P x - x| / (1 - gamma) in the maximum norm.
For gamma = 1, among states that are all left eventually, the longest expected stay takes the place of 1 / (1 - gamma)
(:func:`longest_stay`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from everlearn.errors import InputError
from everlearn.protocol import Table

Sparse: TypeAlias = Any  # a sparse matrix of SciPy (CSR), which has no types

SMALL = 30_000  # the most unknowns for which a factorisation is tried
SWEEPS = 20_000  # the most sweeps of an iteration
QUICK = 250  # the most sweeps if a factorisation is possible instead
RELATIVE = 1e-13  # the residual, relative to the right side, at which an iteration ends
STAYING = 1 / 16  # the probability of still staying at which a sum over a few steps may bound the time of a stay
REFINEMENTS = 8  # how often a solution is corrected by solving for its residual


def solve_discounted(matrix: Sparse, right: Table, discount: float) -> tuple[Table, float]:
    """Return x with x = right + discount matrix x, and a bound on its error."""
    scale = max(1.0, float(np.abs(right).max(initial=0.0)))
    solution = _iterate(matrix, right, discount, scale)
    if solution is None:
        if matrix.shape[0] > SMALL:
            remedy = f"too many unknowns to factorise, and no convergence in {SWEEPS:,} sweeps; give a shorter horizon"
            raise InputError("pairs", matrix.shape[0], remedy)
        _, factors = _factorise(discount * matrix, complete=True)
        solution = np.asarray(factors.solve(right))
    residual = float(np.abs(right + discount * (matrix @ solution) - solution).max())
    rounding = np.finfo(float).eps * (4 * float(np.abs(solution).max()) + scale)
    return solution, (residual + rounding) / (1 - discount)


def _iterate(matrix: Sparse, right: Table, discount: float, scale: float) -> Table | None:
    """Iterate until the residual is the same everywhere; return None if that takes too long.

    If the residual is c everywhere, the solution is gamma c / (1 - gamma) higher everywhere (MacQueen, 1966).  So the
    number of sweeps depends on how fast the chain mixes, and not on the horizon.
    """
    solution = right.copy()
    for _ in range(SWEEPS if matrix.shape[0] > SMALL else QUICK):
        following = np.asarray(right + discount * (matrix @ solution))
        residual = following - solution
        low, high = float(residual.min()), float(residual.max())
        solution = following
        if high - low <= RELATIVE * scale:
            return solution + discount / (1 - discount) * (low + high) / 2
    return None


def _factorise(matrix: Sparse, *, complete: bool) -> tuple[Sparse, Any]:
    """Return I - P and its factors; None for factors if it is singular up to rounding, or to the entries dropped."""
    from scipy.sparse import identity
    from scipy.sparse.linalg import spilu, splu

    system = (identity(matrix.shape[0], format="csc") - matrix).tocsc()
    try:
        return system, splu(system) if complete else spilu(system, drop_tol=1e-5, fill_factor=40)
    except RuntimeError:
        return system, None


class Factorised:
    """Solves (I - P) x = b, where P is a chain's transition matrix among states that are all left eventually."""

    def __init__(self, matrix: Sparse) -> None:
        self._matrix, self._factors = _factorise(matrix, complete=True)

    def solve(self, right: Table, near: Table, *, transposed: bool = False) -> Table | None:
        """Return x after two corrections of ``near``; None if the system is singular, or x overflows."""
        if self._factors is None:
            return None
        matrix, side = (self._matrix.T, "T") if transposed else (self._matrix, "N")
        solution = near
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(2):
                solution = solution + self._factors.solve(right - matrix @ solution, trans=side)
        return np.asarray(solution) if np.isfinite(solution).all() else None


class Preconditioned:
    """Solves (I - P) x = b as :class:`Factorised` does, if a complete factorisation would be too large.

    Stabilised biconjugate gradients (van der Vorst, 1992), guided by an incomplete factorisation, give a few digits.
    They are repeated for the residual until it is down to rounding.
    """

    def __init__(self, matrix: Sparse) -> None:
        self._matrix, self._factors = _factorise(matrix, complete=False)

    def solve(self, right: Table, near: Table, *, transposed: bool = False) -> Table | None:
        """Return x, starting from ``near``; None if it is not found to the accuracy of rounding."""
        from scipy.sparse.linalg import LinearOperator, bicgstab

        if self._factors is None:
            return None
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


System: TypeAlias = type[Factorised] | type[Preconditioned]


def longest_stay(inner: Sparse) -> float:
    """Return a bound on the expected time among states that are all left eventually, from any of them.

    If w >= 0 and w - P w >= c > 0 everywhere, that time is at most max w / c, because (I - P)^-1 = I + P + P^2 + ... is
    nowhere negative.  So the bound is certified, however w was found.  It is infinite if no such w was found.
    """
    if inner.shape[0] == 0:
        return 0.0
    bound = _stay_bound(inner, _sum_stay(inner))
    if np.isfinite(bound):
        return bound
    ones, system = np.ones(inner.shape[0]), Factorised if inner.shape[0] <= SMALL else Preconditioned
    return _stay_bound(inner, system(inner).solve(ones, ones))


def _stay_bound(inner: Sparse, stay: Table | None) -> float:
    """Return max w / c if c is positive beyond rounding, else infinity."""
    if stay is None or float(stay.min()) < 0.0:
        return np.inf
    longest = float(stay.max())
    least = float((stay - inner @ stay).min()) - rounding(inner) * longest
    return longest / least if least > 0.0 else np.inf


def _sum_stay(inner: Sparse) -> Table | None:
    """Return the expected time up to a step by which most have left; None if that takes many sweeps."""
    stay, staying = np.ones(inner.shape[0]), np.ones(inner.shape[0])
    for _ in range(QUICK):
        staying = inner @ staying
        if float(staying.max()) <= STAYING:
            return stay
        stay += staying
    return None


def rounding(matrix: Sparse) -> float:
    """Return a bound on the rounding of a product with a matrix of probabilities, for entries of at most 1."""
    widest = int(np.diff(matrix.tocsr().indptr).max(initial=0))
    return float(np.finfo(float).eps * max(8, widest + 4))
