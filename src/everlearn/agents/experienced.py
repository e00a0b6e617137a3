"""What an agent that plans on a model has counted: how often each action led where, and what it earned there.

Such an agent takes the aleatoric state for the state of a Markov decision process, whether it is one or not.  Its
tables have |S|^2 |A| entries, so that there is a size past which it refuses a task.

All that is known of a pair of a state and an action lies in one row: a count for each next state, what else the agent
needs for each, and at the end a few numbers.  A step then touches one place in memory, and compiled code handles one
array, each of which costs it some time at every step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everlearn.errors import require
from everlearn.protocol import Experience, Table
from everlearn.tasks.indexed import IndexedTask

ENTRIES = 15_000_000
"""How many entries a table over (state, action, next state) may have: 120 MB, and an agent may need two."""

MOST_SWEEPS = 10**18
"""As many as fit into the whole numbers of compiled code; in practice, no bound."""

VISITS, EARNED, BEFORE, REWARD = -1, -2, -3, -4
"""Places in a row: how often the pair was visited, the sum of its rewards in [0, 1], its visits before the episode, and
the reward that the agent plans with."""


def check_size(indexed: IndexedTask, agent: str) -> None:
    """Refuse a task whose model would not fit into memory."""
    states, actions = indexed.states, indexed.actions
    most = int((ENTRIES / actions) ** 0.5)
    remedy = (
        f"its model has |S|^2 |A| entries, at most {ENTRIES:,}; with {actions} actions that is {most:,} aleatoric "
        f"states, and {indexed.task.name!r} has {states:,}; choose fewer, or an agent without a model, such as "
        "growing-horizon"
    )
    require(states * states * actions <= ENTRIES, "agent", agent, remedy)


def check_sweeps(sweeps: int) -> None:
    """Refuse a number of sweeps that compiled code cannot count.

    Examples
    --------
    >>> check_sweeps(1000)

    """
    remedy = f"give a whole number of at least 1, at most {MOST_SWEEPS:.0e}"
    require(1 <= sweeps <= MOST_SWEEPS, "agent.sweeps", sweeps, remedy)


def count(pairs: Table, experience: Experience) -> None:
    """Count one step, whose reward is in [0, 1].

    Examples
    --------
    >>> pairs = np.zeros((2, 1, 6))
    >>> count(pairs, Experience(0, 0, 1, 0.5, 1))
    >>> pairs[0, 0].tolist()
    [0.0, 1.0, 0.0, 0.0, 0.5, 1.0]

    """
    s = experience.aleatoric_state
    a = experience.action
    pairs[s, a, experience.next_aleatoric_state] += 1.0
    pairs[s, a, VISITS] += 1.0
    pairs[s, a, EARNED] += experience.reward


def deterministic(chosen: NDArray[np.int64], actions: int) -> Table:
    """Return a policy as probabilities, from the action that it chooses in each aleatoric state.

    Examples
    --------
    >>> deterministic(np.array([1, 0]), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]

    """
    table = np.zeros((len(chosen), actions))
    table[np.arange(len(chosen)), chosen] = 1.0
    return table
