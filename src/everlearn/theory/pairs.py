"""The Markov decision process behind a task: its reachable pairs of a memory and an aleatoric state.

A memory is a sufficient statistic of history, and the aleatoric state phi(h) is a function of history.  So the pair of
the two is a Markov state, on which everything that the paper defines over histories can be computed:

- P_a, the transition matrix of action a, and rbar_a, its expected reward, over pairs (Section 3);
- the pairs that are reachable under some policy stand for all histories that can happen.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from everlearn.environments.model import Model
from everlearn.errors import InputError, TableFull
from everlearn.protocol import Label, Table
from everlearn.tables import MOST_PAIRS, ArrayTable, PairTable, make_table
from everlearn.tasks.task import Task
from everlearn.theory.chains import Chain
from everlearn.theory.linear import Sparse


@dataclass(frozen=True)
class Pairs:
    """P_a and rbar_a over the reachable pairs of a task.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> pairs = tabulate(service_station(cap=3))
    >>> pairs.size, pairs.transitions[0].shape, pairs.memories
    (364, (364, 364), 364)

    """

    task: Task
    transitions: tuple[Sparse, ...]  # P_a for each action: pairs by pairs
    rewards: Table  # rbar_a, one row per action, in the task's own units
    states: NDArray[np.int64]  # the index of the aleatoric state of each pair
    labels: list[tuple[Label, Label]]  # memory and aleatoric state of each pair
    start: int  # the pair of the empty history

    @property
    def size(self) -> int:
        """The number of pairs."""
        return len(self.states)

    @property
    def memories(self) -> int:
        """The number of reachable memories."""
        return len({memory for memory, _ in self.labels})

    @cached_property
    def visited(self) -> NDArray[np.int64]:
        """The indices of the aleatoric states that can be visited, in order."""
        return np.unique(self.states)

    @property
    def distinct(self) -> bool:
        """Whether every aleatoric state has one pair, so that there is no distortion."""
        return len(self.visited) == self.size

    def policy(self, table: Table) -> Table:
        """Return a policy over aleatoric states as one over pairs: one row per pair."""
        return np.asarray(table)[self.states]

    def under(self, policy: Table) -> tuple[Sparse, Table]:
        """Return P_pi and rbar_pi for a policy over pairs."""
        from scipy.sparse import diags_array

        weights = [diags_array(policy[:, action]) for action in range(len(self.transitions))]
        matrix = sum(weight @ transition for weight, transition in zip(weights, self.transitions, strict=True)).tocsr()
        matrix.eliminate_zeros()
        return matrix, np.einsum("pa,ap->p", policy, self.rewards)

    def chain(self, policy: Table) -> Chain:
        """Return the Markov chain that a policy over pairs makes of them."""
        return Chain(*self.under(policy))


def tabulate(task: Task, max_pairs: int = MOST_PAIRS) -> Pairs:
    """Return the pairs of a task; raise :class:`TableFull` if there are more than ``max_pairs``."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    table = completed_table(task, max_pairs)
    number, actions, width = table.expanded, table.actions, table.width
    rows = table.rows.reshape(-1, actions, width)[:number]
    chances = table.probabilities.reshape(-1, actions, width)[:number]
    origin = np.repeat(np.arange(number), width)
    matrices = []
    for action in range(actions):
        entries = chances[:, action].ravel(), (origin, rows["next"][:, action].ravel().astype(np.int64))
        matrix = csr_array(entries, shape=(number, number))
        matrix.eliminate_zeros()
        matrices.append(matrix)
    rewards = np.einsum("paw,paw->ap", chances, rows["reward"])
    if isinstance(table, PairTable):
        labels = table.labels
        places = {label: place for place, label in enumerate(task.states)}
        states = np.array([places[state] for _, state in labels])
    else:
        states = table.states
        labels = [(memory, task.states[state]) for memory, state in enumerate(states.tolist())]
    kept = np.sort(breadth_first_order(sum(matrices), table.start, return_predecessors=False))
    return Pairs(
        task,
        tuple(matrix[kept][:, kept] for matrix in matrices),
        rewards[:, kept],
        states[kept],
        [labels[pair] for pair in kept],
        int(np.searchsorted(kept, table.start)),
    )


def completed_table(task: Task, max_pairs: int) -> PairTable | ArrayTable:
    """Return the table of a task with every pair; raise :class:`TableFull` if there are more than ``max_pairs``."""
    if task.network is not None:
        remedy = "has unbounded queues, so that only its optimum is computed (--only optimum); simulate policies"
        raise InputError("task", task.name, remedy)
    full = f"task {task.name!r} has more than {max_pairs:,} pairs of memory and aleatoric state, and theory needs all"
    remedy = "let its memory take fewer values, or give el.Theory a larger max_pairs"
    table = make_table(task, max_pairs)
    model = table.model if isinstance(table, PairTable) and not table.is_complete else None
    if model is not None and not model.own and has_more_memories(model, max_pairs):
        raise TableFull(f"{full}; {remedy}", max_pairs)
    with contextlib.suppress(TableFull):
        table.complete()
        if table.expanded <= max_pairs:
            return table
    raise TableFull(f"{full}; {remedy}", max_pairs)


def has_more_memories(model: Model, most: int) -> bool:
    """Return whether more memories can be reached.

    They are counted in a small part of the time of a table, except with a user's function, whose outcomes are checked.
    """
    memories, queue = {model.memory}, [model.memory]
    for memory in queue:
        for action in model.actions:
            new = set(model.following(memory, action)) - memories
            memories |= new
            queue += new
        if len(memories) > most:
            return True
    return False
