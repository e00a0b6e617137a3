"""Test on transitions whether an aleatoric state is a Markov state: whether the past adds to what it tells.

Given an aleatoric state s and an action a, what follows must not depend on anything else that is known before: neither
on the state before s, nor on whether it happens early or late.  The test groups the transitions of each (s, a) by such
a *context*, and compares the means of the groups by a chi-square test, all (s, a) together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everlearn.durable.transitions import Transitions
from everlearn.protocol import Table

FEWEST = 10
"""The least number of transitions in a group; smaller groups are left out."""


def previous_state_test(data: Transitions, residuals: Table) -> float:
    """Return the p-value of the hypothesis that the state before the present one does not matter.

    ``residuals`` has a number for each transition, whose mean given (s, a) must not depend on the context.

    Examples
    --------
    >>> ones = np.ones(600, dtype=int)
    >>> states = np.array([0, 2, 1, 2] * 150)
    >>> data = Transitions(states, 0 * ones, 0 * ones, 1.0 * ones, np.roll(states, -1))
    >>> noise = np.random.default_rng(0).normal(size=600)
    >>> previous_state_test(data, noise) > 0.01, previous_state_test(data, noise + (np.roll(states, 1) == 0)) < 0.01
    (True, True)

    """
    chained = np.flatnonzero(data.states[1:] == data.following[:-1]) + 1
    return _compare(data, residuals, chained, data.states[chained - 1])


def halves_test(data: Transitions, residuals: Table) -> float:
    """Return the p-value of the hypothesis that the two halves of the transitions are alike; see the other test."""
    rows = np.arange(len(residuals))
    return _compare(data, residuals, rows, (2 * rows >= len(rows)).astype(np.int64))


def _compare(data: Transitions, residuals: Table, rows: NDArray[np.int64], contexts: NDArray[np.int64]) -> float:
    from scipy.special import chdtrc

    pairs = data.states[rows] * (1 + data.actions.max()) + data.actions[rows]
    group, sizes = _numbered(pairs * (1 + contexts.max(initial=0)) + contexts)
    kept = sizes[group] >= FEWEST
    if not kept.any():
        return 1.0
    (pairs, n), (group, sizes) = _numbered(pairs[kept]), _numbered(group[kept])
    values = residuals[rows][kept]
    values = values - (np.bincount(pairs, values) / n)[pairs]
    variance = np.bincount(pairs, values**2) / (n - 1)
    owner = np.zeros(sizes.size, dtype=np.int64)
    owner[group] = pairs
    varies = variance[owner] > 0
    parts = sizes * (np.bincount(group, values) / sizes) ** 2 / np.where(varies, variance[owner], 1.0)
    freedom = int(varies.sum()) - int((variance > 0).sum())
    return float(chdtrc(freedom, parts[varies].sum())) if freedom > 0 else 1.0


def _numbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return keys as numbers from zero, and how often each occurs."""
    _, numbers, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return numbers, sizes
