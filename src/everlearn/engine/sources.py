"""What compiled code depends on: the source of a function, of every function that it calls, and its constants.

Numba does not notice an edited callee in another file; it would silently run the old one.  So compiled code is kept
under a hash of all of this.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
import types
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

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
        for one in callees(function):
            text.update(f"\n{one.__module__}.{one.__qualname__}\n{_source(one)}".encode())
            for name, value in _names(one):
                text.update(f"\n{name} = {_constant(value)}".encode())
    return text.hexdigest()


def source_of(thing: Any) -> str:
    """Return a hash of what a function or a class does, for things that are never compiled; else of what it is called.

    Examples
    --------
    >>> class One: pass
    >>> source_of(One) == source_of(One), source_of(len) == source_of(max)
    (True, False)

    """
    if isinstance(thing, types.FunctionType | types.MethodType):
        return fingerprint(getattr(thing, "__func__", thing))
    kind = thing if isinstance(thing, type) else type(thing)
    try:
        text = _bare(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):
        text = f"{kind.__module__}.{kind.__qualname__} {getattr(thing, '__qualname__', '')}"
    return hashlib.sha256(text.encode()).hexdigest()


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


def _bare(source: str) -> str:
    """Return source without comments, docstrings and layout, which change nothing that it does."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a lambda inside an expression, of which this is the line
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _names(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Return the global and enclosed names that a function uses, with what they stand for, ``module.name`` included."""
    inside = inspect.getclosurevars(function)
    used = {**inside.globals, **inside.nonlocals}
    for name, module in list(used.items()):
        if isinstance(module, types.ModuleType) and module.__name__.partition(".")[0] not in COMPILED_ELSEWHERE:
            members = {member: getattr(module, member, None) for member in function.__code__.co_names}
            used.update({f"{name}.{member}": value for member, value in members.items() if value is not None})
    return sorted(used.items(), key=itemgetter(0))
