"""Find what makes a function irreproducible: foreign randomness, clocks, other inputs, and state outside its arguments.

The bytecode of a function, and of every function of the user's that it reaches, is read without calling it.  Names are
looked up as the function itself would: ``np.random.rand`` is found no matter how it was imported.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import dis
import enum
import functools
import importlib
import inspect
import random
import types
from collections.abc import Collection, Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from everlearn.blame import shown_path
from everlearn.ownership import LIBRARIES, package, plain_function
from everlearn.sources import callees, enclosed

RANDOM, CLOCK, INPUT = "random", "clock", "input"
"""Kinds of impurity: draws from another generator, the time of day, files and other inputs."""

MUTABLE, WRITTEN, DYNAMIC = "mutable", "written", "dynamic"
"""Values that can change unseen, assignments outside the function, and names that are only known at run time."""

COMPILED, UNSAFE = "compiled", "unsafe"
"""Functions that were compiled elsewhere without checks, and access to memory that is unchecked or uninitialised."""

HASHED = "hashed"
"""What differs between processes because Python salts the hashes of strings: ``hash``, and the order of a set."""

KINDS = (RANDOM, CLOCK, INPUT, MUTABLE, WRITTEN, DYNAMIC, COMPILED, UNSAFE, HASHED)

MODULES = {
    **dict.fromkeys(("random", "secrets", "uuid", "numpy.random"), RANDOM),
    **dict.fromkeys(("time", "datetime"), CLOCK),
    **dict.fromkeys(("os", "io", "pathlib", "socket", "subprocess", "sys", "tempfile", "threading", "urllib"), INPUT),
    **dict.fromkeys(("ctypes", "cffi"), UNSAFE),
    "importlib": DYNAMIC,
}
"""The kind of impurity of each module."""

_HIDDEN_MODULES = {"_random": RANDOM, "posix": INPUT, "nt": INPUT, "_io": INPUT, "_datetime": CLOCK}
"""The same for modules in C, which callables name as their own, but users do not import."""

BUILTINS = {
    **dict.fromkeys(("open", "input", "id", "eval", "exec", "__import__", "exit", "quit"), INPUT),
    **dict.fromkeys(("globals", "locals", "vars", "getattr", "setattr", "delattr"), DYNAMIC),
    **dict.fromkeys(("object", "repr", "str"), DYNAMIC),
    "hash": HASHED,
}
"""The kind of impurity of builtin functions; hashes of strings and addresses of objects differ between processes."""

SEEDED = {"Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "Random", "RandomState", "SFC64", "SeedSequence"}
SEEDED |= {"default_rng"}
"""What makes a generator that is reproducible if it is given a seed."""

CONSTANT, GIVEN = "constant", "given"
"""How a generator is seeded: with a number in the source, or with something that is computed."""

DRAWN = {"rvs", "resample", "bootstrap", "permutation_test", "monte_carlo_test"}
"""What draws in ``scipy.stats``, from ``random_state`` if that is given; the rest of that module is pure."""

METHODS = {"__hash__": hash, "__repr__": repr, "__str__": str}
"""Methods that do the same as a builtin function, on any object."""

ORDER = "the order of a set"

UNCHECKED = {"as_strided", "carray", "farray", "empty", "empty_like", "ndarray"}
"""Names in NumPy and Numba that reach memory that is unchecked or uninitialised."""

TRUSTED = {*LIBRARIES, "everlearn"}
"""Packages whose functions are not read."""

_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_FILLERS = ("PRECALL", "PUSH_NULL", "CACHE")
_UNKNOWN = object()
_ON_FUNCTION = type("attribute of a function", (), {})()
_GENERATORS = random.Random | np.random.RandomState | np.random.Generator | np.random.BitGenerator
_CONSTANT = (
    bool | int | float | complex | str | bytes | range | None | types.EllipsisType | type | types.ModuleType
    | types.FunctionType | types.MethodDescriptorType | types.GenericAlias
    | np.generic | np.dtype | np.ufunc | PurePath
)  # fmt: skip


class Impurity(NamedTuple):
    """Something that a function reads, calls or writes besides its arguments."""

    kind: str
    name: str
    """As the user wrote it, as in ``np.random.rand``."""
    value: Any
    place: str
    """File and line."""
    seed: str = ""
    """What seeds a generator: nothing, ``CONSTANT`` or ``GIVEN``."""


def impurities(function: Any, kinds: Collection[str] = KINDS) -> list[Impurity]:
    """Return what makes a function irreproducible, in the order of its code.

    Examples
    --------
    >>> def noisy(x):
    ...     return x + random.random()
    >>> [(impurity.kind, impurity.name) for impurity in impurities(noisy)]
    [('random', 'random.random')]

    """
    reached = callees(plain_function(function), _users_functions_in)
    every = [impurity for callee in reached for impurity in _impurities_in(callee)]
    if _is_compiled(function):
        every.insert(0, Impurity(COMPILED, getattr(function, "__name__", "it"), function, "decorated by Numba"))
    return [impurity for impurity in every if impurity.kind in kinds]


def _users_functions_in(function: types.FunctionType) -> Iterator[types.FunctionType]:
    for use in _uses(function, function.__code__):
        yield from users_functions(use.value)


def users_functions(value: Any) -> list[types.FunctionType]:
    """Return the user's functions behind a value: itself, or the methods of a class."""
    members = vars(value).values() if isinstance(value, type) and package(value) not in TRUSTED else [value]
    return [function for function in map(plain_function, members) if _is_users(function)]


def attributes_read(function: Any, number: int) -> Iterator[tuple[str, str, str]]:
    """Yield the name of an argument, each attribute of it that a function reads directly, and the file and line."""
    plain = plain_function(function)
    if isinstance(plain, types.FunctionType) and number < plain.__code__.co_argcount:
        yield from _attributes_in(plain.__code__, plain.__code__.co_varnames[number])


def is_assigned(function: Any, name: str) -> bool:
    """Return whether a function assigns to a variable, so that it need not hold its argument."""
    steps = dis.get_instructions(plain_function(function).__code__)
    return any(step.opname.startswith("STORE_") and step.argval == name for step in steps)


def _attributes_in(code: types.CodeType, name: str) -> Iterator[tuple[str, str, str]]:
    loaded = False
    for step in dis.get_instructions(code):
        if loaded and step.opname in _ATTRIBUTES:
            yield name, step.argval, _place(code, step.positions.lineno if step.positions else None)
        last = step.argval[-1] if isinstance(step.argval, tuple) else step.argval  # some load two variables at once
        loaded = step.opname.startswith(("LOAD_FAST", "LOAD_DEREF")) and last == name
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _attributes_in(inner, name)


def _is_users(value: Any) -> bool:
    inside = isinstance(value, types.FunctionType) and package(value) not in TRUSTED
    return inside and not value.__code__.co_filename.startswith("<string>")  # made by NamedTuple or dataclass


def _impurities_in(function: types.FunctionType) -> Iterator[Impurity]:
    code = function.__code__
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        if not is_constant(default):
            yield Impurity(MUTABLE, f"a default argument of {function.__name__}", default, _place(code, None))
    for use in _uses(function, code):
        kind = WRITTEN if use.assigned else _kind(use.value)
        if kind is not None:
            yield Impurity(kind, use.name, use.value, _place(code, use.line), use.seed)
    yield from (Impurity(HASHED, ORDER, set, _place(code, line)) for line in _iterated_sets(function, code))


def _place(code: types.CodeType, line: int | None) -> str:
    return f"{shown_path(code.co_filename)}, line {line or code.co_firstlineno}"


class _Use(NamedTuple):
    """A dotted name from outside that code uses, its value, whether it is assigned, and the line."""

    name: str
    value: Any
    assigned: bool
    line: int | None
    seed: str = ""


def _uses(function: types.FunctionType, code: types.CodeType, local: dict[str, Any] | None = None) -> Iterator[_Use]:
    """Yield what the code of a function, or code nested in it, uses from outside."""
    reader = _Reader(function, code, local or {})
    for instruction in dis.get_instructions(code):
        yield from reader.read(instruction)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _uses(function, inner, reader.known)


def _iterated_sets(function: types.FunctionType, code: types.CodeType) -> Iterator[int | None]:
    """Yield the lines in which code iterates over a set: a literal, a call of ``set``, or a global."""
    before, made = None, None
    for step in dis.get_instructions(code):
        start = (step.positions.lineno, step.positions.col_offset) if step.positions else None
        value = function.__globals__.get(step.argval, _UNKNOWN) if step.opname == "LOAD_GLOBAL" else step.argval
        if step.opname == "LOAD_GLOBAL" and step.argval in ("set", "frozenset") and value is _UNKNOWN:
            made = start
        if step.opname == "GET_ITER" and before in ("set", made):
            yield step.positions.lineno if step.positions else None
        if step.opname not in _FILLERS:
            is_set = step.opname in ("BUILD_SET", "SET_UPDATE") or _has_salted_order(value)
            before = "set" if is_set else start if step.opname == "CALL" and made is not None else ""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _iterated_sets(function, inner)


def _has_salted_order(value: Any) -> bool:
    return isinstance(value, set | frozenset) and not all(isinstance(entry, int) for entry in value)


class _Reader:
    """Reads instructions in order, and follows a name from where it is loaded through its attributes."""

    def __init__(self, function: types.FunctionType, code: types.CodeType, local: dict[str, Any]) -> None:
        self.function, self.code = function, code
        self.enclosed = dict(enclosed(function))
        self.known = {**self.enclosed, **local}
        self.name, self.value = "", _UNKNOWN
        self.module, self.imported = _UNKNOWN, _UNKNOWN
        self.line: int | None = None
        self.copied = ""

    def read(self, instruction: dis.Instruction) -> Iterator[_Use]:
        self.line = instruction.positions.lineno if instruction.positions else self.line
        operation, argument = instruction.opname, instruction.argval
        if operation in _FILLERS:
            return
        if operation in _ATTRIBUTES and argument in METHODS:
            yield _Use(argument, METHODS[argument], False, self.line)
        if operation in _ATTRIBUTES and _has_attributes(self.value):
            self._follow(argument)
            return
        if operation == "COPY":  # as in ``name.attribute += 1``, where the attribute is read and then assigned
            self.copied = self.name if self.value is not _UNKNOWN else ""
            return
        if operation == "STORE_ATTR" and self.value is _UNKNOWN and self.copied:
            yield _Use(f"{self.copied}.{argument}", None, True, self.line)
        if self.value is not _UNKNOWN:
            stored = operation == "STORE_ATTR"
            name = f"{self.name}.{argument}" if stored else self.name
            yield _Use(name, self.value, stored, self.line, self._seed(instruction))
        loaded, self.value = self.value, _UNKNOWN
        if operation in _LOADS:
            self.name, self.value = argument, self._look_up(operation, argument)
        elif operation in ("IMPORT_NAME", "IMPORT_FROM"):
            whole = operation == "IMPORT_NAME"
            self.imported = _module(argument) if whole else _member(self.module, argument)
            self.module = self.imported if whole else self.module
            yield _Use(argument, self.imported, False, self.line)
        elif operation.startswith(("STORE_", "DELETE_")):
            yield from self._store(operation, argument, self.imported if loaded is _UNKNOWN else loaded)
            self.imported = _UNKNOWN

    def _seed(self, after: dis.Instruction) -> str:
        """Return what seeds a generator that was loaded; the next instruction loads its first argument."""
        last = self.name.rpartition(".")[2]
        if last in DRAWN:
            given = any(isinstance(names, tuple) and "random_state" in names for names in self.code.co_consts)
            return GIVEN if given else ""
        if last not in SEEDED or after.opname.startswith(("CALL", "STORE_", "RETURN_")):
            return ""
        if after.opname == "LOAD_CONST":
            return "" if after.argval is None else CONSTANT
        return GIVEN if after.opname not in _LOADS or _default(self.function, after.argval) is not None else ""

    def _follow(self, attribute: str) -> None:
        """Look up an attribute; an attribute of a function can always change."""
        on_function = isinstance(self.value, types.FunctionType) and not attribute.startswith("__")
        self.value = _ON_FUNCTION if on_function else _member(self.value, attribute)
        self.name = f"{self.name}.{attribute}"

    def _look_up(self, operation: str, name: str) -> Any:
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            return self.function.__globals__.get(name, getattr(builtins, name, _UNKNOWN))
        return self.known.get(name, _UNKNOWN)

    def _store(self, operation: str, name: str, value: Any) -> Iterator[_Use]:
        outer = operation.endswith("_DEREF") and name in self.code.co_freevars and name in self.enclosed
        if operation.endswith("_GLOBAL") or outer:
            yield _Use(name, None, True, self.line)
        elif operation not in ("STORE_ATTR", "STORE_SUBSCR"):
            self.known[name] = value  # perhaps another name for something outside


def _has_attributes(value: Any) -> bool:
    """Return whether the attributes of a value are known before the function runs."""
    return isinstance(value, types.ModuleType | type | types.FunctionType) or package(type(value)) == "scipy"


def _default(function: types.FunctionType, name: str) -> Any:
    parameter = inspect.signature(function).parameters.get(name)
    return _UNKNOWN if parameter is None else parameter.default


def _module(name: str) -> Any:
    with contextlib.suppress(Exception):  # the user's own call will fail, and report it
        return importlib.import_module(name)
    return _UNKNOWN


def _member(value: Any, name: str) -> Any:
    with contextlib.suppress(Exception):  # a lazy module that cannot import something
        return getattr(value, name)
    return _UNKNOWN


def _kind(value: Any) -> str | None:
    """Return what kind of impurity it is to use a value, or None."""
    if isinstance(value, types.ModuleType):
        return MODULES.get(value.__name__)
    parts = [value, getattr(value, "__self__", None)]
    if package(type(value)) not in TRUSTED and hasattr(value, "__dict__"):  # an object of a user's class
        parts += vars(value).values()
    if any(isinstance(part, _GENERATORS) for part in parts):
        return RANDOM
    if callable(value):
        return _kind_of_call(value)
    return None if is_constant(value) else MUTABLE


def _is_compiled(value: Any) -> bool:
    return package(type(value)) == "numba" and callable(value)


def _kind_of_call(value: Any) -> str | None:
    if _is_compiled(value):
        return COMPILED
    for builtin, kind in BUILTINS.items():
        if value is getattr(builtins, builtin):
            return kind
    bound_to, name = getattr(value, "__self__", None), getattr(value, "__name__", None)
    module = str(getattr(bound_to if isinstance(bound_to, type) else value, "__module__", None))
    if package(value) in ("numpy", "numba") and name in UNCHECKED:
        return UNSAFE
    if name in ("urandom", "getrandom") or (module.startswith("scipy.stats") and name in DRAWN):
        return RANDOM
    if module == "datetime" and name not in ("now", "today", "utcnow"):
        return None  # arithmetic with dates reads no clock
    for impure, kind in {**_HIDDEN_MODULES, **MODULES}.items():
        if module == impure or module.startswith(impure + "."):
            return kind
    return None if package(value) in TRUSTED or is_constant(value) else MUTABLE


def is_constant(value: Any) -> bool:
    """Return whether a value can never change, so that a function may read it at every step."""
    if isinstance(value, tuple | frozenset):
        return all(is_constant(part) for part in value)
    if isinstance(value, enum.Enum):
        return is_constant(value.value)
    if isinstance(value, types.BuiltinFunctionType):  # perhaps bound, as in ``results.append``
        return is_constant(value.__self__)
    if isinstance(value, np.ndarray):
        return not value.flags.writeable and not value.dtype.hasobject
    if isinstance(value, _CONSTANT) or hasattr(value, "py_func") or isinstance(value, functools._lru_cache_wrapper):
        return True
    if dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen:  # type: ignore[union-attr]
        return all(is_constant(getattr(value, field.name)) for field in dataclasses.fields(value))
    return type(value).__module__ == "typing" or value is _UNKNOWN
