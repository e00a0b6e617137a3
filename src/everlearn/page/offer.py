"""The offer: what can be chosen on the page, which is all registered names and what the server was started with.

An address can come from anybody.  So a name in it is looked up here and nowhere else: ``module:attribute`` in an
address never imports anything, and an address cannot set a text that a user's function takes.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from everlearn.agents.registry import AGENTS, DEFAULT_SCHEDULE, SCHEDULES, takes_schedule
from everlearn.agents.spec import AgentSpec, TaskSpec
from everlearn.errors import UnknownName, require
from everlearn.registry import Parameter, convert, locate, parameters, summary
from everlearn.tasks.registry import TASKS
from everlearn.tasks.task import Task
from everlearn.windows import is_view

REGISTRIES: dict[str, Mapping[str, str]] = {"task": TASKS, "agent": AGENTS, "schedule": SCHEDULES}

DURATION = 1_000_000
"""The duration for agents that take one: a run on the page has no end."""

_NUMBERS = {int, float, bool, types.NoneType}
_REMEDY = (
    "the page offers registered names and what it was started with: "
    "everlearn play MODULE:TASK --agent MODULE:AGENT --schedule MODULE:SCHEDULE"
)


@dataclass(frozen=True)
class Entry:
    """A task, an agent or a schedule that is offered.

    ``given`` is a name or a thing, and ``thing`` is what the name stands for: a thing, or a function that makes one.
    ``own`` says whether it is the user's own; then ``parameters`` were set when the server was started, and are the
    defaults on the page.
    """

    given: object
    thing: object
    parameters: Mapping[str, Any] = field(default_factory=dict)
    own: bool = False

    def settable(self, kind: str) -> dict[str, Parameter]:
        """Return the parameters that the page may set; of the user's own, numbers and switches."""
        settable = dict(parameters(self.thing)) if callable(self.thing) else {}
        settable.pop("schedule", None)
        for name, parameter in list(settable.items() if self.own else ()):
            annotation = type(parameter.default) if parameter.kind is object else parameter.kind
            if set(typing.get_args(annotation) or (annotation,)) <= _NUMBERS:
                value = self.parameters.get(name, parameter.default)
                settable[name] = Parameter(name, convert(value, annotation, f"{kind}.{name}"), annotation)
            else:
                del settable[name]
        return settable


@dataclass(frozen=True)
class Offer:
    """Everything that can be chosen, by kind (``task``, ``agent`` or ``schedule``) and name."""

    own: Mapping[tuple[str, object], Entry] = field(default_factory=dict)

    def names(self, kind: str) -> list[str]:
        """Return every name, the user's own first."""
        return [*(str(name) for own_kind, name in self.own if own_kind == kind), *REGISTRIES[kind]]

    def defaults(self, kind: str, name: object) -> dict[str, Any]:
        """Return the parameters that the page may set, with their defaults."""
        settable = self._entry(kind, name).settable(kind)
        defaults = {key: parameter.default for key, parameter in settable.items()}
        return {**defaults, "aleatoric": "natural"} if kind == "task" else defaults

    def summary(self, task: object) -> str:
        """Return one line about a task."""
        thing = self._entry("task", task).thing
        return thing.summary if isinstance(thing, Task) else summary(thing)

    def check_task(self, task: TaskSpec) -> TaskSpec:
        """Return a task with parameters of the right types, without defaults; raise if it is not offered."""
        return TaskSpec(task.given, self._check("task", task.given, task.parameters))

    def check_agent(self, agent: AgentSpec) -> AgentSpec:
        """Return an agent with parameters of the right types, without defaults; raise if it is not offered."""
        name, schedule = agent.given, agent.schedule
        takes = takes_schedule(self._entry("agent", name).thing, agent.parameters)
        require(takes or not schedule, "schedule", schedule, f"the agent {name!r} takes no schedule; leave it out")
        schedule = schedule or (DEFAULT_SCHEDULE if takes else None)
        return AgentSpec(
            name,
            schedule,
            self._check("agent", name, agent.parameters),
            self._check("schedule", schedule, agent.schedule_parameters),
        )

    def task(self, task: TaskSpec) -> TaskSpec:
        """Return a task as it can be made: with what its name stands for, and all parameters."""
        entry = self._entry("task", task.given)
        return TaskSpec(entry.given, {**entry.parameters, **task.parameters})

    def agent(self, agent: AgentSpec) -> AgentSpec:
        """Return an agent as it can be made: with what its names stand for, and all parameters."""
        entry, schedule = self._entry("agent", agent.given), self._entry("schedule", agent.schedule)
        return AgentSpec(
            entry.given,
            schedule.given,
            {**entry.parameters, **agent.parameters},
            {**schedule.parameters, **agent.schedule_parameters},
        )

    def _entry(self, kind: str, name: object) -> Entry:
        """Return what a name stands for; raise unless it is offered, and never look anywhere else."""
        if name is None or (kind, name) in self.own:
            return self.own.get((kind, name), Entry(None, None))
        if name not in REGISTRIES[kind]:
            require(":" not in str(name), kind, name, _REMEDY)
            raise UnknownName(kind, name, self.names(kind))
        return Entry(name, locate(str(name), REGISTRIES[kind], kind))

    def _check(self, kind: str, name: object, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters converted to their types, sorted, without those that have their defaults."""
        checked: dict[str, Any] = {}
        entry = self._entry(kind, name)
        settable = entry.settable(kind)
        for key, value in given.items():
            full = f"{kind}.{key}"
            if key == "aleatoric" and kind == "task":
                views = "take natural, memory, window:K, actions:K, last-change:K, trace:DECAY:LEVELS or belief:LEVELS"
                require(is_view(value), full, value, views)
                checked |= {} if value == "natural" else {key: value}
            elif key in settable:
                converted = convert(value, settable[key].kind, full)
                checked |= {} if converted == settable[key].default else {key: converted}
            elif key not in entry.parameters or entry.parameters[key] != value:
                raise UnknownName("parameter", full, [f"{kind}.{known}" for known in self.defaults(kind, name)])
        return dict(sorted(checked.items()))


REGISTERED = Offer()
"""What a page offers that was started with nothing of the user's own."""
