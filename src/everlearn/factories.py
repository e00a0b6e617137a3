"""Call the functions with which users make tasks, agents and schedules, and report their errors in one line."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from everlearn.blame import blame
from everlearn.errors import InputError
from everlearn.ownership import is_ours, plain_function
from everlearn.registry import defined


def refuse_needy(factory: Any, given: object, argument: str, wanted: str, kinds: tuple[type, ...]) -> None:
    """Raise if a factory has required arguments, and suggest what else in its module could be meant.

    ``wanted`` describes what is expected instead, and ``kinds`` are its types.
    """
    article = "an" if argument[0] in "aeiou" else "a"
    names = needed(factory)
    if names is None:
        raise InputError(argument, name_of(given), f"is not {article} {argument}; give {wanted}")
    if names:
        every = ", ".join(inspect.signature(factory).parameters)
        remedy = f"is a function of ({every}), not {article} {argument}; give {wanted}"
        module = sys.modules.get(getattr(factory, "__module__", ""))
        members = {} if module is None else defined(module)
        others = [name for name, value in members.items() if _may_be(value, kinds)]
        hint = f"; in {factory.__module__} there is {', '.join(others)}" if others else ""
        raise InputError(argument, name_of(given), remedy + hint)


def needed(factory: Callable[..., Any]) -> list[str] | None:
    """Return the required positional arguments of a factory, or None if its signature is unknown."""
    try:
        every = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # written in C
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [entry.name for entry in every if entry.kind in positional and entry.default is inspect.Parameter.empty]


def call_factory(factory: Callable[..., Any], arguments: Mapping[str, Any], given: object, argument: str) -> Any:
    """Call a factory with its parameters; exceptions of a user's factory are reported in one line."""
    if is_ours(factory):
        return factory(**arguments)  # its errors are not the user's fault
    with blame(f"{argument} {name_of(given)!r}"):
        return factory(**arguments)


def name_of(given: object) -> object:
    """Return the name of something for a message: the text that the user passed, or its qualified name."""
    if isinstance(given, str | types.ModuleType):
        return given if isinstance(given, str) else given.__name__
    return getattr(plain_function(given), "__qualname__", given)


def _may_be(value: Any, kinds: tuple[type, ...]) -> bool:
    """Return whether a value has one of these types, or is a function that may make one, without required arguments."""
    return not needed(value) if isinstance(value, types.FunctionType) else isinstance(value, kinds)
