"""What other bounds of the literature need: the diameter, and the gaps of actions that are not optimal.

The *diameter* (Jaksch, Ortner and Auer, 2010) is the greatest, over ordered pairs of states, of the least expected time
from the one to the other under any policy.  The *gap* of an action in a state is lambda_* + h - (rbar_a + P_a h), with
h an optimal bias: what taking it once costs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import InputError
from everlearn.protocol import Table
from everlearn.theory.optimum import Optimum
from everlearn.theory.pairs import Pairs
from everlearn.theory.values import action_values

SMALL = 500
"""Up to how many pairs the diameter is computed: it takes a shortest-path problem for each."""


def gaps(pairs: Pairs, optimum: Optimum) -> Table:
    """Return the gap of each action in each pair, a row for each action; zero for what is optimal.

    Examples
    --------
    >>> from everlearn.tasks.arrays import mdp
    >>> from everlearn.theory.optimum import optimum
    >>> from everlearn.theory.pairs import tabulate
    >>> pairs = tabulate(mdp([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0, 0], [1, 0]]))
    >>> gaps(pairs, optimum(pairs)).round(9).tolist()
    [[1.0, 0.0], [0.0, 2.0]]

    """
    values = action_values(pairs, optimum.bias, 1.0)
    return np.asarray(np.maximum(optimum.gain + optimum.bias - values, 0.0))


def diameter(pairs: Pairs) -> float:
    """Return the diameter over pairs; infinite where some pair cannot be reached from another.

    Examples
    --------
    >>> from everlearn.tasks.arrays import mdp
    >>> from everlearn.theory.pairs import tabulate
    >>> round(diameter(tabulate(mdp([[[0.5, 0.5], [0.25, 0.75]]], [[0], [1]]))), 9)
    4.0

    """
    if pairs.size > SMALL:
        raise InputError("pairs", pairs.size, f"the diameter is computed for at most {SMALL} pairs")
    from scipy.sparse.csgraph import connected_components

    if connected_components(sum(pairs.transitions), directed=True, connection="strong")[0] > 1:
        return np.inf
    return max(float(_least_times(pairs, target).max()) for target in range(pairs.size))


def _least_times(pairs: Pairs, target: int) -> Table:
    """Return the least expected time to a pair from each, by policy iteration on the shortest-path problem."""
    matrices = [transition.toarray() for transition in pairs.transitions]
    reach = _proper_choice(matrices, target)
    everywhere = np.arange(pairs.size)
    while True:
        chosen = np.array([matrices[action][pair] for pair, action in enumerate(reach)])
        chosen[target] = 0.0
        chosen[:, target] = 0.0
        times = np.linalg.solve(np.eye(pairs.size) - chosen, np.ones(pairs.size))
        times[target] = 0.0
        ahead = np.array([matrix @ times for matrix in matrices])
        better = ahead.min(axis=0) < ahead[reach, everywhere] - 1e-9 * max(1.0, float(times.max()))
        better[target] = False
        if not better.any():
            return times
        reach = np.where(better, ahead.argmin(axis=0), reach)


def _proper_choice(matrices: list[Table], target: int) -> NDArray[np.int64]:
    """Return actions under which the target is reached for certain: each a step nearer, with positive probability."""
    choice, near = np.zeros(len(matrices[0]), dtype=np.int64), {target}
    while len(near) < len(choice):
        reached = {
            pair: action
            for action, matrix in enumerate(matrices)
            for pair in np.flatnonzero(matrix[:, sorted(near)].sum(axis=1) > 0).tolist()
            if pair not in near
        }
        for pair, action in reached.items():
            choice[pair] = action
        near |= set(reached)
    return choice
