"""Evaluate the functions of a task, and refuse one that would make results unrepeatable.

The dynamics rho, the update function f and the reward r are evaluated once and remembered, so they must be pure.  What
a user wrote is read for random calls, clocks and input before it is first called, and called more than once with the
same arguments: a function that samples returns something else sooner or later.
"""

from __future__ import annotations

import contextlib
import inspect
import pickle
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from everlearn.blame import blame
from everlearn.errors import TaskError
from everlearn.ownership import is_ours, package, plain_function
from everlearn.purity import CLOCK, CONSTANT, HASHED, INPUT, RANDOM, TRUSTED, WRITTEN, impurities

CAREFUL, REPEATS = 64, 8
"""How many of the first evaluations are repeated, and how often each is done; later ones are done twice."""

SALTED = "differs from process to process; compare labels themselves, and iterate over a tuple or sorted(...)"


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
    check:
        what is called with the first value and the arguments before the function is called again; returns the result

    """

    def __init__(
        self,
        function: Callable[..., Any],
        role: str,
        arguments: str,
        remedy: str,
        read: Callable[[Any], Any] | None = None,
        check: Callable[..., Any] | None = None,
    ) -> None:
        self.function, self.arguments, self.remedy, self._read, self._check = function, arguments, remedy, read, check
        self.name = f"{role} {getattr(function, '__name__', type(function).__name__)!r}"
        self.is_own, self._done = is_own(function), 0
        if self.is_own:
            self._refuse_impurities()
            self._refuse_other_order()

    def __call__(self, *labels: Any) -> Any:
        """Return what the function returns for these labels."""
        if not self.is_own:
            return self._checked(self._evaluate(labels), labels)
        with blame(self.name, f"{self.arguments} = {labels!r}"):
            value = self._evaluate(labels)
            result = self._checked(value, labels)
            repeats = REPEATS if self._done < CAREFUL else 2
            self._done += 1
            steady = all(_same(value, self._evaluate(labels)) for _ in range(repeats - 1))
        if not steady:
            where = f"{self.name} at {self.arguments}"
            raise TaskError(where, labels, f"a second call returned something else; {self.remedy}")
        return result

    def _checked(self, value: Any, labels: tuple[Any, ...]) -> Any:
        return value if self._check is None else self._check(value, *labels)

    def _evaluate(self, labels: tuple[Any, ...]) -> Any:
        value = self.function(*labels)
        return value if self._read is None else self._read(value)

    def _refuse_impurities(self) -> None:
        for found in impurities(_code_of(self.function), (RANDOM, CLOCK, INPUT, HASHED)):
            kept = f"is used once and the result is kept; {self.remedy}"
            remedy = SALTED if found.kind == HASHED else kept
            raise TaskError(f"{self.name} ({found.place})", found.name, remedy, joint=" ")

    def _refuse_other_order(self) -> None:
        """Refuse a function whose arguments have the right names in another order."""
        expected = self.arguments.strip("()").split(", ")
        try:
            names = list(inspect.signature(self.function).parameters)
        except (TypeError, ValueError):  # written in C
            return
        for place, name in enumerate(names):
            if name in expected and expected.index(name) != place:
                raise TaskError(self.name, f"({', '.join(names)})", f"its arguments come in the order {self.arguments}")


def is_own(function: Any) -> bool:
    """Tell whether a function is a user's, not of this package."""
    return not is_ours(function)


def as_number(value: Any) -> float | None:
    """Return what a function returned as a number, or None where it is none; a text is none."""
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

    Clocks are allowed, since an environment may be a real system.  So is a generator with a seed in ``__init__``, which
    may draw the world itself; in ``start`` or ``step`` it would give all runs the same luck.
    """
    for name, method in _members(kind):
        function = plain_function(method)
        for found in impurities(function, tuple(FOREIGN)) if isinstance(function, FunctionType) else ():
            if not found.seed or (found.seed == CONSTANT and name in ("start", "step")):
                raise TaskError(
                    f"environment {kind.__name__!r}, {name} ({found.place})", found.name, FOREIGN[found.kind]
                )


FOREIGN = {
    RANDOM: "draw from the rng that start is given, as in self.rng = rng and self.rng.random()",
    HASHED: SALTED,
    WRITTEN: "all runs share it; keep it in self, and set it in start",
}
"""What an environment is to do instead."""


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield what the classes of a user's environment define, those that it inherits from included."""
    for base in kind.__mro__ if is_own(kind) else ():
        if package(base) not in TRUSTED:
            yield from vars(base).items()


_SHARED: WeakKeyDictionary[type, dict[str, bytes]] = WeakKeyDictionary()
"""For each class of environments, what was pickled of its attributes before the first start."""


def check_shared(kind: type) -> None:
    """Refuse a class of environments that has changed an attribute of its own, which all runs share.

    Call it whenever an environment is about to start.
    """
    now = dict(_pickled(kind))
    before = _SHARED.setdefault(kind, now)
    for name, value in now.items():
        if before.get(name) != value:
            remedy = f"changed during a run and is shared by all runs; set it in start, as in self.{name} = ..."
            raise TaskError(f"environment {kind.__name__!r}", name, remedy, joint=" ")


def _pickled(kind: type) -> Iterator[tuple[str, bytes]]:
    """Yield the attributes of a class that can change: neither methods nor descriptors, nor what cannot be pickled."""
    for name, value in _members(kind):
        if not (name.startswith("__") or callable(value) or hasattr(type(value), "__get__")):
            with contextlib.suppress(Exception):
                yield name, pickle.dumps(value)
