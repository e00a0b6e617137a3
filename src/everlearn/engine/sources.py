"""What compiled code depends on: the source of a function, of every function that it calls, and its constants.

Numba does not notice an edited callee in another file; it would silently run the old one.  So compiled code is kept
under a hash of all of this.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import inspect
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

import numpy as np

_OTHERS = {*sys.stdlib_module_names, "everlearn", "llvmlite", "numba", "numpy", "scipy"}
"""Modules whose classes are not looked into: their versions are recorded, and they are not edited."""

_PARSING = threading.Lock()
"""Python 3.11 raises SystemError where two threads make syntax trees at once."""

COMPILED_ELSEWHERE = {"math", "numba", "numpy", "scipy"}
"""Modules whose functions Numba knows itself."""


def callees(function: Callable[..., Any]) -> list[types.FunctionType]:
    """Return a function and every plain Python function that it reaches by name, each once.

    Examples
    --------
    >>> from everlearn.randomness import choose
    >>> [function.__name__ for function in callees(choose)]
    ['choose', 'uniform']

    """
    found: dict[types.FunctionType, None] = {}
    queue: list[Any] = [function]
    for one in queue:
        if isinstance(one, types.FunctionType) and one not in found:
            found[one] = None
            queue.extend(value for _, value in _names(one))
    return list(found)


def fingerprint(*functions: Callable[..., Any]) -> str:
    """Return a hash of everything on which the behaviour of compiled functions depends.

    Examples
    --------
    >>> from everlearn.agents import always, growing_horizon
    >>> fingerprint(growing_horizon.act) == fingerprint(growing_horizon.act)
    True
    >>> fingerprint(growing_horizon.act) == fingerprint(always.act)
    False

    """
    text = hashlib.sha256()
    for function in functions:
        for one in _reached(function):
            text.update(f"\n{one.__module__}.{one.__qualname__}\n{_source(one)}".encode())
            text.update(f"\n{_constant(one.__defaults__)} {_constant(one.__kwdefaults__)}".encode())
            for name, value in _names(one):
                text.update(f"\n{name} = {_constant(value)}".encode())
    return text.hexdigest()


def _reached(function: Callable[..., Any]) -> list[types.FunctionType]:
    """Return what :func:`callees` returns, and what lies behind decorators, compiled functions and own classes."""
    found: dict[types.FunctionType, None] = {}
    queue: list[Any] = [function]
    for given in queue:
        one = inspect.unwrap(getattr(given, "py_func", given)) if callable(given) else given
        if isinstance(one, types.FunctionType) and one not in found:
            found[one] = None
            queue.extend(value for _, value in _names(one))
        elif isinstance(one, type) and not issubclass(one, tuple) and one.__module__.partition(".")[0] not in _OTHERS:
            queue.extend(member for member in vars(one).values() if isinstance(member, types.FunctionType))
    return list(found)


def source_of(thing: Any) -> str:
    """Return a hash of what a function or a class does, for things that are never compiled; else of what it is called.

    Examples
    --------
    >>> class One: pass
    >>> source_of(One) == source_of(One), source_of(len) == source_of(max)
    (True, False)

    """
    return hashlib.sha256("\n".join(_parts(thing)).encode()).hexdigest()


def _parts(thing: Any) -> Iterator[str]:
    """Yield what a thing does: the source of a function, of a class with its bases and methods, and what it holds."""
    if isinstance(thing, types.FunctionType):
        yield fingerprint(thing)
    elif isinstance(thing, types.MethodType):
        yield fingerprint(thing.__func__)
        yield _held(thing.__self__)
    elif isinstance(thing, functools.partial):
        yield from _parts(thing.func)
        yield _constant(thing.args) + _constant(thing.keywords)
    elif isinstance(thing, type):
        for kind in thing.__mro__:
            yield from _class(kind)
    else:
        yield from _parts(type(thing))
        yield _held(thing) + str(getattr(thing, "__qualname__", ""))


def _class(kind: type) -> Iterator[str]:
    try:
        yield _bare(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):  # built in, or typed at a prompt
        yield f"{kind.__module__}.{kind.__qualname__}"
    for member in vars(kind).values():
        if isinstance(member, types.FunctionType):
            yield fingerprint(member)


def _held(thing: Any) -> str:
    return _constant(getattr(thing, "__dict__", None))


def _constant(value: Any) -> str:
    """Return what identifies a constant in every process; of an object that is none, its type is all that is told."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, tuple | list):
        return f"({', '.join(_constant(entry) for entry in value)})"
    if isinstance(value, dict):
        return f"({', '.join(f'{_constant(key)}: {_constant(entry)}' for key, entry in value.items())})"
    if isinstance(value, set | frozenset):
        return f"({', '.join(sorted(_constant(entry) for entry in value))})"
    return repr(value) if isinstance(value, bool | int | float | str | np.generic | None) else type(value).__name__


def _source(function: types.FunctionType) -> str:
    try:
        return _bare(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):  # typed at a prompt: the code itself tells as much
        return repr((function.__code__.co_code, function.__code__.co_consts, function.__code__.co_names))


@functools.lru_cache(maxsize=1024)
def _bare(source: str) -> str:
    """Return source without comments, docstrings and layout, which change nothing that it does."""
    try:
        with _PARSING:
            tree = ast.parse(source)
    except SyntaxError:  # a lambda inside an expression, of which this is the line
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _names(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Return the global and enclosed names that a function uses, with what they stand for, ``module.name`` included."""
    read = _read(function.__code__)
    used = {name: function.__globals__[name] for name in read if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # enclosed, and not there yet
            used[name] = cell.cell_contents
    for name, module in list(used.items()):
        if isinstance(module, types.ModuleType) and module.__name__.partition(".")[0] not in COMPILED_ELSEWHERE:
            members = {member: getattr(module, member, None) for member in read}
            used.update({f"{name}.{member}": value for member, value in members.items() if value is not None})
    return sorted(used.items(), key=itemgetter(0))


def _read(code: types.CodeType) -> set[str]:
    """Return the names that code reads, comprehensions and functions inside it included."""
    inside = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*(_read(one) for one in inside))
