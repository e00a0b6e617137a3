"""Specs: a task and an agent by name and parameters, as the command line, TOML, JSON and Python pass them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from everlearn.agents.design import Design
from everlearn.agents.names import default_agent
from everlearn.agents.registry import AGENTS, make_design
from everlearn.errors import InputError, require
from everlearn.tasks.registry import IS_AGENT, make_task
from everlearn.tasks.task import Task


@dataclass(frozen=True)
class TaskSpec:
    """A task: its name, ``module:attribute`` or the task itself, and its parameters."""

    given: object
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters by their full names, as in ``task.window``."""
        return {f"task.{name}": value for name, value in self.parameters.items()}

    def make(self) -> Task:
        """Return the task."""
        return make_task(self.given, self.parameters)


@dataclass(frozen=True)
class AgentSpec:
    """An agent: its name, ``module:attribute`` or the design itself, its schedule, and the parameters of both."""

    given: object
    schedule: object = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schedule_parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters by their full names, as in ``agent.phase`` and ``schedule.horizon_scale``."""
        agent = {f"agent.{name}": value for name, value in self.parameters.items()}
        return {**agent, **{f"schedule.{name}": value for name, value in self.schedule_parameters.items()}}

    @property
    def is_named(self) -> bool:
        """Whether it consists of names, so that it can be made again in another process."""
        return isinstance(self.given, str) and (self.schedule is None or isinstance(self.schedule, str))

    def make(self, duration: int | None = None) -> Design:
        """Return the design; ``duration`` is the number of steps, for agents that take it as a parameter."""
        return make_design(
            self.given,
            self.parameters,
            schedule=self.schedule,
            schedule_chosen=self.schedule_parameters,
            duration=duration,
        )


def read_specs(
    task: object, agent: object = None, schedule: object = None, parameters: Mapping[str, Any] | None = None
) -> tuple[TaskSpec, AgentSpec]:
    """Return the specs of a task and an agent whose parameters are given together, by their full names.

    If no agent is named, it is the default agent, or the paper's if a schedule or its parameters are named.
    """
    swapped = isinstance(task, Design) or (isinstance(task, str) and task in AGENTS)
    require(not swapped, "task", task, IS_AGENT)
    parts = split(parameters or {})
    agent = default_agent(schedule, parts["schedule"]) if agent is None else agent
    return TaskSpec(task, parts["task"]), AgentSpec(agent, schedule, parts["agent"], parts["schedule"])


def split(parameters: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Split parameters by prefix: task, agent or schedule."""
    mapping = isinstance(parameters, Mapping)
    require(mapping, "parameters", parameters, 'give a dictionary, as in {"task.window": 6}')
    parts: dict[str, dict[str, Any]] = {"task": {}, "agent": {}, "schedule": {}}
    for key, value in parameters.items():
        prefix, dot, name = str(key).partition(".")
        if not dot or prefix not in parts:
            raise InputError("parameter", key, "write task.NAME, agent.NAME or schedule.NAME")
        parts[prefix][name] = value
    return parts
