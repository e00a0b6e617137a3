"""Policies over aleatoric states (the class P-tilde of Section 1.4.2), as tables.

:mod:`everlearn.agents.notation` reads and writes them as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from everlearn.agents.notation import REMEDY, read, read_row, split, write
from everlearn.errors import InputError
from everlearn.labels import find, show
from everlearn.protocol import History, Table
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

LISTED = 120
"""The most characters of a policy that are shown."""


class AleatoricPolicy:
    """A policy that depends on history through the aleatoric state alone.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> policy = AleatoricPolicy(service_station(), "0=slow,1=fast:0.75")
    >>> policy.table.tolist()
    [[0.0, 1.0], [0.75, 0.25]]
    >>> policy([("slow", "arrival")]).tolist()
    [0.75, 0.25]

    """

    def __init__(self, task: object, given: Any) -> None:
        self.task = task = make_task(task)
        self.table = policy_table(task, given)
        self._row = dict(zip(task.states, self.table, strict=True))

    def __repr__(self) -> str:
        text = write(self.task, self.table)
        shown = text if len(text) <= LISTED else f"{text[:LISTED]}..."
        return f"AleatoricPolicy(on {self.task.name!r}: {shown})"

    def __call__(self, history: History) -> Table:
        """Return the action probabilities after a history."""
        row: Table = self._row[self.task.aleatoric.of(history)]
        return row


def policy_table(task: Task, given: Any) -> Table:
    """Return action probabilities, one row per aleatoric state, from a text, a mapping or a table."""
    shape = (len(task.states), len(task.actions))
    if given is None:
        return np.full(shape, 1 / shape[1])
    if isinstance(given, str) and len(split(given, "=")) > 1:
        return _table(task, read(given, frozenset(task.states)), shape)
    if isinstance(given, Mapping):
        return _table(task, given.items(), shape)
    if isinstance(given, str | int | np.integer) and not isinstance(given, bool):
        return np.tile(read_row(given, task.actions), (shape[0], 1))
    return _checked(given, shape)


def _table(task: Task, rows: Iterable[tuple[Any, Any]], shape: tuple[int, int]) -> Table:
    table, indices = np.full(shape, 1 / shape[1]), {label: index for index, label in enumerate(task.states)}
    seen = set()
    for state, choice in rows:
        label = state if state in indices else find(state, task.states, "aleatoric state in the policy")
        if label in seen:
            remedy = f"the aleatoric state {show(label)} appears twice; name each state once"
            raise InputError("policy", f"{state}={choice}", remedy)
        seen.add(label)
        table[indices[label]] = read_row(choice, task.actions)
    return table


def _checked(given: Any, shape: tuple[int, int]) -> Table:
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("policy", given, REMEDY) from None
    if table.shape != shape or (table < 0).any() or not np.allclose(table.sum(axis=1), 1, rtol=0, atol=1e-9):
        raise InputError("policy", given, f"give probabilities of shape {shape}, each row summing to one")
    return table
