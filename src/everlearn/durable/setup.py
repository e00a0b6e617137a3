"""The setup of a durable agent: a JSON document that describes it completely, and the task and agent made from it.

Python and HTTP share this document.  In Python f, r, the task, the agent and the schedule may also be functions and
objects; the document then says that there is one, and it must be given again whenever the agent is to learn.

To add a key, add it to ``KEYS`` and to the arguments of :func:`everlearn.durable.live.live`.
"""

from __future__ import annotations

import copy
import json
import math
import numbers
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from everlearn.agents.agent import Agent, whole
from everlearn.agents.design import Design
from everlearn.agents.names import DEFAULT_AGENT, default_agent
from everlearn.agents.prices import Prices, Range, make_prices
from everlearn.agents.spec import read_specs, split
from everlearn.aleatoric.state import AleatoricState
from everlearn.durable.declaration import (
    FUNCTION,
    GIVEN,
    OBJECT,
    check_rewards,
    declared_task,
    finder,
    is_missing,
    listed,
    rows,
)
from everlearn.durable.drift import Gauge
from everlearn.durable.fingerprint import fingerprint_of, is_own_schedule, labels_of, task_of_face
from everlearn.durable.promotion import Rule
from everlearn.errors import InputError, LabelError, require
from everlearn.factories import name_of
from everlearn.grids import Box, Grid, read_grid
from everlearn.labels import as_label, check_label, check_labels, encode
from everlearn.registry import MOST_STEPS, plain
from everlearn.tasks.task import Task


class Key(NamedTuple):
    """A key of a setup."""

    default: Any = None
    of_task: bool = False  # whether a task brings it, so that it cannot be given beside one
    change: bool | None = None  # whether a change can be accepted; None if the fingerprint says what changed


KEYS = {
    "task": Key(),
    "actions": Key(of_task=True),
    "observations": Key(of_task=True),
    "aleatoric": Key("last", of_task=True),
    "states": Key(of_task=True),
    "start": Key(of_task=True),
    "reward": Key(GIVEN, of_task=True),
    "reward_range": Key(of_task=True),
    "reward_delay": Key(0, change=True),
    "durations": Key(change=False),
    "cost_range": Key(change=False),
    "limit": Key(change=True),
    "raw": Key(False, of_task=True),
    "agent": Key(),
    "schedule": Key(),
    "parameters": Key({}),
    "explore": Key(0.0, change=True),
    "seed": Key(0, change=False),
    "allowed": Key(change=False),
    "snapshot_every": Key(10_000, change=True),
    "retain": Key(change=True),
    "drift": Key({}, change=False),
    "promotion": Key(change=True),
}
DEFAULT_OF_BOX = "linear"
"""The agent of a setup whose observations are a box, if none is named: the default agent needs listed states."""

MOST_DELAY = 10_000
"""For how many steps a reward may be waited for; what waits is part of every snapshot."""

WHOLE = {
    "seed": (0, None),
    "snapshot_every": (1, MOST_STEPS),
    "retain": (1, MOST_STEPS),
    "reward_delay": (0, MOST_DELAY),
}
"""The keys of whole numbers, each with its ends; they may be written as text, as in ``1e4``."""

LABELS = ("actions", "observations", "states", "start")
DEFAULTS: dict[str, Any] = {name: key.default for name, key in KEYS.items()}


class Setup:
    """What a durable agent is: its document, and the task and the agent made from it.

    ``values`` are by the keys of ``KEYS``, as in JSON or as functions and objects.  ``face`` is the stored fingerprint,
    which is enough to replay and to read if objects are not given.
    """

    def __init__(self, values: Mapping[str, Any], face: dict[str, Any] | None = None) -> None:
        for key in values:
            require(key in KEYS, "setup", key, f"known: {', '.join(KEYS)}")
        normalised = _normalised({**DEFAULTS, **values})
        self.document = {
            key: FUNCTION if _is_object(key, value) else _plain(value) for key, value in normalised.items()
        }
        objects = {key: value for key, value in normalised.items() if key in LABELS or is_missing(self.document[key])}
        self.values = {**self.document, **objects}
        names = (self.values[key] for key in ("task", "agent", "schedule", "parameters"))
        self.task_spec, self.agent_spec = read_specs(*names)
        if face is None:
            declared = self.values["task"] is None
            self.task = declared_task(self.values) if declared else self.design.seen(self.task_spec.make())
            _ = self.task.reward.pure, self.task.aleatoric.pure  # raise before anything is written
        else:
            self.task = task_of_face(face)
        _check_text(self.task)
        self.snapshot_every, self.retain = self.values["snapshot_every"], self.values["retain"]
        self.gives_reward = self.document["reward"] == GIVEN
        self.reward_delay = self.values["reward_delay"]
        late = self.gives_reward or not self.reward_delay
        require(late, "reward_delay", self.reward_delay, "rewards follow from the setup, so none is late; leave it out")
        self.gives_state = self.document["aleatoric"] == GIVEN
        self.observes_state = self.gives_state and same_labels(self.task.observations, self.task.states)
        self.explore = _rate(self.values["explore"])
        self.prices = self._prices()
        self.promotion = self.check_promotion(Rule.read(self.values["promotion"]))
        self.drift = self.values["drift"]
        self.allowed = _allowed(self.values["allowed"], self.task)

    def _prices(self) -> Prices | None:
        """Return new prices, if durations or a limit are declared."""
        prices = make_prices(self.task.reward, *(self.values[key] for key in ("durations", "cost_range", "limit")))
        raw = self.values["raw"] and prices is not None
        require(not raw, "raw", True, "with durations or a limit the agent learns from numbers in [0, 1]; leave it out")
        return prices

    @property
    def measures(self) -> tuple[Range | None, Range | None]:
        """The ranges of the duration and of the cost that come with each observation; None where none comes."""
        return (None, None) if self.prices is None else (self.prices.durations, self.prices.cost_range)

    @property
    def objects(self) -> dict[str, Any]:
        """The values that the document cannot hold, by key."""
        return {key: self.values[key] for key, value in self.document.items() if is_missing(value)}

    @property
    def is_declared(self) -> bool:
        """Whether the document says everything: no value is a function, an object, or the name of a task."""
        return self.document["task"] is None and not self.has_own_design and not self.objects

    @property
    def has_own_design(self) -> bool:
        """Whether the design or the schedule is the user's, which only the user can give again."""
        spec = self.agent_spec
        return not spec.is_named or ":" in f"{spec.given} {spec.schedule}"

    @cached_property
    def design(self) -> Design:
        """The design, with its schedule."""
        missing = is_missing(self.agent_spec.given) or is_missing(self.agent_spec.schedule)
        remedy = "open it with el.live and the same object, or pass it as 'module:attribute' when you create an agent"
        require(not missing, "agent", OBJECT, f"its design or schedule is not given by name; {remedy}")
        return self.agent_spec.make()

    def resemble(self, before: Mapping[str, Any]) -> None:
        """Keep names and the order of states as they were in an earlier fingerprint.

        Neither changes what the agent does, and what it knows and its journal are in indices.
        """
        states = labels_of(before["states"])
        if not isinstance(states, Grid) and same_labels(states, self.task.states):
            aleatoric = replace(self.task.aleatoric, states=states)
            self.task = replace(self.task, name=before["name"], aleatoric=aleatoric)
            self.allowed = _allowed(self.values["allowed"], self.task)
        agent, schedule = before.get("agent"), before.get("schedule")
        if self.design.schedule is not None and schedule and is_own_schedule(self.design.schedule):
            self.design = replace(self.design, schedule=replace(self.design.schedule, name=schedule["name"]))
        if agent and agent["functions"] and self.design.own:
            self.design = replace(self.design, name=agent["name"])

    def check_promotion(self, rule: Rule | None) -> Rule | None:
        """Return a promotion rule if the agent can have it."""
        fine = rule is None or self.prices is None
        remedy = "a rule judges reward per step, and this agent has durations or costs; leave it out"
        require(fine, "promotion", rule and rule.document(), remedy)
        listed = rule is None or not isinstance(self.task.states, Grid)
        remedy = (
            "a rule estimates from states that are listed, and those of this agent are points of a box; leave it out"
        )
        require(listed, "promotion", rule and rule.document(), remedy)
        return rule

    def check_evidence(self, rule: Rule | None) -> None:
        """Raise if so few rows are retained that a promotion rule could never see the evidence that it needs."""
        if rule is not None and self.retain is not None:
            remedy = f"the promotion rule looks at {rule.needs:,} steps or more; retain as many"
            require(self.retain >= rule.needs, "retain", self.retain, remedy)

    def with_promotion(self, rule: Rule | None) -> Setup:
        """Return the same setup with another promotion rule."""
        other = copy.copy(self)
        document = None if rule is None else rule.document()
        other.document, other.values = ({**each, "promotion": document} for each in (self.document, self.values))
        other.promotion = rule
        return other

    def agent(self) -> Agent:
        """Return a new agent; what is forbidden has the value minus infinity."""
        agent = Agent(self.task, self.design, seed=self.values["seed"])
        agent.prices = self._prices()
        if self.reward_delay and agent.design.defers:
            remedy = "this agent cannot learn from rewards that come late; choose another, such as q-lambda"
            raise InputError("reward_delay", agent.design.name, remedy)
        if not self.allowed:
            return agent
        values = agent.values if agent.design.masks else None
        if values is None:
            remedy = "this agent cannot leave out actions; choose another, or pass allowed with each call of act"
            raise InputError("allowed", agent.design.name, remedy)
        for state, mask in self.allowed.items():
            for action in range(agent.indexed.actions):
                if not mask >> action & 1:
                    values[state, action] = -math.inf
        return agent

    def encoded(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document, separators=(",", ":"))

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """What the agent depends on, as read back from JSON."""
        functions = {"states": not self.gives_state, "rewards": not self.gives_reward}
        document: dict[str, Any] = json.loads(json.dumps(fingerprint_of(self.task, self.design, **functions)))
        return document

    def face(self, changed: int | None = None) -> str | None:
        """Return the fingerprint as text, from which an agent can be read without objects; None if all is declared.

        ``changed`` is the number of the row in which a change of it was last accepted.
        """
        if self.is_declared and changed is None:
            return None
        return json.dumps({**self.fingerprint, "changed": changed}, separators=(",", ":"))


def means_another(stored: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Tell whether arguments name a schedule and no agent, and the stored agent is the default, which takes none.

    They then mean the agent whose schedules these are.
    """
    chosen = split(given.get("parameters") or {})["schedule"]
    scheduled = given.get("schedule") is not None or bool(chosen)
    return scheduled and given.get("agent") is None and stored.get("agent") == DEFAULT_AGENT


def make_setup(**given: Any) -> Setup:
    """Return a setup from arguments of Python; raise if one of them would have no effect."""
    values = {key: value for key, value in given.items() if value is not None}
    kind = values.get("aleatoric")
    if "task" in values:
        for key in (key for key in KEYS if KEYS[key].of_task):
            value = simple(values.get(key))
            require(value in (None, "task"), key, name_of(values.get(key)), "comes from the task; leave it out")
        return _judged(Setup(values))
    remedy = "a function alone has no state to begin in; give el.AleatoricState(start, function)"
    require(not callable(kind), "aleatoric", name_of(kind), remedy)
    unread = "states" in values and not (isinstance(kind, str) and kind == GIVEN)
    require(not unread, "states", values.get("states"), 'are used only if aleatoric is "given"; leave it out')
    unread = "start" in values and isinstance(kind, AleatoricState)
    require(not unread, "start", values.get("start"), "comes from the aleatoric state; leave it out")
    for key in split(values.get("parameters") or {})["task"]:
        raise InputError("parameter", f"task.{key}", "there is no task; leave it out")
    made = Setup(values)
    if isinstance(made.document["reward"], list):
        check_rewards(made.document["reward"], made.task.reward)
    return _judged(made)


def _judged(setup: Setup) -> Setup:
    """Return a setup if its promotion rule can see its evidence; one that is on disk is not asked."""
    setup.check_evidence(setup.promotion)
    return setup


def simple(value: object) -> object:
    """Return what an error shows of an argument: a simple value as it is, any other by its type."""
    return value if value is None or isinstance(value, bool | int | float | str) else type(value).__name__


def _is_object(key: str, value: object) -> bool:
    """Return whether the value of a key is a function or an object, which a document cannot hold."""
    if key in ("task", "agent", "schedule"):
        return value is not None and not isinstance(value, str)
    return isinstance(value, AleatoricState) or (key == "reward" and callable(value))


def _normalised(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with labels checked, tables and mappings as rows, and what follows from other values."""
    values = with_numbers(values)
    for key in ("actions", "observations", "states"):
        if values[key] is not None:
            values[key] = _labels(values[key], key)
    if values["start"] is not None and not isinstance(values["observations"], Box):
        values["start"] = check_label(as_label(values["start"]), "start")
    for key in ("aleatoric", "reward"):
        if isinstance(values[key], Mapping) and not is_missing(values[key]):
            values[key] = rows(values[key], key)
    if isinstance(values["allowed"], Mapping):
        allowed = values["allowed"].items()
        values["allowed"] = [[state, listed(actions, "allowed")] for state, actions in allowed]
    if values["agent"] is None:
        of_box = isinstance(values["observations"], Box)
        values["agent"] = (
            DEFAULT_OF_BOX if of_box else default_agent(values["schedule"], split(values["parameters"])["schedule"])
        )
    rule = Rule.read(values["promotion"])
    values["promotion"] = None if rule is None else rule.document()
    if values["task"] is not None:
        values["aleatoric"] = values["reward"] = "task"
    elif values["observations"] is None and isinstance(values["aleatoric"], str) and values["aleatoric"] == GIVEN:
        values["observations"] = values["states"]
    return values


def with_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with numbers as numbers, however they are written."""
    given = {key: whole(values[key], key, *ends) for key, ends in WHOLE.items() if values.get(key) is not None}
    return {**values, **given, "drift": _drift(values["drift"])}


def _check_text(task: Task) -> None:
    """Raise if a label has half a character (a surrogate), which no file can hold."""
    for labels, argument in ((task.actions, "actions"), (task.observations, "observations"), (task.states, "states")):
        if isinstance(labels, Grid):
            continue
        try:
            encode(labels).encode()
        except UnicodeEncodeError as error:
            raise LabelError(argument, ascii(error.object[error.start]), "is half a character") from None


def _plain(value: object) -> Any:
    return value.document() if isinstance(value, Grid) else plain(value)


def _labels(given: object, key: str) -> Any:
    """Return a set of labels that a user or a document gives: a list, or a box."""
    if isinstance(given, Mapping):
        return read_grid(given)
    return given if isinstance(given, Grid) else check_labels(as_label(listed(given, key)), key)


def same_labels(labels: Any, others: Any) -> bool:
    """Return whether two sets of labels are equal, whatever their order."""
    listed_both = not isinstance(labels, Grid) and not isinstance(others, Grid)
    return set(labels) == set(others) if listed_both else bool(labels == others)


def _rate(given: object) -> float:
    number = not isinstance(given, bool) and isinstance(given, numbers.Real) and 0 <= float(given) <= 1
    require(number, "explore", simple(given), "give a probability, as in explore=0.02")
    return float(given)  # type: ignore[arg-type]  # a number


def _drift(given: object) -> dict[str, Any]:
    known = ("batch", "rarity")
    if not isinstance(given, dict) or not set(given) <= set(known):
        raise InputError("drift", given, f"give a mapping with {' and '.join(known)}")
    gauge = Gauge(**given)
    return {name: getattr(gauge, name) for name in given}


def _allowed(given: object, task: Task) -> dict[int, int]:
    """Return the masks of allowed actions, by the indices of the states that restrict them."""
    if given is None:
        return {}
    remedy = "is by state, and the states are points of a box; pass allowed with each call of act"
    require(not isinstance(task.states, Grid), "allowed", given, remedy)
    require(isinstance(given, list), "allowed", given, "give a mapping, or rows [state, [actions]]")
    state, action = finder(task.states, "state in allowed"), finder(task.actions, "action in allowed")
    states, actions = ({label: index for index, label in enumerate(labels)} for labels in (task.states, task.actions))
    masks: dict[int, int] = {}
    for row in given:  # type: ignore[attr-defined]  # a list
        fine = isinstance(row, list) and len(row) == 2 and isinstance(row[1], list) and bool(row[1])
        require(fine, "allowed", row, "a row is [state, [actions]], with at least one action")
        index = states[state(row[0])]
        require(index not in masks, "allowed", row[0], "is there twice")
        masks[index] = sum(1 << place for place in {actions[action(label)] for label in row[1]})
    return masks
