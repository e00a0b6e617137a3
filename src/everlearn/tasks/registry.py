"""Make a task from what a user may give: a name, a definition, a function or a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from everlearn.errors import InputError
from everlearn.registry import locate, settings
from everlearn.registry import parameters as known_parameters
from everlearn.tasks.define import Definition
from everlearn.tasks.names import PREFIXES as PREFIXES
from everlearn.tasks.names import TASKS as TASKS
from everlearn.tasks.task import Task
from everlearn.tasks.views import seen_through


def make_task(given: object, parameters: Mapping[str, Any] | None = None) -> Task:
    """Return a task from what a user may give: a task, a definition, a factory, or the name of one of these.

    Beside its own parameters every task takes ``aleatoric``, another way to see it: see :func:`everlearn.seen_through`.

    Examples
    --------
    >>> make_task("service-station", {"window": 6}).parameters["window"]
    6
    >>> len(make_task("service-station", {"aleatoric": "window:2"}).states)
    15

    """
    found, adapted = _located(given) if isinstance(given, str) else (given, ())
    chosen = dict(parameters or {})
    if "aleatoric" in chosen and not (callable(found) and "aleatoric" in known_parameters(found)):
        aleatoric = chosen.pop("aleatoric")
        seen = seen_through(_made(given, found, chosen, adapted), aleatoric)
        return replace(seen, parameters={**seen.parameters, "aleatoric": aleatoric})
    return _made(given, found, chosen, adapted)


def _made(given: object, found: object, chosen: dict[str, Any], adapted: tuple[str, ...]) -> Task:
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
    made = found(*adapted, **values)
    task = made.finish() if isinstance(made, Definition) else made
    if not isinstance(task, Task):
        raise InputError("task", given, f"made {type(task).__name__}, not a task")
    return replace(task, parameters=values)


def _located(name: str) -> tuple[Any, tuple[str, ...]]:
    """Return what a name stands for, and the name that an adapter is to be called with."""
    prefix, _, rest = name.partition(":")
    if prefix in PREFIXES:
        return locate(prefix, PREFIXES, "task"), (rest,)
    return locate(name, TASKS, "task"), ()
