"""The setup of a durable agent: a JSON document that says all there is to say, and what is made of it.

The same document serves Python and HTTP.  In Python f, r, the task and the design may be functions and objects too; a
document then says that there is one, and it must be given again whenever the agent is to learn.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from everlearn.agents.agent import Agent, whole
from everlearn.agents.design import Design
from everlearn.agents.registry import make_design
from everlearn.agents.spec import split
from everlearn.durable.arguments import is_object, listed
from everlearn.durable.drift import Gauge
from everlearn.durable.fingerprint import fingerprint_of, is_own_schedule
from everlearn.durable.making import FUNCTION, GIVEN, labels_of, make_live_task, refuse_unread, task_of_face
from everlearn.durable.tables import finder, rows
from everlearn.errors import InputError, LabelError, require
from everlearn.labels import as_label, check_label, encode
from everlearn.registry import MOST_STEPS, plain
from everlearn.tasks.task import Task

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
    "drift": {},
}
"""Every key of a document, and what it is unless given."""


_DESIGN = ("agent", "schedule")


class Objects(NamedTuple):
    """What a document cannot hold, by the key under which it was given."""

    task: Any = None
    aleatoric: Any = None
    reward: Any = None
    agent: Any = None
    schedule: Any = None


class Setup:
    """What a durable agent is: its document, and the task and the agent made of it.

    Parameters
    ----------
    document:
        as JSON has it; see ``DEFAULTS`` for its keys
    objects:
        what it says is an object
    face:
        the fingerprint that is stored: enough to replay and to look, where objects are not given

    Examples
    --------
    >>> setup = Setup({"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": [0, 1]})
    >>> setup.task.states
    ('start', 'idle', 'busy')

    """

    def __init__(
        self, document: Mapping[str, Any], objects: Objects | None = None, face: dict[str, Any] | None = None
    ) -> None:
        for key in document:
            require(key in DEFAULTS, "setup", key, f"known: {', '.join(DEFAULTS)}")
        self.document = {**DEFAULTS, **plain(dict(document))}
        self.objects = objects or Objects()
        self.task = make_live_task(self.document, self.objects) if face is None else task_of_face(face)
        if face is None:
            _ = self.task.reward.pure, self.task.aleatoric.pure  # refused before anything is written
        _check_text(self.task)
        self.snapshot_every = whole(self.document["snapshot_every"], "snapshot_every", 1, MOST_STEPS)
        retain = self.document["retain"]
        self.retain = None if retain is None else whole(retain, "retain", 1, MOST_STEPS)
        self.gives_reward = self.document["reward"] == GIVEN
        self.gives_state = self.document["aleatoric"] == GIVEN
        self.observes_state = self.gives_state and set(self.task.observations) == set(self.task.states)
        self.drift = _drift(self.document["drift"])
        self.allowed = _allowed(self.document["allowed"], self.task)

    @property
    def is_declared(self) -> bool:
        """Whether the document says all: nothing in it is a function, an object, or the name of something."""
        named = self.document["task"] is not None or self.has_own_design
        return not named and all(value != FUNCTION for value in self.document.values())

    @property
    def has_own_design(self) -> bool:
        """Whether the design or the schedule is the user's, which only the user can give again."""
        return any(self.document[key] == FUNCTION or ":" in str(self.document[key]) for key in _DESIGN)

    @property
    def lacks_design(self) -> bool:
        """Whether the design or the schedule was given as an object, and is not given now."""
        return any(self.document[key] == FUNCTION and getattr(self.objects, key) is None for key in _DESIGN)

    @cached_property
    def design(self) -> Design:
        """The design, with its schedule."""
        require(not self.lacks_design, "agent", None, "its design or schedule was given as an object; give it again")
        document = self.document
        design, schedule = (
            getattr(self.objects, key) if document[key] == FUNCTION else document[key] for key in _DESIGN
        )
        chosen = split({key: value for key, value in document["parameters"].items() if not key.startswith("task.")})
        return make_design(design, chosen["agent"], schedule=schedule, schedule_chosen=chosen["schedule"])

    def resemble(self, before: Mapping[str, Any]) -> None:
        """Keep names and the order of states as they were in an earlier fingerprint.

        Neither changes what the agent does, and what it knows and its journal are by number.
        """
        states = as_label(before["states"])
        if set(states) == set(self.task.states):
            aleatoric = replace(self.task.aleatoric, states=states)
            self.task = replace(self.task, name=before["name"], aleatoric=aleatoric)
            self.allowed = _allowed(self.document["allowed"], self.task)
        agent, timetable = before.get("agent"), before.get("schedule")
        if self.design.schedule is not None and timetable and is_own_schedule(self.design.schedule):
            self.design = replace(self.design, schedule=replace(self.design.schedule, name=timetable["name"]))
        if agent and agent["functions"] and self.design.own:
            self.design = replace(self.design, name=agent["name"])

    def agent(self) -> Agent:
        """Return the agent, as it is at the beginning."""
        agent = Agent(self.task, self.design, seed=self.document["seed"])
        if self.allowed:
            self._leave_out(agent)
        return agent

    def _leave_out(self, agent: Agent) -> None:
        """Give what is forbidden the value minus infinity."""
        remedy = "this agent cannot leave out actions; choose another, or pass allowed with each call of act"
        values = agent.values if agent.design.masks else None
        if values is None:
            raise InputError("allowed", agent.design.name, remedy)
        for state, mask in self.allowed.items():
            for action in range(agent.indexed.actions):
                if not mask >> action & 1:
                    values[state, action] = -math.inf

    def encoded(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document, separators=(",", ":"))

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """What the agent depends on, as JSON gives it back."""
        told = {"states": not self.gives_state, "rewards": not self.gives_reward}
        found: dict[str, Any] = json.loads(json.dumps(fingerprint_of(self.task, self.design, **told)))
        return found

    def face(self, changed: int | None = None) -> str | None:
        """Return the fingerprint as text, which is also enough to look without objects; None where all is declared.

        ``changed`` is the number of the row in which a change of it was last accepted.
        """
        if self.is_declared and changed is None:
            return None
        return json.dumps({**self.fingerprint, "changed": changed}, separators=(",", ":"))


def make_setup(**given: Any) -> Setup:
    """Return a setup from the arguments of Python, of which some may be functions or objects.

    Examples
    --------
    >>> make_setup(task="service-station", seed=1).document["task"]
    'service-station'

    """
    document = {key: value for key, value in given.items() if value is not None}
    refuse_unread(document)
    objects = {key: value for key, value in document.items() if is_object(key, value)}
    document.update(dict.fromkeys(objects, FUNCTION))
    for key in ("actions", "observations", "states"):
        if key in document:
            document[key] = labels_of(listed(document[key], key), key)
    if "start" in document:
        document["start"] = check_label(as_label(document["start"]), "start")
    for key in ("aleatoric", "reward"):
        if isinstance(document.get(key), Mapping) and key not in objects:
            document[key] = rows(document[key], key)
    if isinstance(document.get("allowed"), Mapping):
        document["allowed"] = [[state, listed(actions, "allowed")] for state, actions in document["allowed"].items()]
    return Setup(document, Objects(**objects))


def _check_text(task: Task) -> None:
    """Refuse labels that no file can hold: halves of characters."""
    for labels, argument in ((task.actions, "actions"), (task.observations, "observations"), (task.states, "states")):
        try:
            encode(labels).encode()
        except UnicodeEncodeError as error:
            raise LabelError(argument, ascii(error.object[error.start]), "is half a character") from None


def _drift(given: object) -> dict[str, Any]:
    known = ("batch", "rarity")
    if not isinstance(given, dict) or not set(given) <= set(known):
        raise InputError("drift", given, f"give a mapping with {' and '.join(known)}")
    Gauge(**given)
    return dict(given)


def _allowed(given: object, task: Task) -> dict[int, int]:
    """Return for each state that restricts its actions, by index, the mask of those that are allowed."""
    if given is None:
        return {}
    require(isinstance(given, list), "allowed", given, "give a mapping, or rows [state, [actions]]")
    state, action = finder(task.states, "state in allowed"), finder(task.actions, "action in allowed")
    states = {label: index for index, label in enumerate(task.states)}
    found: dict[int, int] = {}
    for row in given:  # type: ignore[attr-defined]  # a list
        fine = isinstance(row, list) and len(row) == 2 and isinstance(row[1], list) and bool(row[1])
        require(fine, "allowed", row, "a row is [state, [actions]], with at least one action")
        index = states[state(row[0])]
        require(index not in found, "allowed", row[0], "is there twice")
        found[index] = sum(1 << place for place in {task.actions.index(action(label)) for label in row[1]})
    return found
