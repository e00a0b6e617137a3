"""The task that a setup declares by its keys: labels, an aleatoric state and a reward, driven from outside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from typing import Any

from everlearn.aleatoric.reward import Reward, reward_range
from everlearn.aleatoric.state import MOST_STATES, AleatoricState, last_observation, window
from everlearn.durable.tables import Sets, finder, rows, table_reward, table_state
from everlearn.errors import AleatoricStateError, InputError, require
from everlearn.protocol import Label, RewardFunction
from everlearn.tasks.task import Task

GIVEN = "given"
"""The value of ``aleatoric`` or ``reward`` if the caller passes it with each observation."""

FUNCTION = {"function": True}
"""What stands in a document for a function or an object, which only Python can give."""

LONGEST_WINDOW = 100


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
    reward = _reward(values["reward"], states, sets, low)
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
    if is_missing(kind):
        raise InputError("aleatoric", None, "was given as an object; give it again")
    if isinstance(kind, list):
        return table_state(rows(kind, "aleatoric"), start, sets)
    if kind == GIVEN:
        states = values["states"]
        require(states is not None, "states", None, "list the aleatoric states that will be given")
        return AleatoricState(states[0] if start is None else finder(states, "start")(start), stay, states)
    if kind == "last":
        return last_observation() if start is None else last_observation(start)
    require(start is None, "start", start, "a window begins empty; leave it out")
    return _window(kind, sets)


def stay(aleatoric_state: Label, _action: Label, _observation: Label) -> Label:
    """Stand in for f where it is not needed, since the caller or the journal gives the next state."""
    return aleatoric_state


def _window(kind: object, sets: Sets) -> AleatoricState:
    parts = re.fullmatch(r"window:(\d{1,3})(\+actions)?", kind) if isinstance(kind, str) else None
    if parts is None or not 1 <= int(parts[1]) <= LONGEST_WINDOW:
        remedy = f"give last, window:K or window:K+actions (K from 1 to {LONGEST_WINDOW}), given, or a table"
        raise InputError("aleatoric", kind, remedy)
    length, actions = int(parts[1]), parts[2] is not None
    each = len(sets[1]) * (len(sets[0]) if actions else 1)
    contents = sum(each**kept for kept in range(length + 1))
    if contents > MOST_STATES:
        raise AleatoricStateError("aleatoric", kind, f"has {contents:,} contents, at most {MOST_STATES:,}; keep less")
    return window(length, actions=actions)


def _reward(kind: Any, states: tuple[Label, ...], sets: Sets, low: float) -> RewardFunction:
    if callable(kind):
        return kind  # type: ignore[no-any-return]
    if isinstance(kind, str) and kind == GIVEN:
        return lambda _state, _action, _observation: low  # stands in for the reward that the caller gives
    if is_missing(kind):
        raise InputError("reward", None, "was given as a function; give it again")
    return table_reward(rows(kind, "reward"), states, sets)
