"""Transition and reward counts, for agents that plan on a model.

Such an agent treats the aleatoric state as the state of a Markov decision process.  Everything that it knows about a
pair of a state and an action lies in one row: a count for each next state, whatever else it needs for each next state,
and a few numbers at the end.  So a step touches one place in memory, and compiled code handles a single array.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everlearn.agents.planning import middle
from everlearn.protocol import Experience, Table

VISITS, EARNED, BEFORE, REWARD = -1, -2, -3, -4
"""Places in a row: the visits of the pair, the sum of its rewards in [0, 1], its visits before the episode, and the
reward that the agent plans with."""


def count_step(pairs: Table, experience: Experience) -> None:
    """Count one step, whose reward is in [0, 1]."""
    s = experience.aleatoric_state
    a = experience.action
    pairs[s, a, experience.next_aleatoric_state] += 1.0
    pairs[s, a, VISITS] += 1.0
    pairs[s, a, EARNED] += experience.reward


def planned_policy(chosen: NDArray[np.int64], actions: int) -> Table:
    """Return the action chosen in each aleatoric state as probabilities."""
    return np.eye(actions)[chosen]


def show_plan(pairs: Table, value: Table, change: Table, episode: float) -> dict[str, Table]:
    """Return the tables to inspect: N, V, the gain and the number of the episode."""
    gain, number = np.array([middle(change)]), np.array([episode])
    return {"N": pairs[:, :, VISITS].copy(), "V": value.copy(), "gain": gain, "episode": number}
