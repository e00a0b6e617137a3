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
        solution = factorised(matrix, discount, [right])[0]
    residual = float(np.abs(right + discount * (matrix @ solution) - solution).max())
    rounding = np.finfo(float).eps * (4 * float(np.abs(solution).max()) + scale)
    return solution, (residual + rounding) / (1 - discount)


def factorised(matrix: Any, discount: float, rights: list[Table]) -> list[Table]:
    """Solve by factorisation, for several right sides."""
    from scipy.sparse import identity
    from scipy.sparse.linalg import splu

    if matrix.shape[0] > SMALL:
        remedy = f"too many unknowns to factorise, and no convergence in {SWEEPS:,} sweeps; give a shorter horizon"
        raise InputError("pairs", matrix.shape[0], remedy)
    factors = splu((identity(matrix.shape[0], format="csc") - discount * matrix).tocsc())
    return [factors.solve(right) for right in rights]


def _iterate(matrix: Any, right: Table, discount: float, scale: float) -> Table | None:
    """Iterate until the residual is small; None where that would take too long, which a few sweeps tell."""
    allowed = SWEEPS if matrix.shape[0] > SMALL else 400
    solution = right.copy()
    for _ in range(allowed):
        following = np.asarray(right + discount * (matrix @ solution))
        residual = float(np.abs(following - solution).max())
        solution = following
        if residual <= RELATIVE * scale * max(1.0, float(np.abs(solution).max())):
            return solution
    return None
