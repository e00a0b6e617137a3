"""What objects hold, by which one is told from another of its type in every process."""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from typing import Any

import numpy as np

LIBRARIES = {*sys.stdlib_module_names, "gymnasium", "llvmlite", "numba", "numpy", "scipy"}
"""Modules that are not looked into: their versions are recorded, and they are not edited."""

OTHERS = {*LIBRARIES, "everlearn"}
"""Modules whose classes are not the user's."""


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
    if root(type(thing)) == "everlearn":
        return dataclasses.is_dataclass(thing)
    return isinstance(thing, types.SimpleNamespace) or type(thing).__module__.startswith(("gymnasium", "scipy.sparse"))


def is_own(kind: Any) -> bool:
    """Tell whether a class or a function is the user's."""
    return root(kind) not in OTHERS


def root(thing: Any) -> str:
    """Return the package that a class or a function is from.

    Examples
    --------
    >>> root(dataclasses.dataclass), root(np.ndarray)
    ('dataclasses', 'numpy')

    """
    return str(getattr(thing, "__module__", None)).partition(".")[0]


def qualified(thing: Any) -> str:
    """Return the full name of a class or a function, and of an object that of its type.

    Examples
    --------
    >>> qualified(len), qualified(3)
    ('builtins.len', 'builtins.int')

    """
    named = thing if isinstance(getattr(thing, "__qualname__", None), str) else type(thing)
    return f"{named.__module__}.{named.__qualname__}"
