"""Copy a user's functions, so that the copies can be compiled with bounds checks and the originals without.

All callers of a function share its compiled code.  A function of this package must be checked if a user's agent calls
it, and unchecked if a built-in agent does.  So a user's agent calls a copy.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from everlearn.agents.restarting import copy_initial
from everlearn.ownership import package, plain_function
from everlearn.randomness import WORDS, choose, stream_of, uniform
from everlearn.sources import COMPILED_ELSEWHERE, callees, functions_called, names_read, names_used

PRIMITIVES = (uniform, copy_initial)
"""Functions of this package that compiled code implements anew."""

UNCHECKED = {"flat", "ctypes", "take_along_axis"}
"""Names that Numba never checks, even with bounds checks; interpreted, they are checked."""


def _stream_of(words: Any) -> Any:
    """Return the stream whose words are in an array; the index checks the length, which ``stream_of`` does not."""
    _last = words[WORDS - 1]
    return stream_of(words)


def _choose(stream: Any, number: Any) -> int:
    """Draw below a number that is checked, as :class:`everlearn.agents.guard.Draws` does in the reference engine."""
    if not number >= 1 or number % 1 != 0:
        raise ValueError("choose takes a whole number of at least 1")
    return int(uniform(stream) * number)


_CHECKED: dict[Any, Any] = {stream_of: _stream_of, choose: _choose}
"""Functions of this package that do not check their arguments, and what a user's agent calls in their place."""


def copied(*functions: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """Return copies of functions that call copies of everything that they reach by name."""
    copies: dict[Any, Any] = {}
    return tuple(_copy(function, copies) for function in functions)


def unsafe(*functions: Callable[..., Any]) -> str | None:
    """Return what compiled code could not check in functions (raw memory, endless recursion), or None."""
    for function in functions:
        for callee in callees(function):
            for name in sorted(UNCHECKED.intersection(names_read(callee.__code__))):
                return f"{callee.__name__} uses {name}, which compiled code cannot check"
            called = map(plain_function, functions_called(callee))
            if any(callee in callees(value, functions_called) for value in called):
                return f"{callee.__name__} calls itself, which compiled code cannot check"
    return None


def _copy(thing: Any, copies: dict[Any, Any]) -> Any:
    """Return the copy of a function, and anything else unchanged."""
    if not isinstance(thing, types.FunctionType) or thing in PRIMITIVES or package(thing) in COMPILED_ELSEWHERE:
        return thing
    function: Any = _CHECKED.get(thing, thing)
    if function not in copies:
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        scope = dict(function.__globals__)
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
        copies[function] = copy
        if function is thing:  # the others call the original on purpose
            _redirect(copy, function, copies)
    return copies[function]


def _redirect(copy: types.FunctionType, function: types.FunctionType, copies: dict[Any, Any]) -> None:
    """Let a copy reach what its original reaches, with functions replaced by their copies."""
    scope = copy.__globals__
    for name, value in names_used(function):
        module, dot, member = name.partition(".")
        if dot and module in scope:
            scope[module] = _with_member(scope[module], member, _copy(value, copies))
        elif name in scope:
            scope[name] = _copy(value, copies)
    for cell, original in zip(copy.__closure__ or (), function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a variable that is not assigned yet
            cell.cell_contents = _copy(original.cell_contents, copies)


def _with_member(module: Any, name: str, value: Any) -> Any:
    """Return a copy of a module in which one member, or a member of a submodule, is replaced."""
    name, _, rest = name.partition(".")
    value = _with_member(getattr(module, name, None), rest, value) if rest else value
    if not isinstance(module, types.ModuleType) or getattr(module, name, None) is value:
        return module
    copy = types.ModuleType(module.__name__)
    vars(copy).update(vars(module))
    setattr(copy, name, value)
    return copy
