"""What the page begins with: a task, an agent and a schedule, registered or the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from everlearn.agents.agent import whole
from everlearn.agents.design import Design
from everlearn.agents.registry import make_design, make_schedule
from everlearn.agents.schedule import Schedule
from everlearn.agents.spec import split
from everlearn.play.configuration import Configuration
from everlearn.play.contender import Contender
from everlearn.play.offer import DURATION, REGISTERED, REGISTRIES, Offer, Own
from everlearn.play.picture import Painter
from everlearn.play.race import Workshop
from everlearn.registry import locate
from everlearn.tasks.registry import PREFIXES, make_task
from everlearn.tasks.task import Task


class Opening:
    """The configuration that a page begins with, and the workshop that offers what is in it.

    Examples
    --------
    >>> Opening().configuration.contenders[0].label
    'growing-horizon, practical'

    """

    def __init__(self, configuration: Configuration | None = None, offer: Offer = REGISTERED) -> None:
        self.configuration = (configuration or Configuration()).checked(offer)
        self.workshop = Workshop(offer)


def open_with(
    task: object = None,
    agent: object = None,
    *,
    schedule: object = None,
    parameters: Mapping[str, Any] | None = None,
    seed: object = None,
) -> Opening:
    """Return what a page begins with; whatever is not registered is offered on it under its own name.

    The first steps are taken here, so that a mistake in a user's own task or agent is raised before anything is served.

    Examples
    --------
    >>> open_with("riverswim", "q-learning", parameters={"task.states": 8}).configuration.query()
    'task=riverswim&task.states=8&seed=1&agent=q-learning&speed=10&growing=yes'

    """
    blank, chosen = Configuration(), split(parameters or {})
    own: dict[str, dict[str, Own]] = {}
    named: dict[str, str | None] = {}
    for kind, given in (("task", task), ("agent", agent), ("schedule", schedule)):
        named[kind] = given if given is None or isinstance(given, str) else _name(kind, given, chosen[kind])
        if given is not None and (not isinstance(given, str) or given not in REGISTRIES[kind]):
            own[kind] = {str(named[kind]): Own(given, _found(kind, given), chosen.pop(kind))}
    contender = Contender(
        named["agent"] or blank.contenders[0].agent,
        named["schedule"],
        {f"{kind}.{name}": value for kind in ("agent", "schedule") for name, value in chosen.get(kind, {}).items()},
    )
    configuration = Configuration(
        named["task"] or blank.task,
        {f"task.{name}": value for name, value in chosen.get("task", {}).items()},
        (contender,),
        blank.seed if seed is None else whole(seed, "seed"),
    )
    opening = Opening(configuration, Offer(own))
    if own:
        race = opening.workshop.race(opening.configuration)
        race.advance(1)
        Painter().paint(race)
    return opening


_MAKERS: dict[str, Callable[[object, Mapping[str, Any]], Task | Design | Schedule]] = {
    "task": make_task,
    "agent": lambda given, chosen: make_design(given, chosen, duration=DURATION),
    "schedule": make_schedule,
}


def _name(kind: str, given: object, chosen: Mapping[str, Any]) -> str:
    """Return what to call something that was passed from Python: its own name, told apart from registered ones."""
    name = _MAKERS[kind](given, chosen).name
    return f"{name} (yours)" if name in REGISTRIES[kind] else name


def _found(kind: str, given: object) -> object:
    """Return what a name stands for; this is where a user's own module is imported."""
    if not isinstance(given, str):
        return given
    prefix = given.partition(":")[0]
    if kind == "task" and prefix in PREFIXES:
        return locate(prefix, PREFIXES, kind)
    return locate(given, REGISTRIES[kind], kind)
