"""The tasks that have a name.  A new one is a file, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from everlearn.errors import InputError
from everlearn.registry import locate, settings
from everlearn.tasks.define import Definition
from everlearn.tasks.task import Task

TASKS: dict[str, str] = {
    "aggregation": "everlearn.tasks.aggregation:aggregation",
    "alternating": "everlearn.tasks.alternating:alternating",
    "service-station": "everlearn.tasks.service_station:service_station",
}


def make_task(given: object, parameters: Mapping[str, Any] | None = None) -> Task:
    """Return a task from what a user may give: a task, a definition, a factory, or the name of one of these.

    Examples
    --------
    >>> make_task("service-station", {"window": 6}).parameters["window"]
    6

    """
    found = locate(given, TASKS, "task") if isinstance(given, str) else given
    chosen = dict(parameters or {})
    if isinstance(found, Definition):
        found = found.finish()
    if isinstance(found, Task):
        if chosen:
            remedy = f"the task {found.name!r} has no parameters; define it by a function that takes them"
            raise InputError("parameter", f"task.{next(iter(chosen))}", remedy)
        return found
    if not callable(found):
        raise InputError("task", given, "is neither a task nor a function that makes one")
    values = settings(found, chosen, "task")
    made = found(**values)
    task = made.finish() if isinstance(made, Definition) else made
    if not isinstance(task, Task):
        raise InputError("task", given, f"made {type(task).__name__}, not a task")
    return replace(task, parameters=values)
