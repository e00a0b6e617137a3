"""Determine who wrote a function or a class: this package, a library, or the user."""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any

from everlearn.blame import PACKAGE

LIBRARIES = {*sys.stdlib_module_names, "gymnasium", "llvmlite", "numba", "numpy", "scipy"}
"""Packages whose code is not read: their versions are recorded, and nobody edits them."""

MOST_WRAPPERS = 32
"""The largest number of wrappers around a function that are looked through."""

_WRAPPED = ("py_func", "__wrapped__", "func", "__func__")
"""The attributes in which wrappers keep what they wrap."""


def is_own(thing: Any) -> bool:
    """Return whether the user wrote a class, or a function or the function behind a wrapper."""
    return not is_ours(thing) and package(_unwrapped(thing)) not in LIBRARIES


def is_ours(thing: Any) -> bool:
    """Return whether a class, or a function or the function behind a wrapper, belongs to this package.

    For a function its file decides, not its ``__module__``, which ``functools.wraps`` copies.
    """
    plain = _unwrapped(thing)
    if isinstance(plain, types.FunctionType):
        return plain.__code__.co_filename.startswith(PACKAGE)
    return package(plain) == "everlearn"


def _unwrapped(thing: Any) -> Any:
    return thing if isinstance(thing, type) else plain_function(thing)


def package(thing: Any) -> str:
    """Return the name of the top-level package of a function or a class."""
    return str(getattr(thing, "__module__", None)).partition(".")[0]


def plain_function(thing: Any) -> Any:
    """Return the function behind one that is compiled, cached, partially applied or bound to an object."""
    for _ in range(MOST_WRAPPERS):
        if isinstance(thing, types.FunctionType):
            break
        # getattr_static, because an object that has every attribute, such as a mock, wraps nothing
        present = (name for name in _WRAPPED if inspect.getattr_static(thing, name, None) is not None)
        inner = next((getattr(thing, name) for name in present), None)
        if inner is None:
            break
        thing = inner
    return thing


def qualified(thing: Any) -> str:
    """Return the full name of a class or a function; for an object, that of its class."""
    named = thing if isinstance(getattr(thing, "__qualname__", None), str) else type(thing)
    return f"{named.__module__}.{named.__qualname__}"
