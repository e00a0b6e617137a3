"""Expand a spec into variants: every task with every agent, with every combination of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from everlearn.agents.registry import takes_schedule
from everlearn.agents.spec import AgentSpec, read_specs
from everlearn.engine.plan import Plan
from everlearn.errors import InputError
from everlearn.experiments.spec import AgentEntry, Spec, TaskEntry, refuse_equal_labels
from everlearn.modules import look_in
from everlearn.registry import plain
from everlearn.tasks.registry import make_task
from everlearn.tasks.task import Task

MOST_RUNS = 1 << 20
"""The largest number of runs of a member of a family."""

MOST_VARIANTS = 100_000
"""The largest number of combinations of a task and an agent; a larger number is more likely a mistake."""


@dataclass(frozen=True)
class TaskVariant:
    """One task of the spec: one combination of parameters, or one member of a family."""

    label: str
    settings: Mapping[str, Any]
    """The parameters in which tasks with the same label differ."""
    member: int | None
    members: int | None
    task: Task


@dataclass(frozen=True)
class AgentVariant:
    """One agent of the spec, with one combination of parameters."""

    label: str
    settings: Mapping[str, Any]
    """The parameters in which agents with the same label differ."""
    spec: AgentSpec
    key: str
    """The place of the entry in the spec, for error messages."""


@dataclass(frozen=True)
class Variant:
    """One agent on one task, with one combination of parameters."""

    task: TaskVariant
    agent: AgentVariant
    plan: Plan

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters in which variants with the same labels differ."""
        return {**self.task.settings, **self.agent.settings}

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters of task, agent and schedule, as JSON values."""
        design = self.plan.design
        kinds = {"task": self.plan.task.parameters, "agent": design.parameters}
        if design.schedule is not None:
            kinds["schedule"] = design.schedule.parameters
        return {f"{kind}.{name}": plain(value) for kind, values in kinds.items() for name, value in values.items()}

    @property
    def first_run(self) -> int:
        """The number of the first run; members of a family have different numbers, and so different random streams."""
        return (self.task.member or 0) * MOST_RUNS

    @property
    def knows_duration(self) -> bool:
        """Whether the agent uses the number of steps, so that runs cannot be extended."""
        return self.plan.design.duration is not None


def make_variants(spec: Spec) -> list[Variant]:
    """Return all variants of a spec, in its order; an error names the entry of the spec that is wrong."""
    if spec.folder is not None:
        look_in(spec.folder)  # modules of the user may be beside the spec
    _refuse_too_many(spec)
    tasks = [task for entry in spec.tasks for task in _task_variants(entry)]
    agents = [agent for entry in spec.agents for agent in _agent_variants(entry, spec.steps)]
    refuse_equal_labels((agent.key, agent.label) for agent in agents)
    if spec.runs > MOST_RUNS and any(task.member is not None for task in tasks):
        raise InputError("runs", spec.runs, f"a member of a family may have {MOST_RUNS:,}")
    size = spec.steps, spec.runs, spec.seed, spec.per_decade
    return [
        Variant(task, agent, Plan(task.task, agent.spec.make(spec.steps), *size)) for task in tasks for agent in agents
    ]


def _refuse_too_many(spec: Spec) -> None:
    tasks = sum(_count(entry.parameters) * _count(entry.family) for entry in spec.tasks)
    agents = sum(
        _count(entry.parameters) * len(entry.schedules) * _count(entry.schedule_parameters) for entry in spec.agents
    )
    if tasks * agents > MOST_VARIANTS:
        remedy = f"are {tasks * agents:,} combinations of a task with an agent; give at most {MOST_VARIANTS:,}"
        raise InputError("spec", f"{tasks:,} tasks and {agents:,} agents", remedy)


def _count(grid: Mapping[str, list[Any]]) -> int:
    return prod(len(values) for values in grid.values())


def _task_variants(entry: TaskEntry) -> Iterator[TaskVariant]:
    members = list(_combinations(entry.family))
    for parameters, settings in _grid({f"task.{name}": values for name, values in entry.parameters.items()}):
        chosen = {name.removeprefix("task."): value for name, value in parameters.items()}
        for number, member in enumerate(members):
            with blame_entry(entry.key):
                task = make_task(entry.given, {**chosen, **member})
            position, total = (number, len(members)) if entry.family else (None, None)
            yield TaskVariant(entry.label, settings, position, total, task)


def _agent_variants(entry: AgentEntry, steps: int) -> Iterator[AgentVariant]:
    grid = {f"agent.{name}": values for name, values in entry.parameters.items()}
    grid |= {"schedule": entry.schedules}
    grid |= {f"schedule.{name}": values for name, values in entry.schedule_parameters.items()}
    for parameters, settings in _grid(grid):
        _, spec = read_specs(None, entry.given, parameters.pop("schedule"), parameters)
        with blame_entry(entry.key):
            design = spec.make(steps)
        label = design.name
        if design.schedule is not None and len(entry.schedules) == 1 and takes_schedule(entry.given, spec.parameters):
            label = f"{design.name}, {design.schedule.name}"  # if schedules vary, the schedule is a setting instead
        yield AgentVariant(entry.label or label, settings, spec, entry.key)


def _grid(grid: Mapping[str, list[Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each combination of a grid, and its settings: the names of the values that vary."""
    names = {key: _names(values) for key, values in grid.items()}
    for values, named in zip(_combinations(grid), _combinations(names), strict=True):
        yield values, {key: name for key, name in named.items() if len(grid[key]) > 1}


def _combinations(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def _names(values: list[Any]) -> list[Any]:
    """Return numbers and texts as they are, and other values by name, with a number if names are not unique."""
    names = [value if isinstance(value, bool | int | float | str) else str(plain(value)) for value in values]
    if len({repr(name) for name in names}) == len(values):
        return names
    return [f"{name} {number}" for number, name in enumerate(names, start=1)]


@contextmanager
def blame_entry(key: str) -> Iterator[None]:
    """Name the entry of the spec in errors about its contents."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{key}, {error.argument}", error.value, error.remedy) from None
