"""Make an agent or a schedule from what a user passes: a name, a factory or the object itself."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from everlearn.agents.design import UNNAMED, Design
from everlearn.agents.names import AGENTS as AGENTS
from everlearn.agents.names import DEFAULT_SCHEDULE as DEFAULT_SCHEDULE
from everlearn.agents.names import SCHEDULED_AGENT
from everlearn.agents.names import SCHEDULES as SCHEDULES
from everlearn.agents.reading import check_design
from everlearn.agents.schedule import Schedule
from everlearn.errors import InputError, UnknownName, UserCodeError
from everlearn.factories import call_factory, name_of, refuse_needy
from everlearn.labels import kind_of
from everlearn.ownership import is_ours, plain_function
from everlearn.purity import impurities
from everlearn.registry import defined, locate, parameters, settings
from everlearn.tasks.define import Definition
from everlearn.tasks.names import TASKS
from everlearn.tasks.task import Task

WANTED_AGENT = "a design, as in el.Design(build, act, learn), or a function without required arguments that returns one"
IS_TASK = "is a task; the agent comes second, as in el.run(task, agent) or everlearn run TASK --agent AGENT"
WANTED_SCHEDULE = "a schedule, as in el.Schedule(...), or a function without required arguments that returns one"


def make_schedule(given: object, chosen: Mapping[str, Any] | None = None) -> Schedule:
    """Return a schedule from a schedule, a factory, or the name of one of these."""
    chosen = dict(chosen or {})
    factory = locate(given, SCHEDULES, "schedule") if isinstance(given, str) else given
    if isinstance(factory, Schedule):
        if chosen:
            raise UnknownName("parameter", f"schedule.{next(iter(chosen))}", [])
        return _check_schedule(replace(factory, name=given) if isinstance(given, str) else factory)
    if not callable(factory):
        raise InputError("schedule", name_of(given), "is neither a schedule nor a function that makes one")
    refuse_needy(factory, given, "schedule", WANTED_SCHEDULE, (Schedule,))
    _refuse_others(factory, chosen)
    values = settings(factory, chosen, "schedule")
    schedule = call_factory(factory, values, given, "schedule")
    if not isinstance(schedule, Schedule):
        remedy = f"returned {kind_of(schedule)}, not a schedule; return one, as in el.Schedule(...)"
        raise InputError("schedule", name_of(given), remedy)
    name = given if isinstance(given, str) else schedule.name
    return _check_schedule(replace(schedule, name=name, parameters=values))


def _refuse_others(factory: Any, chosen: Mapping[str, Any]) -> None:
    """Raise if a parameter of a schedule is one of another schedule alone, and name that one."""
    for name in [name for name in chosen if is_ours(factory) and name not in parameters(factory)]:
        others = [other for other in SCHEDULES if name in parameters(locate(other, SCHEDULES, "schedule"))]
        if others:
            known = ", ".join(f"schedule.{each}" for each in sorted(parameters(factory)))
            remedy = f"only {' and '.join(others)} takes it; {name_of(factory)} takes {known}"
            raise InputError("parameter", f"schedule.{name}", remedy)


def _check_schedule(schedule: Schedule) -> Schedule:
    """Raise if a function of a schedule visibly depends on more than t."""
    for name in ("horizon", "optimism", "value_shift", "count_scale", "formula"):
        function = getattr(schedule, name)
        if function is None and name == "formula":
            continue
        if not callable(function):
            raise InputError(f"{name} of the schedule", function, "give a function of t")
        for impurity in () if is_ours(function) else impurities(function):
            problem = f"schedule {schedule.name!r}: {name} uses {impurity.name} ({impurity.place})"
            message = f"{problem}; a schedule is a function of t alone"
            raise UserCodeError(message, function=f"schedule {schedule.name!r}: {name}")
    return schedule


def make_design(
    given: object,
    chosen: Mapping[str, Any] | None = None,
    *,
    schedule: object = None,
    schedule_chosen: Mapping[str, Any] | None = None,
    duration: int | None = None,
) -> Design:
    """Return a design from a design, a factory, or the name of one of these.

    ``schedule`` is for agents that take one.  ``duration`` is the length of the run, for agents that take it.
    """
    chosen = dict(chosen or {})
    is_task = isinstance(given, str) and given in TASKS
    factory = locate(given, AGENTS, "agent") if isinstance(given, str) and not is_task else given
    if is_task or isinstance(factory, Task | Definition):
        raise InputError("agent", name_of(given), IS_TASK)
    if callable(factory) and not isinstance(factory, Design):
        refuse_needy(factory, given, "agent", WANTED_AGENT, (Design,))
    known = parameters(factory) if callable(factory) else {}
    if _is_made_from_another(factory):
        return _make_from_another(factory, given, chosen, schedule, schedule_chosen, duration)
    _refuse_schedule(given, known, schedule, schedule_chosen)
    if isinstance(factory, Design):
        if chosen:
            remedy = "this design is made already; pass the function that makes it, which takes parameters"
            raise InputError("parameter", f"agent.{next(iter(chosen))}", remedy)
        return _check_own(replace(factory, name=given) if isinstance(given, str) else factory)
    if not callable(factory):
        raise InputError("agent", name_of(given), _what_else(factory))
    if "duration" in known and chosen.get("duration") is None:
        chosen["duration"] = duration
    if "schedule" in known:
        chosen["schedule"] = make_schedule(schedule or chosen.get("schedule") or DEFAULT_SCHEDULE, schedule_chosen)
    values = settings(factory, chosen, "agent", unlisted=("schedule",))
    design = call_factory(factory, values, given, "agent")
    if not isinstance(design, Design):
        remedy = f"returned {kind_of(design)}, not a design; return one, as in el.Design(build, act, learn)"
        raise InputError("agent", name_of(given), remedy)
    values.pop("schedule", None)
    return _check_own(replace(design, name=_name(given, design), parameters=values))


def _refuse_schedule(
    given: object, known: Mapping[str, Any], schedule: object, schedule_chosen: Mapping[str, Any] | None
) -> None:
    """Raise if a schedule is given for an agent that takes none."""
    if "schedule" not in known and (schedule is not None or schedule_chosen):
        value = schedule if schedule is not None else f"schedule.{next(iter(schedule_chosen or ()))}"
        forgets = "forgetting" in (schedule_chosen or ())
        instead = f", or give {SCHEDULED_AGENT}; versatile and planner forget by themselves" if forgets else ""
        raise InputError("schedule", value, f"the agent {name_of(given)!r} takes no schedule; leave it out{instead}")


def _is_made_from_another(factory: Any) -> bool:
    """Return whether an agent of this package is made from another, which is its parameter ``of``."""
    return callable(factory) and is_ours(factory) and "of" in parameters(factory)


def _make_from_another(
    factory: Any,
    given: object,
    chosen: Mapping[str, Any],
    schedule: object,
    schedule_chosen: Mapping[str, Any] | None,
    duration: int | None,
) -> Design:
    """Return a design that is made from another; what it does not take itself is for the other."""
    known = parameters(factory)
    theirs = {name: value for name, value in chosen.items() if name not in known}
    other = chosen.get("of", known["of"].default)
    if not isinstance(other, Design) and (not isinstance(other, str) or other not in AGENTS):
        hint = "; for your own agent, call el.restarting(design) in your module"  # nothing is imported for a name
        raise UnknownName("agent.of", other, [name for name in AGENTS if name != given], hint)
    other = make_design(other, theirs, schedule=schedule, schedule_chosen=schedule_chosen, duration=duration)
    own = {name: value for name, value in chosen.items() if name in known}
    values = settings(factory, {**own, "of": other}, "agent")
    parameters_of_both = {**values, "of": other.name, **other.parameters}
    return _check_own(replace(factory(**values), parameters=parameters_of_both))


def _what_else(given: object) -> str:
    """Return what is wrong with something that makes no agent, and what to do."""
    agents: list[str] = []
    if isinstance(given, types.ModuleType):
        agents = [f"{given.__name__}.{name}" for name, value in defined(given).items() if isinstance(value, Design)]
    named = f"; in this module there is {', '.join(agents)}" if agents else ""
    return f"is neither a design nor a function that makes one; give {WANTED_AGENT}{named}"


def _name(given: object, design: Design) -> str:
    """Return the name of a design: the text that the user passed, its own, or that of the function that made it."""
    if isinstance(given, str) or design.name != UNNAMED:
        return given if isinstance(given, str) else design.name
    name = str(getattr(plain_function(given), "__name__", UNNAMED))
    return name if name.isidentifier() else UNNAMED  # a lambda has none


def _check_own(design: Design) -> Design:
    if design.own:
        check_design(design)
        if design.schedule is not None:
            _check_schedule(design.schedule)
    return design


def takes_schedule(given: object, chosen: Mapping[str, Any] | None = None) -> bool:
    """Tell whether an agent takes a schedule, with the parameters that were chosen for it."""
    factory = locate(given, AGENTS, "agent") if isinstance(given, str) else given
    if _is_made_from_another(factory):
        other = (chosen or {}).get("of", SCHEDULED_AGENT)
        return other.schedule is not None if isinstance(other, Design) else other in AGENTS and takes_schedule(other)
    return callable(factory) and "schedule" in parameters(factory)
