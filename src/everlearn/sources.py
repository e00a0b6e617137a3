"""What compiled code depends on: the source of a function, of every function that it calls, and its constants.

Numba does not notice an edited callee in another file; it would silently run the old one.  So compiled code is kept
under a hash of all of this.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import functools
import hashlib
import inspect
import re
import textwrap
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import PurePath
from typing import Any

import numpy as np

from everlearn.holding import LIBRARIES, held, is_own, package, qualified
from everlearn.labels import is_label

MOST_THINGS = 10_000
"""How many functions, classes and objects are looked into; those beyond are told by their types."""

_PARSING = threading.Lock()
"""Python 3.11 raises SystemError where two threads make syntax trees at once."""

_KNOWN: weakref.WeakKeyDictionary[types.FunctionType, tuple[types.CodeType, str]] = weakref.WeakKeyDictionary()
"""The sources that were read, each with the code that it was read of."""

MODULES_DEEP = 3
"""How many modules inside each other a name is followed through, as in ``package.module.name``."""

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
            queue.extend(value for _, value in names_used(one))
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
        for part in _Walk(function).texts():
            text.update(part.encode())
    return text.hexdigest()


def source_of(thing: Any, *, named: bool = True) -> str:
    """Return a hash of what a function, a class or an object does, for things that are never compiled.

    Unless ``named``, neither the name of a function nor the modules of the user's functions count.

    Examples
    --------
    >>> class One: pass
    >>> source_of(One) == source_of(One), source_of(len) == source_of(max)
    (True, False)
    >>> source_of(functools.partial(max, 1)) == source_of(functools.partial(max, 2))
    False

    """
    if named and isinstance(thing, types.FunctionType):
        told = fingerprint(thing)
    else:
        told = "".join(_Walk(thing, named).texts())
    return hashlib.sha256(told.encode()).hexdigest()


class _Walk:
    """Everything that a thing rests on, each once in the order in which it is found, and a text of all of it.

    Functions and classes are told by their source, objects by what they hold.  What is held is told by its number, so
    that things may hold each other.  What belongs to a library is told by its name, and so is what can hold nothing.
    """

    def __init__(self, thing: Any, named: bool = True) -> None:
        self._named_too = named
        self.found: list[Any] = []  # all are kept: the id of what is gone may come again
        self._numbers: dict[int, int] = {}
        self._around: list[int] = []
        self._add(_plain_function(thing))

    def texts(self) -> Iterator[str]:
        """Yield the text in parts."""
        for thing in self.found:  # which grows meanwhile
            if isinstance(thing, types.FunctionType):
                yield from self._function(thing)
            elif isinstance(thing, type):
                yield from self._class(thing)
            else:
                entries = [f"{name} = {self._constant(value)}" for name, value in (held(thing) or {}).items()]
                own = is_own(type(thing)) and not self._named_too
                yield "\n".join(["", type(thing).__name__ if own else qualified(thing), *entries])
                if is_own(type(thing)):
                    self._add(type(thing))

    def _function(self, function: types.FunctionType) -> Iterator[str]:
        yield self._text(function)
        yield f"\n{self._constant(function.__defaults__)} {self._constant(function.__kwdefaults__)}"
        if package(function) == "gymnasium":  # its functions know every environment there is, also those of others
            return
        inner = package(function) == "everlearn" and function is not self.found[0]
        for name, value in names_used(function):
            if inner and isinstance(value, dict) and name in function.__code__.co_freevars:
                continue  # what it computed so far; what determines that is held beside it
            yield f"\n{name} = {self._named(value, is_own(function))}"

    def _text(self, function: types.FunctionType) -> str:
        if self._named_too or not is_own(function):
            return f"\n{function.__module__}.{function.__qualname__}\n{_source(function)}"
        if function.__name__ == "<lambda>":  # its source is the line that it is in, and that may say anything
            return f"\n{_code(function.__code__)}"
        return "\n" + (_unnamed(_source(function)) if function is self.found[0] else _source(function))

    def _named(self, value: Any, by_user: bool) -> str:
        """Return what a name stands for: functions and classes of the user's follow in the order of their names."""
        if _is_followed(one := _plain_function(value)):
            self._add(one)
        elif by_user or not isinstance(one, type | types.BuiltinFunctionType):
            return self._constant(value)
        return type(value).__name__

    def _class(self, kind: type) -> Iterator[str]:
        yield f"\n{_class_source(kind)}"
        if not is_own(kind):
            return
        for base in kind.__bases__:
            self._add(base)
        for name, member in vars(kind).items():
            if isinstance(inner := _function_of(member), types.FunctionType):
                self._add(inner)
            elif not name.startswith("__") and not issubclass(kind, tuple):
                yield f"\n{name} = {self._constant(member)}"

    def _add(self, thing: Any) -> int:
        if id(thing) not in self._numbers:
            self._numbers[id(thing)] = len(self.found)
            self.found.append(thing)
        return self._numbers[id(thing)]

    def _constant(self, value: Any) -> str:
        """Return what identifies a value in every process: what it is, if it is data, or its type and its number."""
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
        if isinstance(value, bool | int | float | complex | str | bytes | range | PurePath | np.generic | None):
            return repr(value)
        if isinstance(value, tuple | list | dict | set | frozenset | collections.deque | np.ndarray):
            return self._container(value)
        one, told = _plain_function(value), type(value).__name__
        if isinstance(one, types.BuiltinFunctionType) or (isinstance(one, type) and not is_own(one)):
            return f"{told} {qualified(one)}"
        known = isinstance(one, type | types.FunctionType) or held(one) is not None
        return f"{told} {self._add(one)}" if known and len(self.found) < MOST_THINGS else told

    def _container(self, value: Any) -> str:
        if id(value) in self._around:
            return f"{type(value).__name__} around it"
        if isinstance(value, tuple) and is_own(type(value)):
            self._add(type(value))
        self._around.append(id(value))
        if isinstance(value, dict):
            entries = [f"{self._constant(key)}: {self._constant(entry)}" for key, entry in value.items()]
        elif isinstance(
            value, set | frozenset
        ):  # in an order of its own in every process, so that numbers tell nothing
            entries = sorted(
                repr(one) if is_label(one) or isinstance(one, float) else type(one).__name__ for one in value
            )
        else:
            entries = [self._constant(entry) for entry in value]
        self._around.pop()
        return f"({', '.join(entries)})"


def _is_followed(thing: Any) -> bool:
    """Tell whether a name that stands for a thing leads to it: to every function, and to classes of the user's."""
    if isinstance(thing, type):
        return is_own(thing) and not issubclass(thing, tuple)
    return isinstance(thing, types.FunctionType)


def _plain_function(thing: Any) -> Any:
    """Return the function behind one that was compiled or that remembers its results."""
    compiled = getattr(thing, "py_func", None) if package(type(thing)) == "numba" else None
    return compiled or (thing.__wrapped__ if isinstance(thing, functools._lru_cache_wrapper) else thing)


def _function_of(member: Any) -> Any:
    """Return the function of a method, of whatever sort."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    return member.func if isinstance(member, functools.cached_property) else member


def _class_source(kind: type) -> str:
    if package(kind) not in LIBRARIES:
        with contextlib.suppress(OSError, TypeError):  # built in, or typed at a prompt
            return _bare(textwrap.dedent(inspect.getsource(kind)))
    return qualified(kind)


def _source(function: types.FunctionType) -> str:
    """Return the source of a function; it is read once, since to find it in its file takes long."""
    known = _KNOWN.get(function)
    if known is None or known[0] is not function.__code__:
        known = _KNOWN[function] = function.__code__, _read_source(function)
    return known[1]


def _read_source(function: types.FunctionType) -> str:
    try:
        return _bare(textwrap.dedent(inspect.getsource(function.__code__)))
    except (OSError, TypeError):  # typed at a prompt: the code itself tells as much
        return _code(function.__code__)


def _unnamed(source: str) -> str:
    """Return the source of a function with another name in its definition, so that a new name is no change."""
    return re.sub(r"\A((?:@.*\n)*(?:async )?def )\w+", r"\1_", source)


def _code(code: types.CodeType) -> str:
    """Return what code does, the same in every process."""
    constants = [
        _code(one) if isinstance(one, types.CodeType) else sorted(map(repr, one)) if isinstance(one, frozenset) else one
        for one in code.co_consts
    ]
    return repr((code.co_code, constants, code.co_names))


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


def names_used(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Return the global and enclosed names that a function uses, with what they stand for, ``module.name`` included."""
    read = names_read(function.__code__)
    used = {name: function.__globals__[name] for name in read if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # enclosed, and not there yet
            used[name] = cell.cell_contents
    queue = [(name, value, 1) for name, value in used.items()]
    for name, module, depth in queue:
        if isinstance(module, types.ModuleType) and module.__name__.partition(".")[0] not in COMPILED_ELSEWHERE:
            members = {f"{name}.{member}": getattr(module, member, None) for member in read}
            found = {path: value for path, value in members.items() if value is not None}
            used.update(found)
            queue.extend((path, value, depth + 1) for path, value in found.items() if depth < MODULES_DEEP)
    return sorted(used.items(), key=itemgetter(0))


def names_read(code: types.CodeType) -> set[str]:
    """Return the names that code reads, comprehensions and functions inside it included."""
    inside = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*(names_read(one) for one in inside))
