"""Policies over aleatoric states (the class P-tilde of Section 1.4.2), as tables, and how a person writes one.

``0=slow,1=fast`` names an action for each aleatoric state; ``1=fast:0.5`` gives it that probability and shares the rest
equally among the other actions; a state left out acts uniformly; a bare action, also a number, is taken in every state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from everlearn.errors import InputError
from everlearn.labels import find, show
from everlearn.protocol import History, Table
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

_REMEDY = "write state=action or state=action:probability, separated by commas"


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

    def __call__(self, history: History) -> Table:
        """Return the action probabilities after a history."""
        row: Table = self._row[self.task.aleatoric.of(history)]
        return row


def policy_table(task: Task, given: Any) -> Table:
    """Return action probabilities, a row for each aleatoric state, from a text, a mapping or a table.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> policy_table(service_station(), {1: "fast"}).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    >>> policy_table(service_station(), "slow").tolist()
    [[0.0, 1.0], [0.0, 1.0]]

    """
    shape = (len(task.states), len(task.actions))
    if given is None:
        return np.full(shape, 1 / shape[1])
    if isinstance(given, str) and "=" in given:
        return _table(task, [_parsed(part) for part in _split(given)], shape)
    if isinstance(given, Mapping):
        return _table(task, given.items(), shape)
    if isinstance(given, str | int | np.integer) and not isinstance(given, bool):
        return np.tile(_row(task, given), (shape[0], 1))
    return _checked(given, shape)


def _parsed(text: str) -> tuple[str, str]:
    state, equals, action = text.partition("=")
    if not equals:
        raise InputError("policy", text, _REMEDY)
    return state.strip(), action.strip()


def _split(text: str) -> list[str]:
    """Split at the commas that are not inside brackets, which belong to labels that are tuples."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _table(task: Task, rows: Iterable[tuple[Any, Any]], shape: tuple[int, int]) -> Table:
    table, numbers = np.full(shape, 1 / shape[1]), {label: place for place, label in enumerate(task.states)}
    named = set()
    for state, choice in rows:
        label = state if state in numbers else find(state, task.states, "aleatoric state in the policy")
        if label in named:
            remedy = f"the aleatoric state {show(label)} appears twice; name each state once"
            raise InputError("policy", f"{state}={choice}", remedy)
        named.add(label)
        table[numbers[label]] = _row(task, choice)
    return table


def _row(task: Task, choice: Any) -> Table:
    number = len(task.actions)
    known = any(choice in (action, show(action)) for action in task.actions)
    name, _, weight = choice.rpartition(":") if isinstance(choice, str) and not known else ("", "", "")
    probability = 1.0
    if name:
        try:
            probability = float(weight)
        except ValueError:
            raise InputError("policy", choice, _REMEDY) from None
        choice = name
    if not 0 <= probability <= 1:
        raise InputError("probability in the policy", probability, "give a number from 0 to 1")
    action = task.actions.index(find(choice, task.actions, "action in the policy"))
    row = np.full(number, (1 - probability) / (number - 1) if number > 1 else 0.0)
    row[action] = probability if number > 1 else 1.0
    return row


def _checked(given: Any, shape: tuple[int, int]) -> Table:
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("policy", given, _REMEDY) from None
    if table.shape != shape or (table < 0).any() or not np.allclose(table.sum(axis=1), 1, rtol=0, atol=1e-9):
        raise InputError("policy", given, f"give probabilities of shape {shape}, each row summing to one")
    return table
