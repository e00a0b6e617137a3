"""One agent as a page names it: its schedule, and what differs from the defaults of either.

Since an address may come from anybody, nothing is named here but what has a name in a registry: ``module:attribute``
would import it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from everlearn.agents.agent import split
from everlearn.agents.design import Design
from everlearn.agents.registry import AGENTS, SCHEDULES, make_design, takes_schedule
from everlearn.errors import InputError, UnknownName, require
from everlearn.registry import convert, locate, parameters
from everlearn.tasks.registry import TASKS

DURATION = 1_000_000
"""What an agent is told that must be told how long it will run; a stream has no end."""

SHOWN = "smooth"
"""The schedule of an agent of which none is named: the paper's, whose agent the page is there to show at work."""

_REGISTRIES = {"task": TASKS, "agent": AGENTS, "schedule": SCHEDULES}
_VIEW = re.compile(r"natural|memory|window:[0-9]+(\+actions)?")


@dataclass(frozen=True)
class Contender:
    """An agent, its schedule where it takes one, and what differs from the defaults of either.

    Examples
    --------
    >>> Contender("growing-horizon", "smooth", {"schedule.horizon_scale": "3"}).checked().parameters
    {'schedule.horizon_scale': 3.0}
    >>> Contender().is_of_the_paper
    True

    """

    agent: str = "growing-horizon"
    schedule: str | None = SHOWN
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def checked(self) -> Contender:
        """Return the same with every value of its own type and defaults left out; what is unknown is refused."""
        refuse_unknown("agent", self.agent)
        takes = takes_schedule(self.agent)
        schedule = self.schedule or (SHOWN if takes else None)
        if schedule is not None:
            require(takes, "schedule", schedule, f"the agent {self.agent!r} takes no schedule; leave it out")
            refuse_unknown("schedule", schedule)
        chosen = split(self.parameters)
        for name in chosen["task"]:
            raise InputError("parameter", f"task.{name}", "belongs to the task, which all agents share")
        own = differing("agent", self.agent, chosen["agent"])
        return Contender(self.agent, schedule, own | differing("schedule", schedule, chosen["schedule"]))

    def design(self) -> Design:
        """Return the agent before it has met a task."""
        chosen = split(self.parameters)
        return make_design(
            self.agent,
            chosen["agent"],
            schedule=self.schedule,
            schedule_chosen=chosen["schedule"],
            duration=DURATION,
        )

    @property
    def is_of_the_paper(self) -> bool:
        """Whether it is the agent of the paper with a schedule of the paper as printed."""
        printed = self.schedule in ("smooth", "change-points")
        return self.agent == "growing-horizon" and printed and not self.parameters

    @property
    def label(self) -> str:
        """What to call it, told from any other."""
        named = self.agent if self.schedule is None else f"{self.agent}, {self.schedule}"
        changed = [f"{name.partition('.')[2]} {written(value)}" for name, value in self.parameters.items()]
        return ", ".join([named, *changed])


def settable(kind: str, name: str | None) -> dict[str, Any]:
    """Return what may be set of a task, an agent or a schedule, by its full name, with the defaults.

    Examples
    --------
    >>> settable("schedule", "fixed")
    {'schedule.horizon': 10.0, 'schedule.optimism': 1.0}

    """
    if name is None:
        return {}
    known = parameters(locate(name, _REGISTRIES[kind], kind))
    found = {f"{kind}.{one.name}": one.default for one in known.values() if one.name != "schedule"}
    return {**found, "task.aleatoric": "natural"} if kind == "task" else found


def written(value: Any) -> str:
    """Write the value of a parameter as a person types it.

    Examples
    --------
    >>> written(3.0), written(True), written(None), written("slow")
    ('3', 'yes', 'none', 'slow')

    """
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def refuse_unknown(kind: str, name: str) -> None:
    """Refuse what has no name here; never look for it anywhere else."""
    require(":" not in name, kind, name, "the page takes registered names alone; run your own from Python")
    if name not in _REGISTRIES[kind]:
        raise UnknownName(kind, name, _REGISTRIES[kind])


def differing(kind: str, name: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by their full names, each of its own type, without those that are as by default."""
    found: dict[str, Any] = {}
    known = {} if name is None else parameters(locate(name, _REGISTRIES[kind], kind))
    for key, value in given.items():
        full = f"{kind}.{key}"
        if key == "aleatoric" and kind == "task":
            ways = "the page takes natural, memory, window:K or window:K+actions"
            require(bool(_VIEW.fullmatch(str(value))), full, value, ways)
            found |= {} if value == "natural" else {full: value}
            continue
        if key not in known or key == "schedule":
            raise UnknownName("parameter", full, list(settable(kind, name)))
        converted = convert(value, known[key].kind, full)
        if converted != known[key].default:
            found[full] = converted
    return dict(sorted(found.items()))


def told(one: Contender) -> dict[str, Any]:
    """Return the parameters of an agent with the duration that it was told here, where it is told one."""
    told = one.design().duration is not None and "agent.duration" not in one.parameters
    return {**one.parameters, **({"agent.duration": DURATION} if told else {})}
