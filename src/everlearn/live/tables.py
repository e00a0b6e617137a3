"""f and r given as tables: rows of labels, or nested mappings as JSON has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from everlearn.aleatoric.state import AleatoricState
from everlearn.errors import AleatoricStateError, InputError, require
from everlearn.labels import as_label, check_label, find
from everlearn.protocol import Label, RewardFunction

Triple = tuple[Label, Label, Label]


def rows(table: object, argument: str) -> list[list[Any]]:
    """Return a table as rows [state, action, observation, entry], from rows or from nested mappings.

    Examples
    --------
    >>> rows({"idle": {"go": {"busy": 1}}}, "reward")
    [['idle', 'go', 'busy', 1]]
    >>> rows([["idle", "go", "busy", 1]], "reward")
    [['idle', 'go', 'busy', 1]]

    """
    listed = list(_flattened(table)) if isinstance(table, Mapping) else table
    require(isinstance(listed, list | tuple), argument, table, "give rows, or a mapping by state, action, observation")
    for row in listed:  # type: ignore[attr-defined]  # a list or a tuple
        whole = isinstance(row, list | tuple) and len(row) == 4
        require(whole, argument, row, "a row is [state, action, observation, entry]")
    return [list(row) for row in listed]  # type: ignore[attr-defined]


def _flattened(table: Mapping[Any, Any], *before: Any) -> Iterator[list[Any]]:
    for key, entry in table.items():
        if len(before) < 2 and isinstance(entry, Mapping):
            yield from _flattened(entry, *before, key)
        else:
            yield [*before, key, entry]


def keyed(
    listed: Iterable[list[Any]], states: Iterable[Label], sets: tuple[tuple[Label, ...], tuple[Label, ...]], name: str
) -> dict[Triple, Any]:
    """Return a table by labels, complete and without repetitions."""
    known, (actions, observations) = tuple(states), sets
    found: dict[Triple, Any] = {}
    for row in listed:
        state, action, observation = (as_label(part) for part in row[:3])
        key = (
            find(state, known, f"state in {name}"),
            find(action, actions, f"action in {name}"),
            find(observation, observations, f"observation in {name}"),
        )
        require(key not in found, name, list(key), "is there twice")
        found[key] = row[3]
    for key in product(known, actions, observations):
        if key not in found:
            raise InputError(
                name, list(key), "is missing; a table has an entry for every state, action and observation"
            )
    return found


def table_state(
    listed: list[list[Any]], start: Label | None, sets: tuple[tuple[Label, ...], tuple[Label, ...]]
) -> AleatoricState:
    """Return the aleatoric state that a table of next states describes; it begins in its first unless told.

    Examples
    --------
    >>> table = [[0, "go", "up", 1], [0, "go", "down", 0], [1, "go", "up", 1], [1, "go", "down", 0]]
    >>> aleatoric = table_state(table, None, (("go",), ("up", "down")))
    >>> aleatoric.start, aleatoric.states, aleatoric.update(0, "go", "up")
    (0, (0, 1), 1)

    """
    states = tuple(dict.fromkeys(check_label(as_label(row[0]), "state in aleatoric") for row in listed))
    require(bool(states), "aleatoric", listed, "the table is empty")
    table = keyed(listed, states, sets, "aleatoric")
    following = {key: find(as_label(entry), states, "next state in aleatoric") for key, entry in table.items()}

    def update(aleatoric_state: Label, action: Label, observation: Label) -> Label:
        return following[aleatoric_state, action, observation]

    begin = states[0] if start is None else start
    if begin not in states:
        raise AleatoricStateError("start", begin, "is not a state of the table")
    return AleatoricState(begin, update, states)


def table_reward(
    listed: list[list[Any]], states: tuple[Label, ...], sets: tuple[tuple[Label, ...], tuple[Label, ...]]
) -> RewardFunction:
    """Return the reward function that a table describes."""
    table = keyed(listed, states, sets, "reward")

    def reward(aleatoric_state: Label, action: Label, observation: Label) -> float:
        return table[aleatoric_state, action, observation]  # type: ignore[no-any-return]  # checked when it is used

    return reward
