"""Make an agent or a schedule from what a user may give: a name, a function or the thing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from everlearn.agents.design import Design
from everlearn.agents.guard import check_design
from everlearn.agents.names import AGENTS as AGENTS
from everlearn.agents.names import DEFAULT_SCHEDULE as DEFAULT_SCHEDULE
from everlearn.agents.names import SCHEDULES as SCHEDULES
from everlearn.agents.schedule import Schedule
from everlearn.errors import InputError, UnknownName, UserCodeError
from everlearn.factories import call_factory, name_of, refuse_needy
from everlearn.labels import kind_of
from everlearn.ownership import is_ours
from everlearn.purity import impurities
from everlearn.registry import locate, parameters, settings
from everlearn.tasks.define import Definition
from everlearn.tasks.task import Task

WANTED_AGENT = "a design, as in el.Design(build, act, learn), or a function without required arguments that returns one"
WANTED_SCHEDULE = "a schedule, as in el.Schedule(...), or a function without required arguments that returns one"


def make_schedule(given: object, chosen: Mapping[str, Any] | None = None) -> Schedule:
    """Return a schedule from what a user may give: a schedule, a factory, or the name of one of these.

    Examples
    --------
    >>> make_schedule("smooth", {"horizon_scale": 3}).horizon(1)
    3.0

    """
    chosen = dict(chosen or {})
    found = locate(given, SCHEDULES, "schedule") if isinstance(given, str) else given
    if isinstance(found, Schedule):
        if chosen:
            raise UnknownName("parameter", f"schedule.{next(iter(chosen))}", [])
        return _pure(replace(found, name=given) if isinstance(given, str) else found)
    if not callable(found):
        raise InputError("schedule", name_of(given), "is neither a schedule nor a function that makes one")
    refuse_needy(found, given, "schedule", WANTED_SCHEDULE, (Schedule,))
    values = settings(found, chosen, "schedule")
    schedule = call_factory(found, values, given, "schedule")
    if not isinstance(schedule, Schedule):
        raise InputError(
            "schedule",
            name_of(given),
            f"returned {kind_of(schedule)}, not a schedule; return one, as in el.Schedule(...)",
        )
    name = given if isinstance(given, str) else schedule.name
    return _pure(replace(schedule, name=name, parameters=values))


def _pure(schedule: Schedule) -> Schedule:
    """Return a schedule whose functions depend on t alone, as far as can be told without calling them."""
    for name in ("horizon", "optimism", "value_shift", "count_scale", "formula"):
        function = getattr(schedule, name)
        if function is None and name == "formula":
            continue
        if not callable(function):
            raise InputError(f"{name} of the schedule", function, "give a function of t")
        for found in () if is_ours(function) else impurities(function):
            said = f"schedule {schedule.name!r}: {name} uses {found.name} ({found.place})"
            raise UserCodeError(f"{said}; a schedule is a function of t alone")
    return schedule


def make_design(
    given: object,
    chosen: Mapping[str, Any] | None = None,
    *,
    schedule: object = None,
    schedule_chosen: Mapping[str, Any] | None = None,
    duration: int | None = None,
) -> Design:
    """Return a design from what a user may give: a design, a factory, or the name of one of these.

    ``schedule`` is for agents that take one.  ``duration`` is the length of the run, for agents that must be told.

    Examples
    --------
    >>> make_design("growing-horizon", schedule="change-points").schedule.name
    'change-points'

    """
    chosen = dict(chosen or {})
    found = locate(given, AGENTS, "agent") if isinstance(given, str) else given
    if isinstance(found, Task | Definition):
        raise InputError("agent", name_of(given), "is a task; the agent comes second, as in el.run(task, agent)")
    if callable(found) and not isinstance(found, Design):
        refuse_needy(found, given, "agent", WANTED_AGENT, (Design,))
    known = parameters(found) if callable(found) else {}
    if "schedule" not in known:
        _refuse_schedule(given, schedule, schedule_chosen)
    if isinstance(found, Design):
        if chosen:
            remedy = "this design is made already; pass the function that makes it, which takes parameters"
            raise InputError("parameter", f"agent.{next(iter(chosen))}", remedy)
        return _checked(replace(found, name=given) if isinstance(given, str) else found)
    if not callable(found):
        raise InputError("agent", name_of(given), "is neither a design nor a function that makes one")
    if "duration" in known and chosen.get("duration") is None:
        chosen["duration"] = duration
    if "schedule" in known:
        chosen["schedule"] = make_schedule(schedule or chosen.get("schedule") or DEFAULT_SCHEDULE, schedule_chosen)
    values = settings(found, chosen, "agent", unlisted=("schedule",))
    design = call_factory(found, values, given, "agent")
    if not isinstance(design, Design):
        raise InputError(
            "agent",
            name_of(given),
            f"returned {kind_of(design)}, not a design; return one, as in el.Design(build, act, learn)",
        )
    values.pop("schedule", None)
    name = given if isinstance(given, str) else design.name
    return _checked(replace(design, name=name, parameters=values))


def _checked(design: Design) -> Design:
    if design.own:
        check_design(design)
        if design.schedule is not None:
            _pure(design.schedule)
    return design


def takes_schedule(given: object) -> bool:
    """Tell whether an agent takes a schedule.

    Examples
    --------
    >>> takes_schedule("growing-horizon"), takes_schedule("always")
    (True, False)

    """
    found = locate(given, AGENTS, "agent") if isinstance(given, str) else given
    return callable(found) and "schedule" in parameters(found)


def _refuse_schedule(given: object, schedule: object, chosen: Mapping[str, Any] | None) -> None:
    if schedule is not None or chosen:
        value = schedule if schedule is not None else f"schedule.{next(iter(chosen or ()))}"
        raise InputError("schedule", value, f"the agent {given!r} takes no schedule; leave it out")
