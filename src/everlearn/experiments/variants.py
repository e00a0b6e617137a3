"""What a spec stands for, spelled out: every task with every agent, with every combination of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from everlearn.agents.design import Design
from everlearn.agents.registry import takes_schedule
from everlearn.agents.spec import AgentSpec, read_specs
from everlearn.engine.plan import Plan
from everlearn.errors import InputError, UnknownName
from everlearn.experiments.spec import AgentEntry, Spec, TaskEntry
from everlearn.modules import look_in
from everlearn.registry import plain
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

MOST_RUNS = 1 << 20
"""How many runs a member of a family may have."""


MOST_VARIANTS = 100_000
"""How many combinations of a task with an agent there may be; a number beyond is more likely a mistake."""


@dataclass(frozen=True)
class Place:
    """One task of the spec: with these parameters, or this member of a family."""

    label: str
    settings: Mapping[str, Any]
    member: int | None
    members: int | None
    task: Task


@dataclass(frozen=True)
class Contender:
    """One agent of the spec, with these parameters, before it has met a task."""

    label: str
    settings: Mapping[str, Any]
    """The parameters in which contenders of the same label differ."""
    agent: AgentSpec
    key: str
    """Where it stands in the spec, for messages."""


@dataclass(frozen=True)
class Variant:
    """One agent on one task, with one combination of parameters."""

    place: Place
    contender: Contender
    plan: Plan

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters in which variants of the same labels differ."""
        return {**self.place.settings, **self.contender.settings}

    @property
    def first_run(self) -> int:
        """The number of the first run: members of a family have numbers apart, and so random streams of their own."""
        return (self.place.member or 0) * MOST_RUNS

    @property
    def told_duration(self) -> bool:
        """Whether the agent was told how long it will run, so that a longer run is another run."""
        return self.plan.design.duration is not None


def variants(spec: Spec) -> list[Variant]:
    """Return every variant of a spec, in its order; what cannot be made is refused, with its place in the spec.

    Examples
    --------
    >>> from everlearn.experiments.spec import read_spec
    >>> spec = read_spec({"steps": 100, "task": [{"name": "service-station", "parameters": {"window": [6, 12]}}],
    ...                   "agent": ["growing-horizon", {"name": "always", "parameters": {"policy": "fast"}}]})
    >>> [(one.contender.label, one.settings) for one in variants(spec)]
    [('growing-horizon, practical', {'task.window': 6}), ('always', {'task.window': 6}),
     ('growing-horizon, practical', {'task.window': 12}), ('always', {'task.window': 12})]

    """
    if spec.folder is not None:
        look_in(spec.folder)  # a user's own module may lie beside the spec
    _refuse_too_many(spec)
    places = [place for entry in spec.tasks for place in _places(entry)]
    contenders = [one for entry in spec.agents for one in _contenders(entry, spec.steps)]
    _refuse_twins(contenders)
    if spec.runs > MOST_RUNS and any(place.member is not None for place in places):
        raise InputError("runs", spec.runs, f"a member of a family may have {MOST_RUNS:,}")
    return [
        Variant(
            place,
            contender,
            Plan(place.task, contender.agent.make(spec.steps), spec.steps, spec.runs, spec.seed, spec.per_decade),
        )
        for place in places
        for contender in contenders
    ]


def _refuse_too_many(spec: Spec) -> None:
    """Refuse grids and families that multiply to more than anybody will wait for."""
    tasks = sum(_number(entry.parameters) * _number(entry.family) for entry in spec.tasks)
    agents = sum(
        _number(entry.parameters) * len(entry.schedules) * _number(entry.schedule_parameters) for entry in spec.agents
    )
    if tasks * agents > MOST_VARIANTS:
        remedy = f"are {tasks * agents:,} combinations of a task with an agent; give at most {MOST_VARIANTS:,}"
        raise InputError("spec", f"{tasks:,} tasks and {agents:,} agents", remedy)


def _number(grid: Mapping[str, list[Any]]) -> int:
    return prod(len(values) for values in grid.values())


def _places(entry: TaskEntry) -> Iterator[Place]:
    names = {name: _called(values) for name, values in entry.parameters.items()}
    for chosen, called in zip(_combinations(entry.parameters), _combinations(names), strict=True):
        settings = {f"task.{name}": called[name] for name, values in entry.parameters.items() if len(values) > 1}
        members = list(_combinations(entry.family))
        for number, drawn in enumerate(members):
            with named(entry.key):
                task = make_task(entry.given, {**chosen, **drawn})
            member, of = (number, len(members)) if entry.family else (None, None)
            yield Place(entry.label, settings, member, of, task)


def _contenders(entry: AgentEntry, steps: int) -> Iterator[Contender]:
    grid = {f"agent.{name}": values for name, values in entry.parameters.items()}
    grid |= {"schedule": entry.schedules}
    grid |= {f"schedule.{name}": values for name, values in entry.schedule_parameters.items()}
    names = {name: _called(values) for name, values in grid.items()}
    for chosen, called in zip(_combinations(grid), _combinations(names), strict=True):
        settings = {name: value for name, value in called.items() if len(grid[name]) > 1}
        _, agent = read_specs(None, entry.given, chosen.pop("schedule"), chosen)
        with named(entry.key):
            design = agent.make(steps)
        yield Contender(entry.label or _label(entry, design), settings, agent, entry.key)


def _label(entry: AgentEntry, design: Design) -> str:
    """Return what to call an agent that was given no label; the schedule is a setting where it varies."""
    if design.schedule is None or len(entry.schedules) > 1 or not takes_schedule(entry.given):
        return design.name
    return f"{design.name}, {design.schedule.name}"


def _called(values: list[Any]) -> list[Any]:
    """Return what the values of a grid are called: numbers and texts as they are, things by their names, told apart."""
    plainly = [value if isinstance(value, bool | int | float | str) else str(plain(value)) for value in values]
    if len({repr(one) for one in plainly}) == len(values):
        return plainly
    return [f"{one} {number}" for number, one in enumerate(plainly, start=1)]


def _combinations(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def _refuse_twins(contenders: list[Contender]) -> None:
    seen: dict[str, str] = {}
    for contender in contenders:
        if seen.setdefault(contender.label, contender.key) != contender.key:
            remedy = f"is what {seen[contender.label]} is called too; give each a label of its own"
            raise InputError(f"{contender.key}.label", contender.label, remedy)


@contextmanager
def named(key: str) -> Iterator[None]:
    """Say in which entry of the spec something was wrong."""
    try:
        yield
    except UnknownName as error:
        known = error.remedy.removeprefix("known: ")
        raise InputError(f"{key}, {error.argument}", error.value, f"known: {known}") from None
    except InputError as error:
        raise InputError(f"{key}, {error.argument}", error.value, error.remedy) from None
