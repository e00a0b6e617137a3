"""What the tabular value learners share: tables of records, greedy and epsilon-greedy choices, numbers of the run.

A step reads and writes a few numbers about two aleatoric states, so these numbers lie together: a table has one record
per aleatoric state, and each field of a record holds one number per action, one number, or none.  The size of a field
is part of its type.  Compiled code therefore knows the number of actions, and drops the code that handles an empty
field.

A design that works by state touches only the rows of the two states of a step.  A number that belongs to the whole run,
such as an estimate of the average reward, is therefore read from the row that a step leaves and written, with the time,
to the row that it enters.  The row with the latest time has the current number (:func:`latest_rows`).  Where an agent
moves without learning, the design's ``carry`` copies the number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import ScheduleValues, Table
from everlearn.randomness import choose, uniform

Flag: TypeAlias = tuple[int, ...]
"""A switch whose value compiled code knows: on if ``len(flag) > 0``.  If it is off, the code behind it is dropped."""


def flag(on: bool) -> Flag:
    """Return a switch that is on or off."""
    return (0,) if on else ()


Given: TypeAlias = tuple[float, ...]
"""A number that may not be given, which compiled code knows: ``number[0]`` if ``len(number) > 0``.

Pass it to a function that asks for its length, and code that reads a number that is not there is never compiled."""


def given(number: float) -> Given:
    """Return a number as given if it is not 0."""
    return (float(number),) if number else ()


def records(shape: int | tuple[int, ...], **fields: int) -> NDArray[Any]:
    """Return a table of zeros whose fields have the given numbers of entries per record."""
    return np.zeros(shape, dtype=[(name, np.float64, (size,)) for name, size in fields.items()])


def by_field(knowledge: Any) -> Any:
    """Return knowledge whose tables of records are dicts of their fields, as memory views of the same numbers.

    ``table["field"][state, action]`` means the same in both.  But NumPy takes a while to make a view of a field, of
    which a step needs up to nine, and its numbers take longer to calculate with than those of Python.  A field of
    more than two dimensions stays an array, since a memory view has no parts such as ``field[stage]``.
    """
    values = knowledge._asdict().items()
    tables = {name: value for name, value in values if isinstance(value, np.ndarray) and value.dtype.names}
    fields = {name: {field: table[field] for field in table.dtype.names or ()} for name, table in tables.items()}
    return knowledge._replace(
        **{
            name: {field: view if view.ndim > 2 else memoryview(view) for field, view in table.items()}
            for name, table in fields.items()
        }
    )


def latest_rows(entered: Table, states: int) -> NDArray[np.intp]:
    """Return the row that was entered last, for each of the runs that are stacked in ``entered``.

    ``entered`` has the step after which each row was last entered, or zero; ``states`` is the number of rows per run.
    """
    runs = entered.reshape(-1, states)
    return np.asarray(runs.argmax(axis=1) + states * np.arange(len(runs)))


def carry_fields(*fields: str) -> Callable[[Any, int, int], None]:
    """Return a ``carry`` function that copies fields of ``cells`` from the row of a state to that of another."""

    def carry(knowledge: Any, aleatoric_state: int, next_aleatoric_state: int) -> None:
        for field in fields:
            numbers = knowledge.cells[field]
            numbers[next_aleatoric_state] = numbers[aleatoric_state]

    return carry


def greedy_action(values: Table, aleatoric_state: int, stream: Any) -> int:
    """Sample uniformly from the maximisers of a row (Line 8 of Algorithm 2); draw only if there are several."""
    best = values[aleatoric_state, 0]
    action = 0
    ties = 1
    for a in range(1, values.shape[1]):
        value = values[aleatoric_state, a]
        better = value > best
        ties = 1 if better else ties + (value == best)
        action = a if better else action
        best = value if better else best
    if ties == 1:
        return action
    skip = choose(stream, ties)
    for a in range(values.shape[1]):
        if values[aleatoric_state, a] == best:
            if skip == 0:
                return a
            skip -= 1
    return action


def greedy_policy(values: Table) -> Table:
    """Return the probabilities with which :func:`greedy_action` chooses."""
    best = values == values.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def epsilon_greedy_action(values: Table, aleatoric_state: int, epsilon: float, stream: Any) -> int:
    """Choose any action with probability epsilon, else a greedy one; draw for exploration only if epsilon is not 0."""
    if epsilon > 0.0 and uniform(stream) < epsilon:
        return choose(stream, values.shape[1])
    return greedy_action(values, aleatoric_state, stream)


def epsilon_greedy_policy(values: Table, epsilon: float | Table) -> Table:
    """Return the probabilities with which :func:`epsilon_greedy_action` chooses."""
    return np.asarray((1.0 - epsilon) * greedy_policy(values) + epsilon / values.shape[1])


def largest(values: Table, aleatoric_state: int) -> float:
    """Return the greatest value of a row."""
    best: float = values[aleatoric_state, 0]
    for a in range(1, values.shape[1]):
        value: float = values[aleatoric_state, a]
        best = value if value > best else best
    return best


def value_table(knowledge: Any) -> Table:
    """Return the values of every aleatoric state and action, if the field ``value`` of ``cells`` holds them."""
    return knowledge.cells["value"]  # type: ignore[no-any-return]


def show_fields(**fields: str) -> Callable[[Any, ScheduleValues], dict[str, Table]]:
    """Return an ``inspect`` function that shows fields of ``cells`` under other names, as in ``Q="value"``."""
    return lambda knowledge, _now: {name: knowledge.cells[field].copy() for name, field in fields.items()}
