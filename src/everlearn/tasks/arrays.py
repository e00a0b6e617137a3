"""Tasks from arrays: a Markov decision process as transition and reward matrices, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation
from everlearn.environments.model import SUM_TOLERANCE, Model
from everlearn.errors import InputError, ProbabilityError, RewardError, require
from everlearn.labels import check_labels
from everlearn.protocol import Label
from everlearn.tasks.task import Arrays, Task


def mdp(
    P: Any,
    R: ArrayLike,
    *,
    actions: Iterable[Label] | None = None,
    start: int = 0,
    reward_range: tuple[float, float] | None = None,
    raw: bool = False,
    name: str = "mdp",
    source: str = "",
) -> Task:
    """Make a task from arrays: what is observed is the next state, and that is the aleatoric state.

    Parameters
    ----------
    P:
        probabilities of the next state, ``P[action][state, next state]``: an array of three dimensions, or a sequence
        of matrices, dense or SciPy sparse, one for each action
    R:
        rewards, ``R[state, action]`` or ``R[state, action, next state]``
    actions:
        labels; 0, 1, ... unless given
    start:
        the state in which the stream begins
    reward_range:
        the least and the greatest reward; those of R unless given
    raw, name, source:
        as in :func:`everlearn.task`

    Examples
    --------
    >>> stay_or_go = mdp([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0, 0], [1, 0]], actions=["stay", "go"])
    >>> stay_or_go.model.outcomes(0, "go")
    (Outcome(observation=1, probability=1.0, memory=1),)

    """
    require(isinstance(P, Iterable), "P", P, "give a matrix for each action")
    matrices = [_matrix(matrix, action) for action, matrix in enumerate(P)]
    require(bool(matrices), "P", P, "give a matrix for each action")
    states = int(matrices[0].shape[0])
    for action, matrix in enumerate(matrices):
        _check_rows(matrix, action, states)
    labels = check_labels(range(len(matrices)) if actions is None else actions, "actions")
    require(
        len(labels) == len(matrices),
        "actions",
        labels,
        f"P has {len(matrices)} matrices; give as many labels",
    )
    require(0 <= start < states, "start", start, f"give a state from 0 to {states - 1}")
    rewards = _rewards(R, states, len(matrices))
    low, high = _range(rewards) if reward_range is None else _two(reward_range)
    index = {label: number for number, label in enumerate(labels)}

    def rho(memory: int, action: Label) -> Iterator[tuple[int, float, int]]:
        matrix = matrices[index[action]]
        row = slice(matrix.indptr[memory], matrix.indptr[memory + 1])
        for following, probability in zip(matrix.indices[row], matrix.data[row], strict=True):
            yield int(following), float(probability), int(following)

    def reward(aleatoric_state: int, action: Label, following: int) -> float:
        return float(rewards[aleatoric_state, index[action], following % rewards.shape[2]])

    observations = tuple(range(states))
    return Task(
        labels,
        observations,
        AleatoricState(start, last_observation().update, observations),
        Reward(reward, low, high, raw),
        Model(labels, observations, start, rho),
        name=name,
        source=source,
        arrays=Arrays(matrices, rewards),
    )


def _matrix(given: Any, action: int) -> Any:
    from scipy.sparse import csr_array

    try:
        matrix = csr_array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"P[{action}]", given, "give a matrix of probabilities") from None
    matrix = matrix.copy()  # what was given stays as it was
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


def _rewards(given: ArrayLike, states: int, actions: int) -> NDArray[np.float64]:
    try:
        rewards = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "R", given, f"give numbers of shape {(states, actions)} or {(states, actions, states)}"
        ) from None
    if rewards.shape == (states, actions):
        rewards = rewards[:, :, None]
    remedy = f"give {(states, actions)} or {(states, actions, states)}"
    require(
        rewards.shape in ((states, actions, 1), (states, actions, states)),
        "shape of R",
        rewards.shape,
        remedy,
    )
    if not np.isfinite(rewards).all():
        raise RewardError("R", float(rewards[~np.isfinite(rewards)][0]), "must be finite")
    return rewards


def _two(given: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise InputError("reward_range", given, "give the lower and the upper end") from None
    return low, high


def _range(rewards: NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(rewards.min()), float(rewards.max())
    return (low, high) if low < high else (low, low + 1)
