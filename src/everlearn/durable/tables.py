"""Tables of f and r: rows of labels, or nested mappings as in JSON."""

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
    """Return a table as rows [state, action, observation, entry], from rows or from nested mappings."""
    listed = list(_flattened(table)) if isinstance(table, Mapping) else table
    if not isinstance(listed, list | tuple):
        raise InputError(argument, table, "give rows, or a mapping by state, action and observation")
    for row in listed:
        fine = isinstance(row, list | tuple) and len(row) == 4
        require(fine, argument, row, "a row is [state, action, observation, entry]")
    return [list(row) for row in listed]


def _flattened(table: Mapping[Any, Any], *before: Any) -> Iterator[list[Any]]:
    for key, entry in table.items():
        if len(before) < 2 and isinstance(entry, Mapping):
            yield from _flattened(entry, *before, key)
        else:
            yield [*before, key, entry]


def finder(labels: Iterable[Label], argument: str) -> Callable[[object], Label]:
    """Return a function that finds a label by itself or by its text, as the keys of JSON have it."""
    known = tuple(labels)
    by_key: dict[object, Label] = {show(label): label for label in known}
    by_key.update((label, label) for label in known)

    def find(given: object) -> Label:
        label = as_label(given)
        try:
            return by_key[check_label(label, argument)]
        except KeyError:
            raise LabelError(argument, label, f"known: {few(known)}") from None

    return find


def _keyed(table: Iterable[list[Any]], states: tuple[Label, ...], sets: Sets, name: str) -> dict[Triple, Any]:
    """Return a table by labels; raise if an entry is missing or repeated."""
    actions, observations = sets
    state, action = finder(states, f"state in {name}"), finder(actions, f"action in {name}")
    observation = finder(observations, f"observation in {name}")
    entries: dict[Triple, Any] = {}
    for row in table:
        key = state(row[0]), action(row[1]), observation(row[2])
        require(key not in entries, name, list(key), "is there twice")
        entries[key] = row[3]
    remedy = "is missing; a table has an entry for every state, action and observation"
    for key in product(states, actions, observations):
        require(key in entries, name, list(key), remedy)
    return entries


def table_state(table: list[list[Any]], start: Label | None, sets: Sets) -> AleatoricState:
    """Return the aleatoric state that a table of next states describes; it begins in the first state by default."""
    states = tuple(dict.fromkeys(check_label(as_label(row[0]), "state in aleatoric") for row in table))
    require(bool(states), "aleatoric", table, "the table is empty")
    entries, next_state = _keyed(table, states, sets, "aleatoric"), finder(states, "next state in aleatoric")
    following = {key: next_state(entry) for key, entry in entries.items()}

    def update(aleatoric_state: Label, action: Label, observation: Label) -> Label:
        return following[aleatoric_state, action, observation]

    begin = states[0] if start is None else start
    if begin not in states:
        raise AleatoricStateError("start", begin, "is not a state of the table")
    return AleatoricState(begin, update, states)


def table_reward(table: list[list[Any]], states: tuple[Label, ...], sets: Sets) -> RewardFunction:
    """Return the reward function that a table describes."""
    entries = _keyed(table, states, sets, "reward")
    for key, entry in entries.items():
        number = isinstance(entry, int | float) and not isinstance(entry, bool)
        require(number, "reward", [*key, entry], "give a number")

    def reward(aleatoric_state: Label, action: Label, observation: Label) -> float:
        return float(entries[aleatoric_state, action, observation])

    return reward
