"""f and r given as tables: rows of labels, or nested mappings as JSON has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from everlearn.aleatoric.state import AleatoricState
from everlearn.errors import AleatoricStateError, InputError, LabelError, require
from everlearn.labels import as_label, check_label, few, show
from everlearn.protocol import Label, RewardFunction

Triple = tuple[Label, Label, Label]
Sets = tuple[tuple[Label, ...], tuple[Label, ...]]
"""The actions and the observations."""


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
    if not isinstance(listed, list | tuple):
        raise InputError(argument, table, "give rows, or a mapping by state, action and observation")
    for row in listed:
        whole = isinstance(row, list | tuple) and len(row) == 4
        require(whole, argument, row, "a row is [state, action, observation, entry]")
    return [list(row) for row in listed]


def _flattened(table: Mapping[Any, Any], *before: Any) -> Iterator[list[Any]]:
    for key, entry in table.items():
        if len(before) < 2 and isinstance(entry, Mapping):
            yield from _flattened(entry, *before, key)
        else:
            yield [*before, key, entry]


def finder(labels: Iterable[Label], argument: str) -> Callable[[object], Label]:
    """Return a function that finds the label which is meant: itself, or as it is shown, as keys of JSON have it.

    Examples
    --------
    >>> finder([(0, 1), 2], "state")("2"), finder([(0, 1), 2], "state")([0, 1])
    (2, (0, 1))

    """
    known = tuple(labels)
    found: dict[object, Label] = {show(label): label for label in known}
    found.update((label, label) for label in known)

    def find(given: object) -> Label:
        label = as_label(given)
        try:
            return found[check_label(label, argument)]
        except KeyError:
            raise LabelError(argument, label, f"known: {few(known)}") from None

    return find


def keyed(listed: Iterable[list[Any]], states: Iterable[Label], sets: Sets, name: str) -> dict[Triple, Any]:
    """Return a table by labels, complete and without repetitions."""
    known, (actions, observations) = tuple(states), sets
    state, action = finder(known, f"state in {name}"), finder(actions, f"action in {name}")
    observation = finder(observations, f"observation in {name}")
    found: dict[Triple, Any] = {}
    for row in listed:
        key = state(row[0]), action(row[1]), observation(row[2])
        require(key not in found, name, list(key), "is there twice")
        found[key] = row[3]
    remedy = "is missing; a table has an entry for every state, action and observation"
    for key in product(known, actions, observations):
        require(key in found, name, list(key), remedy)
    return found


def table_state(listed: list[list[Any]], start: Label | None, sets: Sets) -> AleatoricState:
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
    table, next_state = keyed(listed, states, sets, "aleatoric"), finder(states, "next state in aleatoric")
    following = {key: next_state(entry) for key, entry in table.items()}

    def update(aleatoric_state: Label, action: Label, observation: Label) -> Label:
        return following[aleatoric_state, action, observation]

    begin = states[0] if start is None else start
    if begin not in states:
        raise AleatoricStateError("start", begin, "is not a state of the table")
    return AleatoricState(begin, update, states)


def table_reward(listed: list[list[Any]], states: tuple[Label, ...], sets: Sets) -> RewardFunction:
    """Return the reward function that a table describes.

    Examples
    --------
    >>> table_reward([[0, "go", "up", 0.5]], (0,), (("go",), ("up",)))(0, "go", "up")
    0.5

    """
    table = keyed(listed, states, sets, "reward")
    for key, entry in table.items():
        number = isinstance(entry, int | float) and not isinstance(entry, bool)
        require(number, "reward", [*key, entry], "give a number")

    def reward(aleatoric_state: Label, action: Label, observation: Label) -> float:
        return float(table[aleatoric_state, action, observation])

    return reward
