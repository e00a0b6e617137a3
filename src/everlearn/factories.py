"""Call the functions by which users make agents and schedules, and say in one line what is wrong with one."""

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
    """Refuse a function that needs arguments, and name what could be meant in the module that it is from.

    ``wanted`` says what is expected in its place, and ``kinds`` are the types of that.
    """
    article = "an" if argument[0] in "aeiou" else "a"
    names = needed(factory)
    if names is None:
        raise InputError(argument, name_of(given), f"is not {article} {argument}; give {wanted}")
    if names:
        every = ", ".join(inspect.signature(factory).parameters)
        remedy = f"is a function of ({every}), not {article} {argument}; give {wanted}"
        module = sys.modules.get(getattr(factory, "__module__", ""))
        others = [] if module is None else [name for name, one in defined(module).items() if _may_be(one, kinds)]
        hint = f"; in {module.__name__} there is {', '.join(others)}" if module is not None and others else ""
        raise InputError(argument, name_of(given), remedy + hint)


def needed(factory: Callable[..., Any]) -> list[str] | None:
    """Return the arguments that a factory must be called with beside its parameters; None where it does not tell."""
    try:
        every = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # what is written in C may not tell
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in every if one.kind in positional and one.default is inspect.Parameter.empty]


def call_factory(factory: Callable[..., Any], arguments: Mapping[str, Any], given: object, argument: str) -> Any:
    """Call a factory with its parameters; what a user's own raises is reported in one line."""
    if is_ours(factory):
        return factory(**arguments)  # its faults are not the user's
    with blame(f"{argument} {name_of(given)!r}"):
        return factory(**arguments)


def name_of(given: object) -> object:
    """Return what to call something in a message: the text by which it was given, or its own name."""
    return given if isinstance(given, str) else getattr(plain_function(given), "__qualname__", given)


def _may_be(value: Any, kinds: tuple[type, ...]) -> bool:
    """Tell whether a value is of these kinds, or a function that may make one: it needs no arguments."""
    if not isinstance(value, types.FunctionType):
        return isinstance(value, kinds)
    return not needed(value)
