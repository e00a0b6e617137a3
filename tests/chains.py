"""Markov chains solved exactly: what a policy over aleatoric states earns on a task with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

from everlearn import Task
from everlearn.protocol import Label

Pair = tuple[Label, Label]
"""A memory, and the aleatoric state that goes with it."""


class Arrow(NamedTuple):
    """One thing that can happen after a pair and an action."""

    action: Label
    observation: Label
    probability: float
    following: Pair


def arrows(task: Task, pair: Pair) -> Iterator[Arrow]:
    """What can happen after a pair, under each action."""
    memory, aleatoric_state = pair
    for action in task.actions:
        for observation, probability, next_memory in task.model.outcomes(memory, action):
            following = task.aleatoric.update(aleatoric_state, action, observation)
            yield Arrow(action, observation, probability, (next_memory, following))


def reachable(task: Task, most: int = 100_000) -> list[Pair]:
    """The pairs that can be reached from the beginning, breadth first, up to about ``most`` of them."""
    found = {(task.model.memory, task.aleatoric.start): None}
    queue = list(found)
    for pair in queue:
        if len(found) >= most:
            break
        fresh = [arrow.following for arrow in arrows(task, pair) if arrow.following not in found]
        queue += dict.fromkeys(fresh)
        found.update(dict.fromkeys(fresh))
    return queue


def average_reward(task: Task, policy: Callable[[Label, Label], float]) -> float:
    """The stationary average reward under ``policy(aleatoric state, action)``, for a chain with one recurrent class."""
    pairs = reachable(task)
    index = {pair: number for number, pair in enumerate(pairs)}
    rows, columns, weights, reward = [], [], [], np.zeros(len(pairs))
    for pair, number in index.items():
        for arrow in arrows(task, pair):
            weight = policy(pair[1], arrow.action) * arrow.probability
            rows.append(index[arrow.following])
            columns.append(number)
            weights.append(weight)
            reward[number] += weight * task.reward(pair[1], arrow.action, arrow.observation)
    return float(reward @ stationary(rows, columns, weights, len(pairs)))


def stationary(rows: list[int], columns: list[int], weights: list[float], size: int) -> np.ndarray:
    """Solve p = p P with the sum of p one; entry (row, column) of the transposed P has its weight."""
    balance = coo_array((weights, (rows, columns)), shape=(size, size)).tolil() - np.eye(size)
    balance = coo_array(balance).tolil()
    balance[0] = 1.0
    return spsolve(balance.tocsc(), np.eye(1, size).ravel())
