"""What is made of a setup: a task that is driven from outside, from the keys of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everlearn.agents.spec import split
from everlearn.aleatoric.reward import Reward, reward_range
from everlearn.aleatoric.state import MOST_STATES, AleatoricState, last_observation, window
from everlearn.durable.arguments import shown
from everlearn.durable.tables import Sets, finder, rows, table_reward, table_state
from everlearn.errors import AleatoricStateError, InputError, require
from everlearn.labels import as_label, check_labels
from everlearn.protocol import Label, RewardFunction
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

GIVEN = "given"
"""What the caller tells with each observation."""

FUNCTION = {"function": True}
"""What stands in a document for a function or an object, which only Python can give."""

OF_TASK = ("actions", "observations", "states", "start", "aleatoric", "reward", "reward_range", "raw")
"""Keys of a document that say what a task says."""

LONGEST = 100
"""The longest window."""


def make_live_task(document: dict[str, Any], objects: Any) -> Task:
    """Return the task that a document describes; what follows from it is entered into the document."""
    if document["task"] is not None:
        return _named_task(document, objects)
    if document["aleatoric"] == GIVEN and document["observations"] is None:
        document["observations"] = document["states"]
    for key in ("actions", "observations", "reward_range"):
        require(document[key] is not None, key, None, "must be given, unless a task is")
    actions, observations = (labels_of(document[key], key) for key in ("actions", "observations"))
    aleatoric = _aleatoric(document, objects.aleatoric, (actions, observations)).enumerate(actions, observations)
    low, high = reward_range(document["reward_range"])
    states: Any = aleatoric.states
    reward = _reward(document["reward"], objects.reward, states, (actions, observations), low)
    require(isinstance(document["raw"], bool), "raw", document["raw"], "give true or false")
    return Task(actions, observations, aleatoric, Reward(reward, low, high, document["raw"]), name="live")


def refuse_unread(given: Mapping[str, Any]) -> None:
    """Refuse what would have no effect beside the rest of what is given."""
    if given.get("task") is not None:
        for key in OF_TASK:
            value = shown(given.get(key))
            require(value in (None, "task"), key, value, "comes from the task; leave it out")
        return
    kind = given.get("aleatoric")
    unread = given.get("states") is not None and kind != GIVEN
    require(not unread, "states", given.get("states"), 'are listed where aleatoric is "given"; leave it out')
    unread = given.get("start") is not None and isinstance(kind, AleatoricState)
    require(not unread, "start", given.get("start"), "comes from the aleatoric state; leave it out")
    for key in split(given.get("parameters") or {})["task"]:
        raise InputError("parameter", f"task.{key}", "there is no task; leave it out")


def _named_task(document: dict[str, Any], objects: Any) -> Task:
    if document["task"] == FUNCTION:
        if objects.task is None:
            raise InputError("task", None, "was given as an object; give it again")
        made = make_task(objects.task, split(document["parameters"])["task"])
    else:
        made = make_task(document["task"], split(document["parameters"])["task"])
    document["aleatoric"] = document["reward"] = "task"
    return made


def labels_of(given: object, argument: str) -> tuple[Label, ...]:
    """Return labels as a document has them, checked."""
    require(isinstance(given, list | tuple), argument, given, "give a list of labels")
    return check_labels(as_label(given), argument)


def _aleatoric(document: dict[str, Any], given: object, sets: Sets) -> AleatoricState:
    kind, start = document["aleatoric"], as_label(document["start"])
    if kind == FUNCTION:
        if not isinstance(given, AleatoricState):
            raise InputError("aleatoric", given, "was given as an object; give it again")
        return given
    if isinstance(kind, list):
        return table_state(rows(kind, "aleatoric"), start, sets)
    if kind == GIVEN:
        require(document["states"] is not None, "states", None, "list the aleatoric states that will be given")
        states = labels_of(document["states"], "states")
        begin = states[0] if start is None else finder(states, "start")(start)
        return AleatoricState(begin, _stay, states)
    if kind == "last":
        return last_observation() if start is None else last_observation(start)
    require(start is None, "start", start, "a window begins empty; leave it out")
    return _window(kind, sets)


def _stay(aleatoric_state: Label, _action: Label, _observation: Label) -> Label:
    """Stand in for f until the caller tells what followed."""
    return aleatoric_state


def _window(kind: object, sets: Sets) -> AleatoricState:
    name, _, rest = kind.partition(":") if isinstance(kind, str) else ("", "", "")
    length, plus, extra = rest.partition("+")
    fine = name == "window" and length.isdecimal() and len(length) < 4 and extra == ("actions" if plus else "")
    remedy = f"give last, window:K or window:K+actions (K from 1 to {LONGEST}), given, or a table"
    require(fine and 1 <= int(length) <= LONGEST, "aleatoric", kind, remedy)
    each = len(sets[1]) * (len(sets[0]) if plus else 1)
    contents = sum(each**kept for kept in range(int(length) + 1))
    if contents > MOST_STATES:
        raise AleatoricStateError("aleatoric", kind, f"has {contents:,} contents, at most {MOST_STATES:,}; keep less")
    return window(int(length), actions=bool(plus))


def _reward(kind: object, given: Any, states: tuple[Label, ...], sets: Sets, low: float) -> RewardFunction:
    if kind == GIVEN:
        return lambda _state, _action, _observation: low  # stands in until the caller tells
    if kind == FUNCTION:
        if not callable(given):
            raise InputError("reward", given, "was given as a function; give it again")
        return given  # type: ignore[no-any-return]
    return table_reward(rows(kind, "reward"), states, sets)


FACE = ("name", "actions", "observations", "states", "start", "reward")
"""The keys of a face."""


def face_of(task: Task) -> dict[str, Any]:
    """Return what is seen of a task from outside, as JSON can hold it: all but f, r and the environment."""
    reward = task.reward
    seen = {"name": task.name, "actions": task.actions, "observations": task.observations, "states": task.states}
    return {**seen, "start": task.aleatoric.start, "reward": [reward.low, reward.high, reward.raw]}


def task_of_face(face: dict[str, Any]) -> Task:
    """Return a task that has such a face; replay and reading need no more, since neither evaluates f or r.

    Examples
    --------
    >>> from everlearn.tasks.service_station import service_station
    >>> task_of_face(face_of(service_station())).states
    (0, 1)

    """
    actions, observations, states = (as_label(list(face[key])) for key in ("actions", "observations", "states"))
    low, high, raw = face["reward"]
    aleatoric = AleatoricState(as_label(face["start"]), _stay, states)
    reward = Reward(lambda _state, _action, _observation: low, low, high, raw)
    return Task(actions, observations, aleatoric, reward, name=face["name"])
