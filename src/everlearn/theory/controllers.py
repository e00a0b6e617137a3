"""Controllers: policies of histories with finitely many states, and the chains that they make of hidden tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everlearn.aleatoric.state import AleatoricState
from everlearn.protocol import Label
from everlearn.tasks.task import Task
from everlearn.tasks.views import seen_through
from everlearn.theory.chains import Chain
from everlearn.theory.hidden import Hidden


@dataclass(frozen=True)
class Controller:
    """A policy with finitely many states of its own: an action and, for each observation, the state that follows.

    Examples
    --------
    >>> import everlearn as el
    >>> theory = el.Theory("maze-1d")
    >>> task, policy = theory.optimum.controller.on(theory.task)
    >>> round(el.Theory(task).average_reward(policy), 9)
    0.5

    """

    actions: tuple[Label, ...]
    observations: tuple[Label, ...]
    policy: NDArray[np.int64]
    """The index of the action in each state; state 0 is the first."""
    following: NDArray[np.int64]
    """The state after each state, by the index of the observation."""

    @property
    def aleatoric(self) -> AleatoricState:
        """The state of the controller as an aleatoric state; it assumes that its own actions are taken."""
        number = {label: index for index, label in enumerate(self.observations)}

        def update(state: int, _action: Label, observation: Label) -> int:
            return int(self.following[state, number[observation]])

        return AleatoricState(0, update, tuple(range(len(self.policy))))

    def on(self, task: Task) -> tuple[Task, dict[Label, Label]]:
        """Return a task seen through the state of the controller too, and the policy over its aleatoric states."""
        seen = seen_through(task, self.aleatoric)
        return seen, {state: self.actions[self.policy[state[1]]] for state in seen.states}  # type: ignore[index]


def reached(following: NDArray[np.int64], start: int) -> list[int]:
    """Return the states of a controller that can be reached from one of them, by the state after each observation."""
    states = {start: None}
    queue = [start]
    for state in queue:
        for after in dict.fromkeys(following[state].tolist()):
            if after not in states:
                states[after] = None
                queue.append(after)
    return queue


def controlled(hidden: Hidden, controller: Controller) -> tuple[Chain, int]:
    """Return the chain that a controller makes of a hidden process, on pairs of a kind and its state, and the start."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    kinds, states = hidden.size, len(controller.policy)
    chances, origins, targets = [], [], []
    for action, matrices in enumerate(hidden.steps):
        here = np.flatnonzero(controller.policy == action)
        for observation, matrix in matrices.items():
            entries = matrix.tocoo()
            there = controller.following[here, observation]
            origins.append((here[:, None] * kinds + entries.row).ravel())
            targets.append((there[:, None] * kinds + entries.col).ravel())
            chances.append(np.broadcast_to(entries.data, (here.size, entries.data.size)).ravel())
    size = kinds * states
    entries = np.concatenate(chances), (np.concatenate(origins), np.concatenate(targets))
    matrix = csr_array(entries, shape=(size, size))
    rewards = hidden.rewards[controller.policy].ravel()
    kept = np.sort(breadth_first_order(matrix, hidden.start, return_predecessors=False))
    return Chain(matrix[kept][:, kept], rewards[kept]), int(np.searchsorted(kept, hidden.start))
