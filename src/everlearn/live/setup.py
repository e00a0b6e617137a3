"""The setup of a durable agent: a JSON document that says all there is to say, and what is made of it.

The same document serves Python and HTTP.  In Python f and r may be functions too; a document then says that there is
one, and the function must be given again whenever the agent is opened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from everlearn.agents.agent import Agent, split, whole
from everlearn.aleatoric.reward import Reward
from everlearn.aleatoric.state import AleatoricState, last_observation, window
from everlearn.errors import InputError, LiveError, require
from everlearn.labels import as_label, check_labels, find
from everlearn.live.tables import rows, table_reward, table_state
from everlearn.protocol import Label
from everlearn.registry import plain
from everlearn.tasks.define import Definition
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

GIVEN = "given"
FUNCTION = {"function": True}
"""What stands in a document for a function, which only Python can give."""

DEFAULTS: dict[str, Any] = {
    "task": None,
    "actions": None,
    "observations": None,
    "aleatoric": "last",
    "states": None,
    "start": None,
    "reward": GIVEN,
    "reward_range": None,
    "raw": False,
    "agent": "growing-horizon",
    "schedule": None,
    "parameters": {},
    "seed": 0,
    "allowed": None,
    "snapshot_every": 10_000,
    "retain": None,
}
"""Every key of a document, and what it is unless given."""


class Functions(NamedTuple):
    """What a document cannot hold: Python objects, by the key under which they were given."""

    task: object = None
    aleatoric: object = None
    reward: Any = None


class Setup:
    """What a durable agent is: its document, and the task and the agent made of it.

    Examples
    --------
    >>> setup = Setup({"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": [0, 1]})
    >>> setup.task.states
    ('start', 'idle', 'busy')

    """

    def __init__(self, document: Mapping[str, Any], functions: Functions | None = None) -> None:
        given = functions or Functions()
        for key in document:
            require(key in DEFAULTS, "setup", key, f"known: {', '.join(DEFAULTS)}")
        self.document = {**DEFAULTS, **plain(dict(document))}
        self.functions = given
        self.task = _task(self.document, given)
        self.snapshot_every = whole(self.document["snapshot_every"], "snapshot_every", least=1)
        retain = self.document["retain"]
        self.retain = None if retain is None else whole(retain, "retain", least=1)
        self.gives_reward = self.document["reward"] == GIVEN
        self.gives_state = self.document["aleatoric"] == GIVEN
        self.allowed = _allowed(self.document["allowed"], self.task)

    def agent(self) -> Agent:
        """Return the agent, as it is at the beginning."""
        document = self.document
        chosen = {key: value for key, value in document["parameters"].items() if not key.startswith("task.")}
        return Agent(
            self.task, document["agent"], schedule=document["schedule"], seed=document["seed"], parameters=chosen
        )

    def encoded(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document, separators=(",", ":"), ensure_ascii=False)


def make_setup(**given: Any) -> Setup:
    """Return a setup from the arguments of Python, of which some may be functions or objects.

    Examples
    --------
    >>> make_setup(task="service-station", seed=1).document["task"]
    'service-station'

    """
    document = {key: value for key, value in given.items() if value is not None}
    found: dict[str, Any] = {}
    if "task" in document and not isinstance(document["task"], str):
        found["task"], document["task"] = document["task"], FUNCTION
    if isinstance(document.get("aleatoric"), AleatoricState):
        found["aleatoric"], document["aleatoric"] = document["aleatoric"], FUNCTION
    if callable(document.get("reward")):
        found["reward"], document["reward"] = document["reward"], FUNCTION
    for key in ("aleatoric", "reward"):
        if isinstance(document.get(key), Mapping) and document[key] != FUNCTION:
            document[key] = rows(document[key], key)
    if isinstance(document.get("allowed"), Mapping):
        document["allowed"] = [[state, list(actions)] for state, actions in document["allowed"].items()]
    return Setup(document, Functions(**found))


def reopened(stored: str, given: dict[str, Any]) -> Setup:
    """Return the setup that is stored, with functions given again; refuse what differs from it."""
    document = json.loads(stored)
    named = {key: value for key, value in given.items() if value is not None}
    again = make_setup(**{**_declarative(document), **named}) if named else Setup(document)
    for key, value in again.document.items():
        if value != document.get(key, DEFAULTS[key]):
            raise LiveError(f"{key}: it was created with {document.get(key)!r}, and {value!r} is given now")
    return again


def _declarative(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value != FUNCTION}


def _task(document: dict[str, Any], given: Functions) -> Task:
    if document["task"] is not None:
        return _named_task(document, given)
    for key in ("actions", "reward_range"):
        require(document[key] is not None, key, None, "must be given, unless a task is")
    if document["aleatoric"] == GIVEN and document["observations"] is None:
        document["observations"] = document["states"]
    require(document["observations"] is not None, "observations", None, "must be given, unless a task is")
    actions = check_labels(as_label(document["actions"]), "actions")
    observations = check_labels(as_label(document["observations"]), "observations")
    aleatoric = _aleatoric(document, given, (actions, observations)).enumerate(actions, observations)
    low, high = _range(document["reward_range"])
    reward = _reward(document["reward"], given, aleatoric.states, (actions, observations), low)  # type: ignore[arg-type]
    return Task(actions, observations, aleatoric, Reward(reward, low, high, bool(document["raw"])), name="live")


def _named_task(document: dict[str, Any], given: Functions) -> Task:
    for key in ("actions", "observations", "states", "start", "reward_range"):
        require(document[key] is None, key, document[key], "comes from the task; leave it out")
    if document["task"] == FUNCTION:
        if not isinstance(given.task, Task | Definition):
            raise InputError("task", given.task, "was given as an object; give it again, or make the agent by name")
        made = make_task(given.task)
    else:
        made = make_task(document["task"], split(document["parameters"])["task"])
    document["aleatoric"] = document["reward"] = "task"
    return made


def _range(given: object) -> tuple[float, float]:
    pair = list(given) if isinstance(given, list | tuple) else []
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in pair)
    require(len(pair) == 2 and numbers, "reward_range", given, "give two finite numbers, the lower first")
    return pair[0], pair[1]


def _aleatoric(
    document: dict[str, Any], given: Functions, sets: tuple[tuple[Label, ...], tuple[Label, ...]]
) -> AleatoricState:
    kind, start = document["aleatoric"], as_label(document["start"])
    if kind == FUNCTION:
        if not isinstance(given.aleatoric, AleatoricState):
            raise InputError("aleatoric", given.aleatoric, "was given as an object; give it again")
        return given.aleatoric
    if isinstance(kind, list):
        return table_state(kind, start, sets)
    if kind == GIVEN:
        require(document["states"] is not None, "states", None, "list the aleatoric states that will be given")
        states = check_labels(as_label(document["states"]), "states")
        begin = states[0] if start is None else find(start, states, "start")
        return AleatoricState(begin, lambda state, _action, _observation: state, states)
    if kind == "last":
        return last_observation() if start is None else last_observation(start)
    return _window(kind)


LONGEST = 100
"""The longest window."""


def _window(kind: object) -> AleatoricState:
    name, _, rest = str(kind).partition(":")
    length, plus, extra = rest.partition("+")
    fine = name == "window" and length.isdecimal() and len(length) < 4 and extra == ("actions" if plus else "")
    remedy = f"give last, window:K or window:K+actions (K from 1 to {LONGEST}), given, or a table"
    require(fine and 1 <= int(length) <= LONGEST, "aleatoric", kind, remedy)
    return window(int(length), actions=bool(plus))


def _reward(
    kind: object,
    given: Functions,
    states: tuple[Label, ...],
    sets: tuple[tuple[Label, ...], tuple[Label, ...]],
    low: float,
) -> Callable[[Label, Label, Label], float]:
    if kind == GIVEN:
        return lambda _state, _action, _observation: low  # stands in until the caller tells
    if kind == FUNCTION:
        if not callable(given.reward):
            raise InputError("reward", given.reward, "was given as a function; give it again")
        return given.reward  # type: ignore[no-any-return]
    return table_reward(rows(kind, "reward"), states, sets)


def _allowed(listed: object, task: Task) -> dict[int, int]:
    """Return for each state that restricts its actions, by index, the mask of those that are allowed."""
    if listed is None:
        return {}
    found: dict[int, int] = {}
    for entry in listed:  # type: ignore[attr-defined]
        state = find(as_label(entry[0]), task.states, "state in allowed")
        mask = 0
        for action in entry[1]:
            mask |= 1 << task.actions.index(find(as_label(action), task.actions, "action in allowed"))
        require(mask != 0, "allowed", entry, "allow at least one action")
        found[task.states.index(state)] = mask
    return found
