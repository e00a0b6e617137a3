"""Make a task from whatever a user passes: a name, a definition, a function or a task."""

from __future__ import annotations

import functools
import inspect
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from everlearn.aleatoric.features import WAYS as FEATURES
from everlearn.errors import InputError
from everlearn.factories import call_factory, name_of, needed
from everlearn.files import expanded
from everlearn.labels import kind_of
from everlearn.registry import locate, settings
from everlearn.registry import parameters as known_parameters
from everlearn.tasks.define import Definition
from everlearn.tasks.names import PREFIXES as PREFIXES
from everlearn.tasks.names import TASKS as TASKS
from everlearn.tasks.task import Task
from everlearn.tasks.views import WAYS, seen_through
from everlearn.windows import is_view

IS_AGENT = "is an agent; the task comes first, as in el.run(task, agent) or everlearn run TASK --agent AGENT"

GYMNASIUM = re.compile(r"([\w.]+:)?([\w-]+/)?[\w-]+-v\d+")
"""The pattern of identifiers of Gymnasium; no task and no attribute of a module has such a name."""


def make_task(given: object, parameters: Mapping[str, Any] | None = None) -> Task:
    """Return the task that a user passes as a task, a definition, a factory, or the name of one of these.

    In addition to its own parameters every task takes ``aleatoric``, as in :func:`everlearn.seen_through`, and
    ``features``, as in :mod:`everlearn.aleatoric.features`.

    Examples
    --------
    >>> make_task("service-station", {"window": 6}).parameters["window"]
    6
    >>> len(make_task("service-station", {"aleatoric": "window:2"}).states)
    15

    """
    task = _made(given, dict(parameters or {}))
    if isinstance(given, str) and TASKS.get(given, "").startswith("everlearn."):
        object.__setattr__(task, "identity", _identity(TASKS[given], task.parameters))
    return task


def _identity(path: str, parameters: Mapping[str, Any]) -> str | None:
    """Return a text that only equal tasks have, or None if a user's code may be part of the task.

    A user may define its aleatoric state by a function, and change it later.
    """
    if not is_view(parameters.get("aleatoric", "natural")):
        return None
    try:
        return f"{path} {json.dumps(parameters, sort_keys=True)}"
    except TypeError:  # a parameter that is an object
        return None


def _made(given: object, chosen: dict[str, Any]) -> Task:
    source, adapted = _located(given) if isinstance(given, str) else (given, ())
    if "features" in chosen and not (callable(source) and "features" in known_parameters(source)):
        features = chosen.pop("features")
        plain = _made(given, chosen)
        return replace(plain, features=features, parameters={**plain.parameters, "features": features})
    if "aleatoric" in chosen and not (callable(source) and "aleatoric" in known_parameters(source)):
        aleatoric = chosen.pop("aleatoric")
        seen = seen_through(_build(given, source, chosen, adapted), aleatoric)
        return replace(seen, parameters={**seen.parameters, "aleatoric": aleatoric})
    return _build(given, source, chosen, adapted)


def _build(given: object, source: object, chosen: dict[str, Any], adapted: tuple[str, ...]) -> Task:
    """Return the task that ``source`` is or makes; messages name it as it was ``given``."""
    if isinstance(source, Definition):
        source = source.finish()
    if isinstance(source, Task):
        if chosen:
            taken = f"the task {source.name!r} takes only task.aleatoric and task.features"
            remedy = f"{taken}; to set others, define the task with a function"
            raise InputError("parameter", f"task.{next(iter(chosen))}", remedy)
        return source
    factory = functools.partial(source, *adapted) if callable(source) and adapted else source
    if inspect.isclass(factory) or not callable(factory) or needed(factory) != []:
        raise InputError("task", given, _what_else(given, source))
    values = settings(factory, chosen, "task", also={"aleatoric": WAYS, "features": FEATURES})
    returned = call_factory(factory, values, given, "task")
    task = returned.finish() if isinstance(returned, Definition) else returned
    if not isinstance(task, Task):
        remedy = IS_AGENT if _is_agent(task) else f"returned {kind_of(task)}, not a task"
        raise InputError("task", name_of(given), remedy)
    return replace(task, parameters=values)


def _is_agent(value: Any) -> bool:
    return hasattr(value, "act") and hasattr(value, "learn")


def _what_else(given: object, source: Any) -> str:
    """Return what was passed instead of a task, and what to do."""
    kind = source if inspect.isclass(source) else type(source)
    if any(base.__module__.startswith("gymnasium") for base in kind.__mro__):
        return "is a Gymnasium environment; pass a function that makes it to el.from_gymnasium"
    if _is_agent(source):
        return IS_AGENT
    if hasattr(source, "start") and hasattr(source, "step"):
        return "is an environment; decorate its class with @el.task(actions=..., observations=...)"
    if source is None:
        return "give a task, a function that makes one, or the name of one of these"
    what = "is neither a task nor a function that makes one"
    if inspect.isroutine(source):
        arguments = needed(source) or ["..."]
        what = f"is a function of ({', '.join(arguments)}), which makes no task"
        what += "; decorate it with @el.task(actions=..., observations=...)" if len(arguments) == 2 else ""
    module = given.partition(":")[0] if isinstance(given, str) else getattr(source, "__module__", "")
    inside = vars(sys.modules.get(module, object())) if module in sys.modules else {}
    named = [f"{module}:{name}" for name, value in inside.items() if isinstance(value, Task | Definition)]
    return f"{what}; tasks there: {', '.join(named)}" if named else what


def _located(name: str) -> tuple[Any, tuple[str, ...]]:
    """Return what a name stands for, and the name to pass to it if it is an adapter."""
    prefix, _, rest = name.partition(":")
    if prefix in PREFIXES:
        return locate(prefix, PREFIXES, "task"), (rest,)
    if GYMNASIUM.fullmatch(name):
        raise InputError("task", name, f"did you mean gymnasium:{name}?")
    if name not in TASKS and _is_pomdp_file(name):
        raise InputError("task", name, f"is a file; did you mean pomdp:{name}?")
    return locate(name, TASKS, "task"), ()


def _is_pomdp_file(name: str) -> bool:
    """Return whether a name is that of a file which may describe a task; code and specs do not."""
    path = expanded(name)
    try:
        return path.is_file() and path.suffix.lower() not in (".py", ".toml")
    except (OSError, ValueError):  # no file has such a name
        return False
