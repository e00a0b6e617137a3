"""Evaluate the functions of a task, and refuse one that would make results unrepeatable.

The dynamics rho, the update function f and the reward r are evaluated once and remembered, so they must be pure.  What
a user wrote is read for random calls, clocks and input before it is first called, and called more than once with the
same arguments: a function that samples returns something else sooner or later.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import lru_cache
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from everlearn.blame import blamed, own
from everlearn.errors import EverlearnError, TaskError
from everlearn.holding import is_ours, package, plain_function
from everlearn.purity import CLOCK, INPUT, RANDOM, Impurity, impurities

CAREFUL, REPEATS = 64, 8
"""How many of the first evaluations are repeated, and how often each is done; later ones are done twice."""

SEEDED = {"Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "Random", "RandomState", "SFC64", "SeedSequence"}
SEEDED |= {"default_rng"}
"""What makes a generator that repeats itself if it is given a seed."""


class Pure:
    """A function of a task, evaluated with care if a user wrote it.

    Parameters
    ----------
    function:
        rho, f or r
    role, arguments:
        what it is to the task, and what it takes
    remedy:
        what to do instead of sampling, in a clause
    read:
        what is applied to the returned value, such as ``list`` to a generator

    Examples
    --------
    >>> Pure(lambda s, a, o: 0.5, "reward", "(s, action, observation)", "sample elsewhere")("idle", "wait", "busy")
    0.5

    """

    def __init__(
        self,
        function: Callable[..., Any],
        role: str,
        arguments: str,
        remedy: str,
        read: Callable[[Any], Any] | None = None,
    ) -> None:
        self.function, self.arguments, self.remedy, self._read = function, arguments, remedy, read
        self.name = f"{role} {getattr(function, '__name__', type(function).__name__)!r}"
        self.is_own, self._done = is_own(function), 0
        if self.is_own:
            self._refuse_impurities()

    def __call__(self, *labels: Any) -> Any:
        """Return what the function returns for these labels."""
        if not self.is_own:
            return self._evaluate(labels)
        try:
            value = self._evaluate(labels)
            repeats = REPEATS if self._done < CAREFUL else 2
            self._done += 1
            steady = all(_same(value, self._evaluate(labels)) for _ in range(repeats - 1))
        except EverlearnError:
            raise
        except Exception as error:
            raise blamed(error, self.name, f"{self.arguments} = {labels!r}") from own(error)
        if not steady:
            where = f"{self.name} at {self.arguments}"
            raise TaskError(where, labels, f"a second call returned something else; {self.remedy}")
        return value

    def _evaluate(self, labels: tuple[Any, ...]) -> Any:
        value = self.function(*labels)
        return value if self._read is None else self._read(value)

    def _refuse_impurities(self) -> None:
        for found in impurities(_code_of(self.function), (RANDOM, CLOCK, INPUT)):
            remedy = f"is used once and the result is kept; {self.remedy}"
            raise TaskError(f"{self.name} ({found.place})", found.name, remedy, joint=" ")


def is_own(function: Any) -> bool:
    """Tell whether a function is a user's, not of this package.

    Examples
    --------
    >>> is_own(is_own), is_own(len)
    (False, True)

    """
    return not is_ours(function)


def as_number(value: Any) -> float | None:
    """Return what a function returned as a number, or None where it is none; a text is none.

    Examples
    --------
    >>> as_number(True), as_number("1")
    (1.0, None)

    """
    if type(value) is float:
        return value
    if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim > 0):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _code_of(function: Any) -> Any:
    plain = plain_function(function)
    return plain if isinstance(plain, FunctionType) else type(plain).__call__


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same, also where they hold a NaN or an array, which are refused elsewhere."""
    try:
        return bool(one == other) or repr(one) == repr(other)
    except ValueError:
        return repr(one) == repr(other)


@lru_cache(maxsize=256)
def check_environment(kind: type) -> None:
    """Refuse a class of environments whose methods draw from anything but the ``rng`` that ``start`` is given.

    Clocks are allowed, since an environment may be a real system; and so is a generator that is given a seed.

    Examples
    --------
    >>> class Coin:
    ...     def start(self, rng):
    ...         self.rng = rng
    ...     def step(self, action):
    ...         return int(self.rng.random() < 0.5)
    >>> check_environment(Coin)

    """
    bases = [base for base in kind.__mro__ if is_own(kind) and package(base) == package(kind)]
    for name, method in ((name, member) for base in bases for name, member in vars(base).items()):
        function = plain_function(method)
        if isinstance(function, FunctionType):
            for found in _foreign_draws(function):
                where = f"environment {kind.__name__!r}, {name} ({found.place})"
                remedy = "draw from the rng that start is given, as in self.rng = rng and self.rng.random()"
                raise TaskError(where, found.name, remedy)


_SHARED: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()
"""For each class of environments, its lists, dictionaries, sets and arrays as they were before the first start."""


def check_shared(kind: type) -> None:
    """Refuse a class of environments that has changed an attribute of its own, which all runs share.

    Call it whenever an environment is about to start.
    """
    if not is_own(kind):
        return
    mutable = (list, dict, set, np.ndarray)
    attributes = {name: value for name, value in vars(kind).items() if isinstance(value, mutable)}
    before = _SHARED.setdefault(kind, deepcopy(attributes))
    for name, value in attributes.items():
        if not _same(before.get(name), value):
            remedy = f"changed during a run and is shared by all runs; set it in start, as in self.{name} = ..."
            raise TaskError(f"environment {kind.__name__!r}", name, remedy, joint=" ")


def _foreign_draws(function: FunctionType) -> Iterator[Impurity]:
    unseeded = set(_unseeded(function.__code__))
    for found in impurities(function, (RANDOM,)):
        last = found.name.rpartition(".")[2]
        if last not in SEEDED or last in unseeded:
            yield found


def _unseeded(code: CodeType) -> Iterator[str]:
    """Yield the names that code calls without an argument."""
    between = ("PRECALL", "PUSH_NULL", "CACHE")
    steps = [step for step in dis.get_instructions(code) if step.opname not in between]
    yield from (str(one.argval) for one, other in pairwise(steps) if other.opname == "CALL" and other.arg == 0)
