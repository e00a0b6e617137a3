"""What can be chosen on the page: everything that has a registered name, and what the server was started with.

An address can come from anybody.  So a name in it is looked up here and nowhere else: ``module:attribute`` in an
address never imports anything, and texts that a user's own function takes cannot be set by an address.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from everlearn.agents.design import Design
from everlearn.agents.registry import AGENTS, SCHEDULES, make_design, takes_schedule
from everlearn.errors import UnknownName, require
from everlearn.registry import Parameter, convert, locate, parameters, summary
from everlearn.tasks.registry import TASKS, make_task
from everlearn.tasks.task import Task

REGISTRIES: dict[str, Mapping[str, str]] = {"task": TASKS, "agent": AGENTS, "schedule": SCHEDULES}

DURATION = 1_000_000
"""The duration passed to an agent that must be told one; a stream has no end."""

_NUMBERS = {int, float, bool, types.NoneType}
_VIEW = re.compile(r"natural|memory|window:[0-9]+(\+actions)?")
_REMEDY = (
    "the page offers registered names and what it was started with: "
    "everlearn play MODULE:TASK --agent MODULE:AGENT --schedule MODULE:SCHEDULE"
)


@dataclass(frozen=True)
class Own:
    """A task, an agent or a schedule of the user's own, which the server was started with.

    Parameters
    ----------
    given:
        ``module:attribute``, or the thing itself
    found:
        what ``given`` stands for: a thing, or a function that makes one
    chosen:
        parameters that were set when the server was started; they are its defaults on the page

    """

    given: object
    found: object
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def parameters(self, kind: str) -> dict[str, Parameter]:
        """Return the parameters that the page may set: numbers and switches, with the defaults of this page."""
        known = parameters(self.found) if callable(self.found) else {}
        typed = {name: one._replace(kind=_kind(one)) for name, one in known.items()}
        return {
            name: one._replace(default=convert(self.chosen.get(name, one.default), one.kind, f"{kind}.{name}"))
            for name, one in typed.items()
            if set(typing.get_args(one.kind) or (one.kind,)) <= _NUMBERS
        }

    def summary(self) -> str:
        """Return one line about it."""
        return self.found.summary if isinstance(self.found, Task) else summary(self.found)


@dataclass(frozen=True)
class Offer:
    """Everything that can be chosen, by kind (``task``, ``agent`` or ``schedule``) and name.

    Examples
    --------
    >>> Offer().names("schedule")
    ['smooth', 'change-points', 'fixed', 'practical']
    >>> Offer().settable("schedule", "fixed")
    {'schedule.horizon': 10.0, 'schedule.optimism': 1.0}

    """

    own: Mapping[str, Mapping[str, Own]] = field(default_factory=dict)

    def names(self, kind: str) -> list[str]:
        """Return every name, the user's own first."""
        return [*self.own.get(kind, {}), *REGISTRIES[kind]]

    def refuse_unknown(self, kind: str, name: str) -> None:
        """Raise unless a name is offered; never look for it anywhere else."""
        if name not in self.names(kind):
            require(":" not in name, kind, name, _REMEDY)
            raise UnknownName(kind, name, self.names(kind))

    def parameters(self, kind: str, name: str | None) -> dict[str, Parameter]:
        """Return what may be set of something on the page."""
        if name is None:
            return {}
        self.refuse_unknown(kind, name)
        own = self.own.get(kind, {}).get(name)
        known = parameters(locate(name, REGISTRIES[kind], kind)) if own is None else own.parameters(kind)
        return {key: one for key, one in known.items() if key != "schedule"}

    def settable(self, kind: str, name: str | None) -> dict[str, Any]:
        """Return what may be set of something, by its full name, with the defaults."""
        found = {f"{kind}.{key}": one.default for key, one in self.parameters(kind, name).items()}
        return {**found, "task.aleatoric": "natural"} if kind == "task" else found

    def differing(self, kind: str, name: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters by their full names, converted to their types, without those that have their defaults."""
        found: dict[str, Any] = {}
        known, fixed = self.parameters(kind, name), self.chosen(kind, name)
        for key, value in given.items():
            full = f"{kind}.{key}"
            if key == "aleatoric" and kind == "task":
                ways = "the page takes natural, memory, window:K or window:K+actions"
                require(bool(_VIEW.fullmatch(str(value))), full, value, ways)
                found |= {} if value == "natural" else {full: value}
            elif key in known:
                converted = convert(value, known[key].kind, full)
                found |= {} if converted == known[key].default else {full: converted}
            elif key not in fixed or fixed[key] != value:
                raise UnknownName("parameter", full, list(self.settable(kind, name)))
        return dict(sorted(found.items()))

    def chosen(self, kind: str, name: str | None) -> Mapping[str, Any]:
        """Return the parameters with which the server was started, for something of the user's own."""
        own = self.own.get(kind, {}).get(str(name))
        return {} if own is None else own.chosen

    def given(self, kind: str, name: str) -> object:
        """Return what a registered name, or the name of something of the user's own, stands for."""
        self.refuse_unknown(kind, name)
        own = self.own.get(kind, {}).get(name)
        return name if own is None else own.given

    def takes_schedule(self, agent: str) -> bool:
        """Tell whether an agent takes a schedule."""
        own = self.own.get("agent", {}).get(agent)
        return takes_schedule(agent if own is None else own.found)

    def summary(self, task: str) -> str:
        """Return one line about a task."""
        own = self.own.get("task", {}).get(task)
        return summary(locate(task, TASKS, "task")) if own is None else own.summary()

    def task(self, name: str, parameters: Mapping[str, Any]) -> Task:
        """Make a task."""
        return make_task(self.given("task", name), {**self.chosen("task", name), **parameters})

    def design(self, agent: str, schedule: str | None, chosen: Mapping[str, Mapping[str, Any]]) -> Design:
        """Make an agent before it has met a task; ``chosen`` are parameters by kind."""
        return make_design(
            self.given("agent", agent),
            {**self.chosen("agent", agent), **chosen["agent"]},
            schedule=None if schedule is None else self.given("schedule", schedule),
            schedule_chosen={**self.chosen("schedule", schedule), **chosen["schedule"]},
            duration=DURATION,
        )


def _kind(parameter: Parameter) -> Any:
    """Return the type of a parameter: as annotated, or that of its default."""
    return type(parameter.default) if parameter.kind is object else parameter.kind


REGISTERED = Offer()
"""What a page offers that was started with nothing of the user's own."""
