"""Make a task from what a user may give: a name, a definition, a function or a task."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from everlearn.errors import InputError
from everlearn.factories import call_factory, name_of, needed
from everlearn.labels import kind_of
from everlearn.registry import locate, settings
from everlearn.registry import parameters as known_parameters
from everlearn.tasks.define import Definition
from everlearn.tasks.names import PREFIXES as PREFIXES
from everlearn.tasks.names import TASKS as TASKS
from everlearn.tasks.task import Task
from everlearn.tasks.views import seen_through

GYMNASIUM = re.compile(r"([\w.]+:)?([\w-]+/)?[\w-]+-v\d+")
"""What the identifiers of Gymnasium look like; no task and no attribute of a module is called so."""


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
    factory = functools.partial(found, *adapted) if callable(found) and adapted else found
    if inspect.isclass(factory) or not callable(factory) or needed(factory) != []:
        raise InputError("task", given, _what_else(given, found))
    values = settings(factory, chosen, "task")
    made = call_factory(factory, values, given, "task")
    task = made.finish() if isinstance(made, Definition) else made
    if not isinstance(task, Task):
        if all(hasattr(task, name) for name in ("act", "learn")):
            raise InputError("task", name_of(given), "is an agent; the task comes first, as in el.run(task, agent)")
        raise InputError("task", name_of(given), f"returned {kind_of(task)}, not a task")
    return replace(task, parameters=values)


def _what_else(given: object, found: Any) -> str:
    """Say what was given in place of a task, and what to do."""
    kind = found if inspect.isclass(found) else type(found)
    if any(base.__module__.startswith("gymnasium") for base in kind.__mro__):
        return "is a Gymnasium environment; pass a function that makes it to el.from_gymnasium"
    if all(hasattr(found, name) for name in ("act", "learn")):
        return "is an agent; the task comes first, as in el.run(task, agent)"
    if all(hasattr(found, name) for name in ("start", "step")):
        return "is an environment; decorate its class with @el.task(actions=..., observations=...)"
    if found is None:
        return "give a task, a function that makes one, or the name of one of these"
    what = "is neither a task nor a function that makes one"
    if inspect.isroutine(found):
        what = f"is a function of ({', '.join(needed(found) or ['...'])}), which makes no task"
    module = given.partition(":")[0] if isinstance(given, str) else getattr(found, "__module__", "")
    inside = vars(sys.modules.get(module, object())) if module in sys.modules else {}
    named = [f"{module}:{name}" for name, value in inside.items() if isinstance(value, Task | Definition)]
    return f"{what}; tasks there: {', '.join(named)}" if named else what


def _located(name: str) -> tuple[Any, tuple[str, ...]]:
    """Return what a name stands for, and the name that an adapter is to be called with."""
    prefix, _, rest = name.partition(":")
    if prefix in PREFIXES:
        return locate(prefix, PREFIXES, "task"), (rest,)
    if GYMNASIUM.fullmatch(name):
        raise InputError("task", name, f"did you mean gymnasium:{name}?")
    return locate(name, TASKS, "task"), ()
