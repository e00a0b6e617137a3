"""The Markov decision process of a task that hides its memory, with what is observed at each step.

Pairs with the same memory, equal rewards and equivalent successors are merged into one *kind*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table
from everlearn.tables import MOST_PAIRS, ArrayTable, PairTable
from everlearn.tasks.task import Task
from everlearn.theory.linear import Sparse
from everlearn.theory.pairs import completed_table


class Hidden(NamedTuple):
    """The Markov decision process of a hidden task, over kinds of pairs, with what is observed at each step."""

    task: Task
    steps: tuple[dict[int, Sparse], ...]
    """For each action and observation that can follow it, the chances of (observation, next kind), kinds by kinds."""
    rewards: Table
    """One row per action."""
    start: int

    @property
    def size(self) -> int:
        """The number of kinds."""
        return int(self.rewards.shape[1])


def lumped(task: Task, max_pairs: int = MOST_PAIRS) -> Hidden:
    """Return the process over kinds of pairs: of one memory, with equal rewards, and with successors of equal kinds."""
    from scipy.sparse import csr_array

    table = completed_table(task, max_pairs)
    shape = table.expanded, table.actions, table.width
    rows = table.rows[: np.prod(shape)].reshape(shape)
    chances = table.probabilities[: np.prod(shape)].reshape(shape)
    following = rows["next"].astype(np.int64)
    kind, first = _kinds(table, following, rows["reward"])
    steps = []
    for action in range(table.actions):
        here, seen, after = chances[first, action], rows["observation"][first, action], kind[following[first, action]]
        origin = np.broadcast_to(np.arange(len(first))[:, None], here.shape)
        matrices = {}
        for observation in np.unique(seen[here > 0]).tolist():
            taken = (seen == observation) & (here > 0)
            entries = here[taken], (origin[taken], after[taken])
            matrices[observation] = csr_array(entries, shape=(len(first), len(first)))
        steps.append(matrices)
    rewards = np.einsum("paw,paw->ap", chances[first], rows["reward"][first])
    return Hidden(task, tuple(steps), rewards, int(kind[table.start]))


def _kinds(
    table: PairTable | ArrayTable, following: NDArray[np.int64], rewards: Table
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the kind of each pair, and a pair of each kind; rows of one memory list the same outcomes in one order."""
    numbers: dict[object, int] = {}
    memories = (table.name(pair) for pair in range(table.expanded))
    names = (memory[0] if isinstance(memory, list) else memory for memory in memories)
    kind = np.array([numbers.setdefault(name, len(numbers)) for name in names])
    paid = np.unique(rewards, return_inverse=True)[1].reshape(len(kind), -1)
    while True:
        keys = np.column_stack((kind, paid, kind[following].reshape(len(kind), -1)))
        _, first, finer = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        if len(first) == kind.max() + 1:
            return finer.ravel(), first
        kind = finer.ravel()
