"""Tell whose a function or a class is, and what an object holds, so that it can be identified in another process."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
from typing import Any

import numpy as np

from everlearn.blame import PACKAGE

LIBRARIES = {*sys.stdlib_module_names, "gymnasium", "llvmlite", "numba", "numpy", "scipy"}
"""Modules that are not looked into: their versions are recorded, and they are not edited."""


def held(thing: Any) -> dict[str, Any] | None:
    """Return what tells an object from another of its type, or None where nothing does or nobody should look.

    What is computed of the rest is left out, and so are generators of random numbers, which many make when they first
    draw: both come and go.

    Examples
    --------
    >>> held(functools.partial(round, 2.5))["args"], held(types.SimpleNamespace(p=0.5)), held(sys) is None
    ((2.5,), {'p': 0.5}, True)

    """
    if isinstance(thing, functools.partial):
        return {"func": thing.func, "args": thing.args, "keywords": thing.keywords}
    if isinstance(thing, types.MethodType):
        return {"function": thing.__func__, "self": thing.__self__}
    if isinstance(thing, types.ModuleType) or not (is_own(type(thing)) or _is_data_of_others(thing)):
        return None
    kinds = type(thing).__mro__
    slots = [name for kind in kinds for name in _slots(kind) if hasattr(thing, name)]
    every = {**{name: getattr(thing, name) for name in slots}, **getattr(thing, "__dict__", {})}
    hidden = {name for kind in kinds for name, one in vars(kind).items() if isinstance(one, functools.cached_property)}
    told = {name: every[name] for name in sorted(every, key=str) if name not in hidden}
    return {name: value for name, value in told.items() if not isinstance(value, np.random.Generator | None)}


def _slots(kind: type) -> tuple[str, ...]:
    found = vars(kind).get("__slots__", ())
    return tuple(name for name in ((found,) if isinstance(found, str) else found) if not name.startswith("__"))


def _is_data_of_others(thing: Any) -> bool:
    """Tell whether an object of a library is there to hold something; others hold what changes, or half the library."""
    if package(type(thing)) == "everlearn":
        return dataclasses.is_dataclass(thing)
    return isinstance(thing, types.SimpleNamespace) or type(thing).__module__.startswith(("gymnasium", "scipy.sparse"))


def is_own(thing: Any) -> bool:
    """Tell whether a class, or a function or the one behind what wraps it, is the user's.

    Examples
    --------
    >>> is_own(functools.partial(round, 2.5)), is_own(is_own)
    (False, False)

    """
    return not is_ours(thing) and package(_behind(thing)) not in LIBRARIES


def is_ours(thing: Any) -> bool:
    """Tell whether a class, or a function or the one behind what wraps it, was written in this package.

    Where it was written counts, not what it says of itself: ``functools.wraps`` copies the name of its module.

    Examples
    --------
    >>> is_ours(is_ours), is_ours(np.mean)
    (True, False)

    """
    plain = _behind(thing)
    if isinstance(plain, types.FunctionType):
        return plain.__code__.co_filename.startswith(PACKAGE)
    return package(plain) == "everlearn"


def _behind(thing: Any) -> Any:
    return thing if isinstance(thing, type) else plain_function(thing)


def package(thing: Any) -> str:
    """Return the package that a function or a class is from.

    Examples
    --------
    >>> package(dataclasses.dataclass), package(np.ndarray)
    ('dataclasses', 'numpy')

    """
    return str(getattr(thing, "__module__", None)).partition(".")[0]


def plain_function(thing: Any) -> Any:
    """Return the function behind one that is wrapped: compiled, cached, partly applied, or bound to an object."""
    for _ in range(DEEPEST):
        inner = None if isinstance(thing, types.FunctionType) else _wrapped(thing)
        if inner is None:
            break
        thing = inner
    return thing


def _wrapped(thing: Any) -> Any:
    """Return what an object wraps; one that answers to every name, such as a mock, wraps nothing."""
    has = (name for name in _WRAPPED if inspect.getattr_static(thing, name, None) is not None)
    return next((getattr(thing, name) for name in has), None)


DEEPEST = 32
"""How many wrappers are looked through."""

_WRAPPED = ("py_func", "__wrapped__", "func", "__func__")


def qualified(thing: Any) -> str:
    """Return the full name of a class or a function, and of an object that of its type.

    Examples
    --------
    >>> qualified(len), qualified(3)
    ('builtins.len', 'builtins.int')

    """
    named = thing if isinstance(getattr(thing, "__qualname__", None), str) else type(thing)
    return f"{named.__module__}.{named.__qualname__}"
