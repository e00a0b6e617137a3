"""Copy a user's functions, so that the copies can be compiled with bounds checks and the originals without.

Compiled code of a function is shared by all who call it.  A function of this package that a user's agent calls must be
checked there, and stays unchecked where a built-in agent calls it; so the user's agent calls a copy.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from everlearn.holding import plain_function
from everlearn.randomness import WORDS, kept, uniform
from everlearn.sources import callees, names_read, names_used

KEPT = {kept, uniform}
"""Functions that compiled code knows in a form of their own."""


def _kept(room: Any) -> Any:
    """Return the stream whose words are in an array; the index is checked, where the address of the words is not."""
    _last = room[WORDS - 1]
    return kept(room)


UNCHECKED = {"flat", "ctypes", "take_along_axis"}
"""Names of what Numba does not check, also where checks are asked for; interpreted, it is checked."""

_TRUSTED = {"math", "numba", "numpy", "scipy"}


def copied(*functions: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """Return copies of functions that call copies of everything that they reach by name.

    Examples
    --------
    >>> from everlearn.randomness import choose
    >>> (copy,) = copied(choose)
    >>> copy is choose, copy.__code__ is choose.__code__
    (False, True)

    """
    known: dict[Any, Any] = {}
    return tuple(_copy(function, known) for function in functions)


def unsafe(*functions: Callable[..., Any]) -> str | None:
    """Say what in functions compiled code could not check, or None: raw memory, and calls without end.

    Examples
    --------
    >>> def first(values):
    ...     return values.flat[0]
    >>> unsafe(first)
    'first uses flat, which compiled code cannot check'

    """
    for function in functions:
        for one in callees(function):
            for name in sorted(UNCHECKED.intersection(names_read(one.__code__))):
                return f"{one.__name__} uses {name}, which compiled code cannot check"
            if one in {other for _, value in names_used(one) for other in callees(plain_function(value))}:
                return f"{one.__name__} calls itself, which compiled code cannot check"
    return None


def _copy(thing: Any, known: dict[Any, Any]) -> Any:
    """Return the copy of a function, and anything else as it is."""
    function = _kept if thing is kept else thing
    if not isinstance(function, types.FunctionType) or function in KEPT or _is_trusted(function):
        return thing
    if function not in known:
        scope = dict(function.__globals__)
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__, copy.__module__, copy.__qualname__ = (
            function.__kwdefaults__,
            function.__module__,
            function.__qualname__,
        )
        known[function] = copy
        if function is not _kept:  # which calls what compiled code knows
            _fill(function, scope, cells, known)
    return known[function]


def _fill(
    function: types.FunctionType, scope: dict[str, Any], cells: tuple[types.CellType, ...], known: dict[Any, Any]
) -> None:
    """Give a copy what its original reaches, functions replaced by their copies."""
    for name, value in names_used(function):
        module, dot, member = name.partition(".")
        if dot and module in scope:
            scope[module] = _with_member(scope.get(module), member, _copy(value, known))
        elif name in scope:
            scope[name] = _copy(value, known)
    for cell, original in zip(cells, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # enclosed, and not there yet
            cell.cell_contents = _copy(original.cell_contents, known)


def _with_member(module: Any, name: str, value: Any) -> Any:
    """Return a module in which one member is another, also of a module in it; the module itself stays as it is."""
    name, _, rest = name.partition(".")
    value = _with_member(getattr(module, name, None), rest, value) if rest else value
    if not isinstance(module, types.ModuleType) or getattr(module, name, None) is value:
        return module
    copy = types.ModuleType(module.__name__)
    vars(copy).update(vars(module))
    setattr(copy, name, value)
    return copy


def _is_trusted(function: types.FunctionType) -> bool:
    return str(function.__module__).partition(".")[0] in _TRUSTED
