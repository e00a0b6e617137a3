"""Fingerprint functions, classes and objects by their source and their contents, the same in every process.

Numba does not notice that a callee in another file was edited, and would silently run the old one.  So compiled code is
cached under a hash of a function, of every function that it calls, and of its constants.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import dataclasses
import dis
import functools
import hashlib
import inspect
import linecache
import re
import textwrap
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from pathlib import PurePath
from typing import Any

import numpy as np

from everlearn.labels import is_label
from everlearn.ownership import LIBRARIES, is_own, package, qualified

MOST_THINGS = 10_000
"""The largest number of functions, classes and objects in a fingerprint; of further ones only the type counts."""

MODULES_DEEP = 3
"""How many nested modules a name is followed through, as in ``package.module.name``."""

COMPILED_ELSEWHERE = {"math", "numba", "numpy", "scipy"}
"""Packages whose functions Numba knows itself."""

_PARSING = threading.Lock()
"""Python 3.11 raises SystemError if two threads make syntax trees at once."""

_KNOWN: weakref.WeakKeyDictionary[types.FunctionType, tuple[types.CodeType, str]] = weakref.WeakKeyDictionary()
"""The source of each function, with the code for which it was read."""


def names_read(code: types.CodeType) -> set[str]:
    """Return the names that code reads, including those in nested functions and comprehensions."""
    nested = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*(names_read(inner) for inner in nested))


def globals_read(code: types.CodeType) -> set[str]:
    """Return the global names that code reads, including those in nested functions; attributes are not among them."""
    nested = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*(globals_read(inner) for inner in nested))


def enclosed(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the variables of enclosing functions that a function uses, with their values."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a variable that is not assigned yet
            yield name, cell.cell_contents


def names_used(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Return the global and enclosed names that a function uses, including ``module.name``, with their values."""
    return _names_used(function, names_read(function.__code__))


def functions_called(function: types.FunctionType) -> list[Any]:
    """Return what a function may call by name: unlike :func:`names_used`, an attribute is no global of that name."""
    return [value for _, value in _names_used(function, globals_read(function.__code__))]


def _names_used(function: types.FunctionType, variables: set[str]) -> list[tuple[str, Any]]:
    read = names_read(function.__code__)
    used = {name: function.__globals__[name] for name in variables if name in function.__globals__}
    used.update(enclosed(function))
    queue = [(name, value, 1) for name, value in used.items()]
    for name, module, depth in queue:
        if isinstance(module, types.ModuleType) and module.__name__.partition(".")[0] not in COMPILED_ELSEWHERE:
            members = {f"{name}.{member}": getattr(module, member, None) for member in read}
            present = {path: value for path, value in members.items() if value is not None}
            used.update(present)
            queue.extend((path, value, depth + 1) for path, value in present.items() if depth < MODULES_DEEP)
    return sorted(used.items(), key=itemgetter(0))


def _values_used(function: types.FunctionType) -> Iterator[Any]:
    return (value for _, value in names_used(function))


def callees(
    function: Any, follow: Callable[[types.FunctionType], Iterable[Any]] = _values_used
) -> list[types.FunctionType]:
    """Return a function and every Python function that it reaches, each once.

    ``follow`` yields what a function refers to.  The default is whatever it uses by name.
    """
    reached: dict[types.FunctionType, None] = {}
    queue = [function]
    for thing in queue:
        if isinstance(thing, types.FunctionType) and thing not in reached:
            reached[thing] = None
            queue.extend(follow(thing))
    return list(reached)


def fingerprint(*functions: Callable[..., Any]) -> str:
    """Return a hash of all that the behaviour of compiled functions depends on."""
    digest = hashlib.sha256()
    for function in functions:
        for text in _Walk(function).texts():
            digest.update(text.encode())
    return digest.hexdigest()


def source_of(thing: Any, *, named: bool = True) -> str:
    """Return a hash of what a function, a class or an object does, if it is never compiled.

    Unless ``named``, neither the name of a function nor the modules of the user's functions count.

    Examples
    --------
    >>> source_of(functools.partial(max, 1)) == source_of(functools.partial(max, 2))
    False

    """
    by_fingerprint = named and isinstance(thing, types.FunctionType)
    text = fingerprint(thing) if by_fingerprint else "".join(_Walk(thing, named).texts())
    return hashlib.sha256(text.encode()).hexdigest()


class _Walk:
    """Visits everything that a thing depends on, each once, and describes it in texts.

    The text of a function or a class is its source, that of an object its contents.  Texts refer to other things by
    number, so that things may refer to each other.  What belongs to a library is described by its name alone.
    """

    def __init__(self, thing: Any, named: bool = True) -> None:
        self._use_names = named
        self.visited: list[Any] = []  # all are kept, since the id of an object that is gone may be used again
        self._numbers: dict[int, int] = {}
        self._around: list[int] = []
        self._number(_undecorated(thing))

    def texts(self) -> Iterator[str]:
        for thing in self.visited:  # which grows meanwhile
            if isinstance(thing, types.FunctionType):
                yield from self._function(thing)
            elif isinstance(thing, type):
                yield from self._class(thing)
            else:
                entries = [f"{name} = {self._value(value)}" for name, value in (contents(thing) or {}).items()]
                short = is_own(type(thing)) and not self._use_names
                yield "\n".join(["", type(thing).__name__ if short else qualified(thing), *entries])
                if is_own(type(thing)):
                    self._number(type(thing))

    def _function(self, function: types.FunctionType) -> Iterator[str]:
        yield self._function_text(function)
        yield f"\n{self._value(function.__defaults__)} {self._value(function.__kwdefaults__)}"
        if package(function) == "gymnasium":  # its functions reach every registered environment
            return
        inner = package(function) == "everlearn" and function is not self.visited[0]
        for name, value in names_used(function):
            if inner and isinstance(value, dict) and name in function.__code__.co_freevars:
                continue  # a cache, which depends on what is enclosed beside it
            yield f"\n{name} = {self._name(value, is_own(function))}"

    def _function_text(self, function: types.FunctionType) -> str:
        if self._use_names or not is_own(function):
            return f"\n{function.__module__}.{function.__qualname__}\n{_source(function)}"
        if function.__name__ == "<lambda>":  # its source is the whole line around it
            return f"\n{_describe_code(function.__code__)}"
        source = _source(function)
        if function is self.visited[0]:  # a new name is no change
            source = re.sub(r"\A((?:@.*\n)*(?:async )?def )\w+", r"\1_", source)
        return f"\n{source}"

    def _name(self, value: Any, by_user: bool) -> str:
        """Describe what a name stands for; functions, and classes of the user's, are visited later."""
        plain = _undecorated(value)
        users_class = isinstance(plain, type) and is_own(plain) and not issubclass(plain, tuple)
        if users_class or isinstance(plain, types.FunctionType):
            self._number(plain)
        elif by_user or not isinstance(plain, type | types.BuiltinFunctionType):
            return self._value(value)
        return type(value).__name__

    def _class(self, kind: type) -> Iterator[str]:
        yield f"\n{_class_source(kind)}"
        if not is_own(kind):
            return
        for base in kind.__bases__:
            self._number(base)
        for name, member in vars(kind).items():
            if isinstance(method := _function_of(member), types.FunctionType):
                self._number(method)
            elif not name.startswith("__") and not issubclass(kind, tuple):
                yield f"\n{name} = {self._value(member)}"

    def _number(self, thing: Any) -> int:
        """Return the number of a thing, which is visited if it is new."""
        if id(thing) not in self._numbers:
            self._numbers[id(thing)] = len(self.visited)
            self.visited.append(thing)
        return self._numbers[id(thing)]

    def _value(self, value: Any) -> str:
        """Describe a value: data by its contents, everything else by its type and its number."""
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
        if isinstance(value, bool | int | float | complex | str | bytes | range | PurePath | np.generic | None):
            return repr(value)
        if isinstance(value, tuple | list | dict | set | frozenset | collections.deque | np.ndarray):
            return self._container(value)
        plain, kind = _undecorated(value), type(value).__name__
        if isinstance(plain, types.BuiltinFunctionType) or (isinstance(plain, type) and not is_own(plain)):
            return f"{kind} {qualified(plain)}"
        known = isinstance(plain, type | types.FunctionType) or contents(plain) is not None
        return f"{kind} {self._number(plain)}" if known and len(self.visited) < MOST_THINGS else kind

    def _container(self, value: Any) -> str:
        if id(value) in self._around:
            return f"{type(value).__name__} around it"
        if isinstance(value, tuple) and is_own(type(value)):
            self._number(type(value))
        self._around.append(id(value))
        if isinstance(value, dict):
            entries = [f"{self._value(key)}: {self._value(entry)}" for key, entry in value.items()]
        elif isinstance(value, set | frozenset):  # its order differs between processes, so nothing can be numbered
            entries = sorted(
                repr(entry) if is_label(entry) or isinstance(entry, float) else type(entry).__name__ for entry in value
            )
        else:
            entries = [self._value(entry) for entry in value]
        self._around.pop()
        return f"({', '.join(entries)})"


def contents(thing: Any) -> dict[str, Any] | None:
    """Return what distinguishes an object from others of its class, by name, or None if it should not be looked into.

    Attributes that are computed from others are left out, and so are random generators, which many objects make when
    they first draw.
    """
    if isinstance(thing, functools.partial):
        return {"func": thing.func, "args": thing.args, "keywords": thing.keywords}
    if isinstance(thing, types.MethodType):
        return {"function": thing.__func__, "self": thing.__self__}
    if isinstance(thing, types.ModuleType) or not (is_own(type(thing)) or _is_data(thing)):
        return None
    classes = type(thing).__mro__
    slots = [name for kind in classes for name in _slots(kind) if hasattr(thing, name)]
    attributes = {**{name: getattr(thing, name) for name in slots}, **getattr(thing, "__dict__", {})}
    computed = {
        name for kind in classes for name, member in vars(kind).items() if isinstance(member, functools.cached_property)
    }
    left_out = np.random.Generator | None
    names = [name for name in sorted(attributes, key=str) if name not in computed]
    return {name: attributes[name] for name in names if not isinstance(attributes[name], left_out)}


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    return [name for name in ((slots,) if isinstance(slots, str) else slots) if not name.startswith("__")]


def _is_data(thing: Any) -> bool:
    """Return whether an object of a library holds data; other objects hold caches, or half the library."""
    if package(type(thing)) == "everlearn":
        return dataclasses.is_dataclass(thing)
    return isinstance(thing, types.SimpleNamespace) or type(thing).__module__.startswith(("gymnasium", "scipy.sparse"))


def _undecorated(thing: Any) -> Any:
    """Return the function behind one that is compiled or cached."""
    compiled = getattr(thing, "py_func", None) if package(type(thing)) == "numba" else None
    return compiled or (thing.__wrapped__ if isinstance(thing, functools._lru_cache_wrapper) else thing)


def _function_of(member: Any) -> Any:
    """Return the function of a method or a property, of whatever kind."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    return member.func if isinstance(member, functools.cached_property) else member


def _class_source(kind: type) -> str:
    if package(kind) not in LIBRARIES:
        with contextlib.suppress(OSError, TypeError):  # built in, or typed at a prompt
            return _normalised(textwrap.dedent(inspect.getsource(kind)))
    return qualified(kind)


def _source(function: types.FunctionType) -> str:
    """Return the source of a function; it is cached, since finding it in a file takes long."""
    known = _KNOWN.get(function)
    if known is None or known[0] is not function.__code__:
        known = _KNOWN[function] = function.__code__, _read_source(function)
    return known[1]


def _read_source(function: types.FunctionType) -> str:
    try:
        return _normalised(textwrap.dedent(_function_source(function)))
    except OSError:  # typed at a prompt
        return _describe_code(function.__code__)


def _function_source(function: types.FunctionType) -> str:
    """Return what ``inspect.getsource`` does, which looks through all modules for the one that the function is in."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    if not lines:
        raise OSError(f"there is no source of {function.__qualname__}")
    return "".join(inspect.getblock(lines))


def _describe_code(code: types.CodeType) -> str:
    """Describe bytecode, the same in every process."""
    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            constants.append(_describe_code(constant))
        else:
            constants.append(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)
    return repr((code.co_code, constants, code.co_names))


@functools.lru_cache(maxsize=1024)
def _normalised(source: str) -> str:
    """Return source without comments, docstrings and layout, which change nothing that it does."""
    try:
        with _PARSING:
            tree = ast.parse(source)
    except SyntaxError:  # the line of a lambda inside an expression
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
