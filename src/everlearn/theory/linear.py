"""Linear systems (I - gamma P) x = b of a Markov chain, with a certified error.

Three ways, since none does everything.  Iteration x <- b + gamma P x costs a product with a sparse matrix a sweep and
needs no more memory than the matrix; it is quick where the chain mixes quickly or the horizon is short.  Factorisation
takes slow chains, but fills in on chains without structure.  Where a chain is slow and large, an incomplete
factorisation guides an iteration (:class:`Preconditioned`).  For gamma < 1 the residual bounds the error of each:
|x - x*| <= |b + gamma P x - x| / (1 - gamma) in the maximum norm.
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


class Preconditioned:
    """Solves (I - P) x = b, where P is what stays among some states of a chain, all of which are left in the end.

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
