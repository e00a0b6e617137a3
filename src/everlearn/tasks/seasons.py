"""A random task that changes with a season the agent does not see: at once, or slowly and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import require
from everlearn.protocol import Table
from everlearn.tasks.arrays import mdp
from everlearn.tasks.garnet import random_law
from everlearn.tasks.portrait import Portrait
from everlearn.tasks.task import Task

SUDDEN, SLOW = "sudden", "slow"

MOST_MEMORIES = 1_000_000
"""The largest number of memories, one per aleatoric state and step of the year."""


def seasons(
    *, states: int = 5, actions: int = 2, branching: int = 2, year: int = 400, change: str = SUDDEN, seed: int = 0
) -> Task:
    """Act in a random Markov decision process that changes with a hidden season.

    The law of motion of summer is drawn as in :func:`everlearn.tasks.garnet.garnet`.  In winter the actions have
    changed places: the first does what the last did.  Half a year is summer and half is winter, or the law moves from
    one to the other at a constant pace and back.  To arrive in a state earns what is drawn for it, uniform in [0, 1].
    The aleatoric state is the state of the process; the optimum is over policies that know the step of the year.

    Parameters
    ----------
    states:
        the number of aleatoric states
    actions:
        the number of actions
    branching:
        the number of states that can follow in one season
    year:
        the number of steps after which the law repeats
    change:
        ``sudden`` or ``slow``
    seed:
        determines the law and the rewards

    Examples
    --------
    >>> task = seasons(year=4)
    >>> [[round(p, 3) for _, p, _ in task.model.outcomes(*pair)] for pair in ((0, 0), (10, 1), (10, 0))]
    [[0.102, 0.898], [0.102, 0.898], [0.22, 0.78]]

    """
    parameters = dict(locals())
    for name in ("states", "actions", "branching", "year"):
        require(parameters[name] >= 1, name, parameters[name], "give at least 1")
    require(branching <= states, "branching", branching, f"give at most the number of states, {states}")
    remedy = f"give at most {MOST_MEMORIES:,} as their product"
    require(states * year <= MOST_MEMORIES, "states and year", (states, year), remedy)
    require(change in (SUDDEN, SLOW), "change", change, f"give {SUDDEN} or {SLOW}")
    require(seed >= 0, "seed", seed, "give a whole number of at least 0")
    random = np.random.Generator(np.random.SFC64(seed))
    targets, chances = random_law(random, np.arange(states), states, actions, branching)
    rewards = np.tile(random.random(states), year)
    laws = [_matrix(targets[:, action], chances[:, action]) for action in range(actions)]
    matrices = [_whole_year(*pair, year, change) for pair in zip(laws, reversed(laws), strict=True)]
    task = mdp(
        matrices,
        [_earned(matrix, rewards) for matrix in matrices],
        aggregate=[state for _ in range(year) for state in range(states)],
        reward_range=(0.0, 1.0),
        name="seasons",
        source="after Archibald, McKinnon and Thomas (1995)",
    )
    summary = "a random Markov decision process that changes with a season, which is not seen"
    dilemma = "What paid in one season costs in the next, and nothing says which it is."
    return replace(
        task,
        summary=summary,
        portrait=Portrait(dilemma, "place {}", preset={"task.aleatoric": "memory"}),
        parameters=parameters,
    )


def _whole_year(summer: Any, winter: Any, year: int, change: str) -> Any:
    """Return the matrix of an action over (step of the year, state); each step of the year leads to the next."""
    from scipy.sparse import csr_array, kron

    x = np.arange(year) / year
    wintry = 1 - np.abs(1 - 2 * x) if change == SLOW else (x >= 0.5).astype(float)
    places = np.arange(year), (np.arange(year) + 1) % year
    parts = [
        kron(csr_array((share, places), shape=(year, year)), law)
        for share, law in zip((1 - wintry, wintry), (summer, winter), strict=True)
    ]
    whole = csr_array(parts[0] + parts[1])
    whole.eliminate_zeros()
    return whole


def _matrix(targets: NDArray[np.int64], chances: Table) -> Any:
    from scipy.sparse import csr_array

    states, width = targets.shape
    rows = np.repeat(np.arange(states), width)
    return csr_array((chances.ravel(), (rows, targets.ravel())), shape=(states, states))


def _earned(matrix: Any, rewards: Table) -> Any:
    """Return the reward of each possible transition."""
    earned = matrix.copy()
    earned.data = rewards[matrix.indices]
    return earned
