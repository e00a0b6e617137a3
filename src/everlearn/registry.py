"""Look up tasks, agents and schedules by name, and read their parameters.

A registry is a mapping from a name to ``module:attribute``, so that listing it imports nothing.  The attribute is a
*factory*: a function whose keyword-only arguments, all with defaults, are the parameters that a user may set, and
whose docstring begins with a one-line summary.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from everlearn.errors import InputError, UnknownName
from everlearn.modules import import_own, look_in

MOST_STEPS = 2**53
"""The largest number of steps of a run: beyond it, t + 1 equals t in double precision."""


class Parameter(NamedTuple):
    """A parameter that a user may set: its name, its default and its type."""

    name: str
    default: Any
    kind: Any


def locate(name: str, known: Mapping[str, str], argument: str) -> Any:
    """Return what a registry name or ``module:attribute`` stands for."""
    if name in known:
        module, _, attribute = known[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    if ":" in name:
        look_in(Path.cwd())  # a user's module may be in the current directory, as with `python -m`
        return _attribute(name, argument)
    if (own := _meant(name)) is not None:
        raise InputError(argument, name, f"write {own}, the name of the module and that of the {argument} in it")
    raise UnknownName(argument, name, known, "; or name your own as module:attribute")


def _meant(name: str) -> str | None:
    """Return ``module:attribute`` for the name of a file or a module, or for a name with a dot, in this directory."""
    source = Path(f"{name}.py")
    if name.isidentifier() and source.is_file():
        defines = re.search(rf"^(def |class )?{name}\b", source.read_text(errors="replace"), re.MULTILINE)
        return f"{name}:{name if defines else 'NAME'}"
    file, (module, _, attribute) = Path(name), name.rpartition(".")
    if file.suffix == ".py" and file.is_file():
        return f"{'.'.join(file.with_suffix('').parts)}:NAME"
    is_module = bool(module) and Path(*module.split(".")).with_suffix(".py").is_file()
    return f"{module}:{attribute}" if is_module else None


def _attribute(path: str, argument: str) -> Any:
    module_name, _, attribute = path.partition(":")
    if not module_name or module_name.startswith(".") or not attribute:
        raise InputError(argument, path, "write module:attribute, with the full name of the module")
    module = import_own(module_name, argument, path)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise UnknownName(argument, path, defined(module), f"; these are in {module_name}") from None


def defined(module: types.ModuleType) -> dict[str, Any]:
    """Return what a module defines, by name, without imports and private names."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", module.__name__) in (module.__name__, type(value).__module__)
    }


def summary(factory: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(factory) or "").partition("\n")[0].strip()


def parameters(factory: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the keyword-only arguments of a factory."""
    if inspect.isfunction(factory) and factory.__module__.startswith("everlearn."):  # a user's may change
        return dict(_own_parameters(factory))
    return _parameters(factory)


@functools.cache
def _own_parameters(factory: Callable[..., Any]) -> dict[str, Parameter]:
    return _parameters(factory)


def _parameters(factory: Callable[..., Any]) -> dict[str, Parameter]:
    hints = _hints(factory)
    return {
        name: Parameter(name, entry.default, hints.get(name, _kind_of_default(entry.default)))
        for name, entry in inspect.signature(factory).parameters.items()
        if entry.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _hints(factory: Any) -> dict[str, Any]:
    while isinstance(factory, functools.partial):
        factory = factory.func
    has_own = inspect.isroutine(factory) or inspect.isclass(factory)
    try:
        return typing.get_type_hints(factory if has_own else factory.__call__)
    except Exception:  # an annotation that cannot be evaluated is ignored
        return {}


def _kind_of_default(default: Any) -> Any:
    """Return the type of a parameter without an annotation: that of its default if it is a number or a bool."""
    return type(default) if isinstance(default, bool | int | float) else object


def settings(
    factory: Callable[..., Any],
    given: Mapping[str, Any],
    prefix: str,
    unlisted: Collection[str] = (),
    also: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return every parameter with its given or default value; raise if a name is unknown.

    ``unlisted`` are parameters that messages do not suggest.  ``also`` are parameters that the factory does not take
    but its caller does, which messages suggest, each with what it takes.
    """
    known = parameters(factory)
    for name in given:
        if name not in known:
            names = dict.fromkeys([*(each for each in known if each not in unlisted), *(also or {})])
            listed = [f"{prefix}.{known_name}" for known_name in names]
            positional = name in inspect.signature(factory).parameters
            header = f"def {getattr(factory, '__name__', 'agent')}(*, {name}=...)"
            hint = f"; make it keyword-only, as in {header}" if positional else ""
            if also and not known:
                hint += "".join(f"; {prefix}.{other} takes {what}" for other, what in also.items())
            raise UnknownName("parameter", f"{prefix}.{name}", listed, hint)
    chosen = {name: parameter.default for name, parameter in known.items()}
    for name, value in given.items():
        chosen[name] = convert(value, known[name].kind, f"{prefix}.{name}")
    for name, value in chosen.items():
        if value is inspect.Parameter.empty:
            raise InputError(f"{prefix}.{name}", None, "has no default; give it a value")
    return chosen


def convert(value: Any, kind: Any, argument: str) -> Any:
    """Convert a text, or a number of another type, to the type of a parameter."""
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    kinds = typing.get_args(kind) if is_union else (kind,)
    if isinstance(value, str) and value.lower() == "none" and type(None) in kinds:
        return None
    for number, wanted in ((bool, "true or false"), (int, "a whole number"), (float, "a number")):
        if number in kinds:
            converted = _number(value, number)
            if converted is not None:
                return converted
            if len([k for k in kinds if k is not type(None)]) == 1 and not (value is None and type(None) in kinds):
                example = ", such as 10000 or 1e4" if argument.lstrip("-") == "steps" else ""
                raise InputError(argument, value, f"give {wanted}{example}")
    return value


def whole(value: Any, argument: str, least: int = 0, most: int | None = None) -> int:
    """Return a whole number from ``least`` to ``most``; it may be written as 1e6."""
    number: int = convert(value, int, argument)
    if number < least:
        raise InputError(argument, value, f"give a whole number of at least {least}")
    if most is not None and number > most:
        raise InputError(argument, value, f"give a whole number of at most {most:,}")
    return number


def plain(value: Any) -> Any:
    """Return a value as JSON would return it; other objects become their name, their representation or their type."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    shown = getattr(value, "name", None) or getattr(value, "__qualname__", None) or repr(value)
    return shown if " at 0x" not in str(shown) else type(value).__name__  # an address means nothing in another process


def settings_text(parameters: Mapping[str, Any], most: int = 100) -> str:
    """Return parameters as a person writes them, in at most ``most`` characters."""
    text = ", ".join(f"{name}={plain(value)}" for name, value in parameters.items())
    return text if len(text) <= most else f"{text[:most]}..."


def _number(value: Any, kind: type) -> Any:
    if kind is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        return value if isinstance(value, bool) else words.get(str(value).lower())
    if isinstance(value, bool) or value is None:
        return None
    try:
        return kind(value) if isinstance(value, str | kind) else _by_way_of_float(value, kind)
    except (TypeError, ValueError, OverflowError):
        return _by_way_of_float(value, kind)


def _by_way_of_float(value: Any, kind: type) -> Any:
    """Read 1e6 as a whole number; integers that float() would round were read before."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if kind is int:
        return int(number) if number.is_integer() else None
    return number
