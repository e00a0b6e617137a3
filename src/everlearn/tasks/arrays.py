"""Make tasks from arrays: the transition and reward matrices of a Markov decision process, dense or sparse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.reward import reward_range as read_range
from everlearn.aleatoric.state import AleatoricState
from everlearn.environments.model import SUM_TOLERANCE, Model
from everlearn.errors import InputError, ProbabilityError, RewardError, TaskError, require
from everlearn.labels import check_label, check_labels, in_order
from everlearn.protocol import Label
from everlearn.tasks.task import Arrays, Task


def mdp(
    P: Any,
    R: Any,
    *,
    actions: Iterable[Label] | None = None,
    aggregate: Iterable[Label] | None = None,
    start: int = 0,
    reward_range: tuple[float, float] | None = None,
    raw: bool = False,
    name: str = "mdp",
    source: str = "",
) -> Task:
    """Make a task from arrays.

    The observation is the next state.  So is the aleatoric state, unless ``aggregate`` has a label for each state.

    Parameters
    ----------
    P:
        probabilities of the next state, ``P[action][state, next state]``: an array of three dimensions, or a sequence
        of matrices, dense or SciPy sparse, one per action
    R:
        rewards, ``R[state, action]`` or ``R[state, action, next state]``, or a sparse matrix ``R[action][state, next]``
        per action
    actions:
        labels; by default 0, 1, ...
    aggregate:
        one label per state, used as the aleatoric state; by default the state itself. With ``aggregate``, the reward
        may depend only on that label, the action and the next state
    start:
        the state in which the stream begins
    reward_range:
        the smallest and the largest reward; by default those of all possible transitions
    raw:
        as in :func:`everlearn.task`
    name:
        as in :func:`everlearn.task`
    source:
        as in :func:`everlearn.task`

    Examples
    --------
    >>> stay_or_go = mdp([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0, 0], [1, 0]], actions=["stay", "go"])
    >>> stay_or_go.model.outcomes(0, "go")
    (Outcome(observation=1, probability=1.0, memory=1),)
    >>> blind = mdp([[[0.5, 0.5], [0.5, 0.5]]], [[[0, 1]], [[0, 1]]], aggregate=["any", "any"])
    >>> blind.states
    ('any',)

    """
    require(isinstance(P, Iterable), "P", P, "give a matrix for each action")
    matrices = [_matrix(matrix, action) for action, matrix in enumerate(P)]
    require(bool(matrices), "P", P, "give a matrix for each action")
    states = int(matrices[0].shape[0])
    require(states > 0, "shape of P[0]", matrices[0].shape, "give at least one state")
    shapes = {matrix.shape for matrix in matrices}
    if shapes == {(matrices[0].shape[0], len(matrices))} and states != len(matrices):
        remedy = "P is P[action][state, next state]; yours looks like P[state, action, next state]"
        raise InputError("shape of P", (len(matrices), *matrices[0].shape), f"{remedy}; pass np.swapaxes(P, 0, 1)")
    for action, matrix in enumerate(matrices):
        _check_rows(matrix, action, states)
    labels = check_labels(range(len(matrices)) if actions is None else actions, "actions")
    remedy = f"P has {len(matrices)} matrices; give as many labels"
    require(len(labels) == len(matrices), "actions", labels, remedy)
    require(check_label(start, "start") in range(states), "start", start, f"give a state from 0 to {states - 1}")
    given = _rewards(R, states, len(labels))
    rewards = [_along(*pair) for pair in zip(matrices, given, strict=True)]
    low, high = _range(rewards) if reward_range is None else read_range(reward_range)
    seen = tuple(range(states)) if aggregate is None else in_order(aggregate, "aggregate")
    require(len(seen) == states, "aggregate", f"{len(seen)} labels", f"give {states}, one for each state")
    number = {label: place for place, label in enumerate(dict.fromkeys(seen))}
    arrays = Arrays(matrices, rewards, np.array([number[label] for label in seen]))
    index = {label: place for place, label in enumerate(labels)}
    if aggregate is not None:
        _check_reward_is_a_function(arrays, tuple(number), labels)
    predecessor = _Predecessors(arrays)

    def rho(memory: int, action: Label) -> Iterator[tuple[int, float, int]]:
        matrix = matrices[index[action]]
        row = slice(matrix.indptr[memory], matrix.indptr[memory + 1])
        for following, probability in zip(matrix.indices[row], matrix.data[row], strict=True):
            yield int(following), float(probability), int(following)

    def reward(aleatoric_state: Label, action: Label, following: int) -> float:
        a, s = index[action], number[aleatoric_state]
        memory = s if aggregate is None else predecessor.find(s, a, following)
        return float(given[a][memory, following % given[a].shape[1]])

    observations = tuple(range(states))
    return Task(
        labels,
        observations,
        AleatoricState(seen[start], lambda _aleatoric_state, _action, observation: seen[observation], tuple(number)),
        Reward(reward, low, high, raw),
        Model(labels, observations, start, rho),
        name=name,
        source=source,
        arrays=arrays,
    )


def _check_reward_is_a_function(arrays: Arrays, seen: tuple[Label, ...], actions: tuple[Label, ...]) -> None:
    """Raise if rewards depend on more of a memory than its aleatoric state: r is a function of (s, a, o)."""
    for action, matrix, rewards in zip(actions, arrays.matrices, arrays.rewards, strict=True):
        origin = arrays.classes[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))]
        order = np.lexsort((rewards, matrix.indices, origin))
        same = (np.diff(origin[order]) == 0) & (np.diff(matrix.indices[order]) == 0)
        wrong = np.flatnonzero(same & (np.diff(rewards[order]) != 0))
        if wrong.size:
            entry, other = order[wrong[0]], order[wrong[0] + 1]
            where = (seen[origin[entry]], action, int(matrix.indices[entry]))
            remedy = "must be equal; distinguish them by the next state or the aggregate"
            raise RewardError(f"reward of {where!r}", (float(rewards[entry]), float(rewards[other])), remedy)


class _Predecessors:
    """Finds a memory in an aleatoric state from which an action can lead to a state."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._columns: dict[int, Any] = {}

    def find(self, aleatoric_state: int, action: int, following: int) -> int:
        """Return any such memory, since all have the same reward."""
        if action not in self._columns:
            self._columns[action] = self._arrays.matrices[action].tocsc()
        matrix = self._columns[action]
        memories = matrix.indices[matrix.indptr[following] : matrix.indptr[following + 1]]
        inside = memories[self._arrays.classes[memories] == aleatoric_state]
        if not inside.size:
            where = (aleatoric_state, action, following)
            raise TaskError("aleatoric state, action and next state, by number", where, "cannot happen")
        return int(inside[0])


def _matrix(given: Any, action: int) -> Any:
    from scipy.sparse import csr_array

    try:
        matrix = csr_array(_real(given), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"P[{action}]", given, "give a matrix of probabilities") from None
    matrix = matrix.copy()  # the user's matrix stays the same
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _check_rows(matrix: Any, action: int, states: int) -> None:
    require(matrix.shape == (states, states), f"shape of P[{action}]", matrix.shape, f"give {(states, states)}")
    if not np.all((matrix.data >= 0) & (matrix.data <= 1 + SUM_TOLERANCE)):
        worst = float(matrix.data[~((matrix.data >= 0) & (matrix.data <= 1 + SUM_TOLERANCE))][0])
        raise ProbabilityError(f"P[{action}]", worst, "probabilities must lie in [0, 1]")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    if (worst_row := int(np.argmax(np.abs(sums - 1)))) >= 0 and abs(sums[worst_row] - 1) > SUM_TOLERANCE:
        raise ProbabilityError(f"sum of P[{action}][{worst_row}]", float(sums[worst_row]), "must sum to one")


def _along(matrix: Any, given: Any) -> NDArray[np.float64]:
    """Return the reward of every entry of a matrix of probabilities."""
    origin = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    if isinstance(given, np.ndarray):
        return np.asarray(given[origin, matrix.indices % given.shape[1]])
    from scipy.sparse import coo_array

    entries = coo_array(given[origin, matrix.indices])  # zeros are left out of it
    rewards = np.zeros(matrix.nnz)
    rewards[entries.coords[-1]] = entries.data
    return rewards


def _rewards(given: Any, states: int, actions: int) -> list[Any]:
    """Return for each action an array, by state and next state or by state alone, or a sparse matrix."""
    from scipy.sparse import issparse

    remedy = f"give {(states, actions)} or {(states, actions, states)}, or a sparse matrix for each action"
    if isinstance(given, list | tuple) and given and all(map(issparse, given)):
        shapes = [matrix.shape for matrix in given]
        require(shapes == [(states, states)] * actions, "shapes of R", shapes, remedy)
        _check_finite(np.concatenate([matrix.tocoo().data for matrix in given]))
        return [_real(matrix.tocsr()).astype(np.float64) for matrix in given]
    try:
        rewards = np.array(_real(given), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("R", given, f"give numbers of shape {remedy.removeprefix('give ')}") from None
    if rewards.shape == (states, actions):
        rewards = rewards[:, :, None]
    shapes = [(states, actions, 1), (states, actions, states)]
    require(rewards.shape in shapes, "shape of R", rewards.shape, remedy)
    _check_finite(rewards)
    return list(rewards.transpose(1, 0, 2))


def _real(given: Any) -> Any:
    """Return an array or a matrix; raise if it has complex numbers, of which NumPy would drop a part, or texts."""
    array = given if hasattr(given, "dtype") else np.asarray(given)
    texts = array.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in np.ravel(array))
    if texts or array.dtype.kind in "cSU":
        raise TypeError("not real numbers")
    return given


def _check_finite(rewards: NDArray[np.float64]) -> None:
    if not np.isfinite(rewards).all():
        raise RewardError("R", float(rewards[~np.isfinite(rewards)][0]), "must be finite")


def _range(rewards: list[NDArray[np.float64]]) -> tuple[float, float]:
    low, high = float(min(array.min() for array in rewards)), float(max(array.max() for array in rewards))
    return (low, high) if low < high else (low, max(low + 1, math.nextafter(low, math.inf)))
