"""The task that a setup declares: labels, an aleatoric state and a reward, as names, functions or tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import product
from typing import Any

from everlearn.aleatoric.reward import Reward, reward_range
from everlearn.aleatoric.state import MOST_STATES, AleatoricState, last_observation, window
from everlearn.environments.pure import as_number
from everlearn.errors import AleatoricStateError, InputError, LabelError, UnknownName, require
from everlearn.grids import Box, Unread
from everlearn.labels import as_label, check_label, few, show
from everlearn.protocol import Label, RewardFunction
from everlearn.tasks.task import Task
from everlearn.windows import LONGEST_WINDOW, Window

Triple = tuple[Label, Label, Label]
Sets = tuple[tuple[Label, ...], tuple[Label, ...]]
"""The actions and the observations."""

GIVEN = "given"
"""The value of ``aleatoric`` or ``reward`` if the caller passes it with each observation."""

FUNCTION = {"function": True}
"""What stands in a document for a function or an object, which only Python can give."""

OBJECT = "a function or an object"
"""What messages show in its place."""


def is_missing(value: object) -> bool:
    """Return whether a value stands for a function or an object that was not given again."""
    return isinstance(value, dict) and value == FUNCTION


def declared_task(values: Mapping[str, Any]) -> Task:
    """Return the task that the values of a setup declare."""
    for key in ("actions", "observations", "reward_range"):
        require(values[key] is not None, key, None, "must be given, unless a task is")
    sets: Sets = (values["actions"], values["observations"])
    aleatoric = _aleatoric(values, sets).enumerate(*sets)
    low, high = reward_range(values["reward_range"])
    states: Any = aleatoric.states
    reward = reward_function(values["reward"], states, sets, low)
    require(isinstance(values["raw"], bool), "raw", values["raw"], "give true or false")
    return Task(*sets, aleatoric, Reward(reward, low, high, values["raw"]), name="live")


def listed(given: object, argument: str) -> list[Any]:
    """Return labels from Python or JSON as a list; a set would come in another order in every process."""
    fine = isinstance(given, Iterable) and not isinstance(given, str | Set | Mapping)
    require(fine, argument, given, "give a list of labels")
    return [*given]  # type: ignore[misc]  # iterable


def _aleatoric(values: Mapping[str, Any], sets: Sets) -> AleatoricState:
    kind, start = values["aleatoric"], values["start"]
    if isinstance(kind, AleatoricState):
        return kind
    if isinstance(sets[1], Box):
        return _box_state(kind, start, sets[1])
    if isinstance(kind, list):
        return _table_state(rows(kind, "aleatoric"), start, sets)
    if kind == GIVEN:
        states = values["states"]
        require(states is not None, "states", None, "list the aleatoric states that will be given")
        return AleatoricState(states[0] if start is None else finder(states, "start")(start), stay, states)
    if kind == "last":
        return last_observation() if start is None else last_observation(start)
    require(start is None, "start", start, "a window begins empty; leave it out")
    return _window(kind, sets)


def _box_state(kind: object, start: object, box: Box) -> AleatoricState:
    """Return the last observation as the aleatoric state; it begins in the middle of the box by default."""
    remedy = "observations are a box, so the state is the last one: give last, or an el.AleatoricState with such states"
    require(kind == "last", "aleatoric", kind, remedy)
    middle = [(low + high) / 2 for low, high in zip(box.low, box.high, strict=True)]
    try:
        return replace(last_observation(box[box.number(middle if start is None else start)]), states=box)
    except Unread as error:
        raise AleatoricStateError("start", start, error.args[0]) from None


def stay(aleatoric_state: Label, _action: Label, _observation: Label) -> Label:
    """Stand in for f where it is not needed, since the caller or the journal gives the next state."""
    return aleatoric_state


def _window(kind: object, sets: Sets) -> AleatoricState:
    named = Window.read(kind)
    if named is None or not 1 <= named.length <= LONGEST_WINDOW:
        remedy = f"give last, window:K or window:K+actions (K from 1 to {LONGEST_WINDOW}), given, or a table"
        raise InputError("aleatoric", kind, remedy)
    each = len(sets[1]) * (len(sets[0]) if named.actions else 1)
    contents = sum(each**kept for kept in range(named.length + 1))
    if contents > MOST_STATES:
        raise AleatoricStateError("aleatoric", kind, f"has {contents:,} contents, at most {MOST_STATES:,}; keep less")
    return window(named.length, actions=named.actions)


def reward_function(kind: Any, states: tuple[Label, ...], sets: Sets, low: float) -> RewardFunction:
    """Return the reward function that a setup names: a function, a table, or one that stands in with ``low``."""
    if callable(kind):
        return kind  # type: ignore[no-any-return]
    if isinstance(kind, str) and kind == GIVEN:
        return lambda _state, _action, _observation: low  # stands in for the reward that the caller gives
    if isinstance(kind, str):
        raise UnknownName(
            "reward", kind, [GIVEN], "; or a function, rows, or a mapping by state, action and observation"
        )
    return _table_reward(rows(kind, "reward"), states, sets)


def rows(table: object, argument: str) -> list[list[Any]]:
    """Return a table as rows [state, action, observation, entry], from rows or from nested mappings."""
    flat = list(_flattened(table)) if isinstance(table, Mapping) else table
    if not isinstance(flat, list | tuple):
        raise InputError(argument, table, "give rows, or a mapping by state, action and observation")
    for row in flat:
        fine = isinstance(row, list | tuple) and len(row) == 4
        require(fine, argument, row, "a row is [state, action, observation, entry]")
    return [list(row) for row in flat]


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


def _table_state(table: list[list[Any]], start: Label | None, sets: Sets) -> AleatoricState:
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


def _table_reward(table: list[list[Any]], states: tuple[Label, ...], sets: Sets) -> RewardFunction:
    """Return the reward function that a table describes."""
    entries = _keyed(table, states, sets, "reward")
    for key, entry in entries.items():
        number = isinstance(entry, int | float) and not isinstance(entry, bool)
        require(number, "reward", [*key, entry], "give a number")

    def reward(aleatoric_state: Label, action: Label, observation: Label) -> float:
        return float(entries[aleatoric_state, action, observation])

    return reward


def check_rewards(table: Iterable[list[Any]], reward: Reward) -> None:
    """Raise if an entry of a table of rewards is not finite, or outside the range.

    A new setup is checked so; one that is stored is not, since its agent can be read whatever its table has.
    """
    for *key, entry in table:
        number = as_number(entry)
        reward.check(math.inf if number is None else number, f"reward of {as_label(key)!r}")
