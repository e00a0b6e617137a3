"""One agent as the page names it: its schedule, and the parameters that differ from the defaults of either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from everlearn.agents.design import Design
from everlearn.agents.registry import DEFAULT_SCHEDULE
from everlearn.agents.spec import split
from everlearn.errors import InputError, require
from everlearn.play.offer import DURATION, REGISTERED, Offer

PRINTED = ("smooth", "change-points")
"""The schedules of the paper."""


@dataclass(frozen=True)
class Contender:
    """An agent, its schedule if it takes one, and the parameters that differ from the defaults of either.

    Examples
    --------
    >>> Contender("growing-horizon", "smooth", {"schedule.horizon_scale": "3"}).checked().parameters
    {'schedule.horizon_scale': 3.0}
    >>> Contender().label, Contender().is_of_the_paper
    ('growing-horizon, practical', False)

    """

    agent: str = "growing-horizon"
    schedule: str | None = DEFAULT_SCHEDULE
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def checked(self, offer: Offer = REGISTERED) -> Contender:
        """Return the same with every value converted to its type and defaults left out; raise for what is unknown."""
        offer.refuse_unknown("agent", self.agent)
        takes = offer.takes_schedule(self.agent)
        schedule = self.schedule or (DEFAULT_SCHEDULE if takes else None)
        if schedule is not None:
            require(takes, "schedule", schedule, f"the agent {self.agent!r} takes no schedule; leave it out")
            offer.refuse_unknown("schedule", schedule)
        chosen = split(self.parameters)
        for name in chosen["task"]:
            raise InputError("parameter", f"task.{name}", "belongs to the task, which all agents share")
        own = offer.differing("agent", self.agent, chosen["agent"])
        return Contender(self.agent, schedule, own | offer.differing("schedule", schedule, chosen["schedule"]))

    def design(self, offer: Offer = REGISTERED) -> Design:
        """Return the agent before it has met a task."""
        return offer.design(self.agent, self.schedule, split(self.parameters))

    @property
    def is_of_the_paper(self) -> bool:
        """Whether it is the agent of the paper with a schedule of the paper as printed."""
        return self.agent == "growing-horizon" and self.schedule in PRINTED and not self.parameters

    @property
    def label(self) -> str:
        """A name that differs from that of any other contender."""
        named = self.agent if self.schedule is None else f"{self.agent}, {self.schedule}"
        changed = [f"{name.partition('.')[2]} {written(value)}" for name, value in self.parameters.items()]
        return ", ".join([named, *changed])


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


def told(one: Contender, offer: Offer = REGISTERED) -> dict[str, Any]:
    """Return the parameters of an agent, with the duration that the page passes to an agent that must be told one."""
    told = one.design(offer).duration is not None and "agent.duration" not in one.parameters
    return {**one.parameters, **({"agent.duration": DURATION} if told else {})}
