"""Linear systems (I - gamma P) x = b of a Markov chain, with a certified error.

Two ways, since neither does everything.  Iteration x <- b + gamma P x costs a product with a sparse matrix a sweep and
needs no more memory than the matrix; it is quick where the chain mixes quickly or the horizon is short.  Factorisation
takes slow chains, but fills in on chains without structure.  For gamma < 1 the residual bounds the error of either:
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
