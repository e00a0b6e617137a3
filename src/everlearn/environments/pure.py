"""Evaluate the functions of a task, and raise if one makes results irreproducible.

The dynamics rho, the update function f and the reward r are evaluated once and the results are cached, so they must be
pure.  The code of a user's function is searched for random calls, clocks and input before it is first called, and the
function is called more than once with the same arguments: if it samples, its results differ sooner or later.
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
from everlearn.stopping import check_stop

CAREFUL, REPEATS = 64, 8
"""The first ``CAREFUL`` evaluations are done ``REPEATS`` times each, later ones twice."""

SALTED = "differs from process to process; compare labels themselves, and iterate over a tuple or sorted(...)"


class Pure:
    """A function of a task (rho, f or r), which is checked if a user wrote it.

    ``role`` and ``arguments`` describe it in messages, and ``remedy`` says what to do instead of sampling.  ``read`` is
    applied to every returned value, such as ``list`` to a generator.  ``check`` is called with the first value and the
    arguments, before the function is called again, and returns the result.
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
        self.is_own, self._done = not is_ours(function), 0
        if self.is_own:
            self._refuse_impurities()
            self._refuse_other_order()

    def __call__(self, *labels: Any) -> Any:
        """Call the function."""
        check_stop()
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
        plain = plain_function(self.function)
        code = plain if isinstance(plain, FunctionType) else type(plain).__call__
        for impurity in impurities(code, (RANDOM, CLOCK, INPUT, HASHED)):
            kept = f"is used once and the result is cached; {self.remedy}"
            remedy = SALTED if impurity.kind == HASHED else kept
            raise TaskError(f"{self.name} ({impurity.place})", impurity.name, remedy, joint=" ")

    def _refuse_other_order(self) -> None:
        """Raise if the arguments have the right names in another order."""
        expected = self.arguments.strip("()").split(", ")
        try:
            names = list(inspect.signature(self.function).parameters)
        except (TypeError, ValueError):  # written in C
            return
        for place, name in enumerate(names):
            if name in expected and expected.index(name) != place:
                raise TaskError(self.name, f"({', '.join(names)})", f"its arguments come in the order {self.arguments}")


def as_number(value: Any) -> float | None:
    """Return a value as a number, or None if it is not one; a text is not a number."""
    if type(value) is float:
        return value
    if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim > 0):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _same(value: Any, other: Any) -> bool:
    """Return whether two values are equal, even if they contain a NaN or an array, which are refused elsewhere."""
    try:
        return bool(value == other) or repr(value) == repr(other)
    except ValueError:
        return repr(value) == repr(other)


@lru_cache(maxsize=256)
def check_environment(kind: type) -> None:
    """Raise if a method of an environment draws from anything but the ``rng`` that is passed to ``start``.

    Clocks are allowed, since an environment may be a real system.  So is a seeded generator in ``__init__``, which may
    draw the world itself; in ``start`` or ``step`` it would draw the same numbers in every run.
    """
    for name, method in _members(kind):
        function = plain_function(method)
        for impurity in impurities(function, tuple(FOREIGN)) if isinstance(function, FunctionType) else ():
            if not impurity.seed or (impurity.seed == CONSTANT and name in ("start", "step")):
                where = f"environment {kind.__name__!r}, {name} ({impurity.place})"
                raise TaskError(where, impurity.name, FOREIGN[impurity.kind])


FOREIGN = {
    RANDOM: "draw from the rng that start is given, as in self.rng = rng and self.rng.random()",
    HASHED: SALTED,
    WRITTEN: "all runs share it; keep it in self, and set it in start",
}
"""What to do instead, by kind of impurity."""


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the members of the user's classes among an environment's class and its bases."""
    for base in () if is_ours(kind) else kind.__mro__:
        if package(base) not in TRUSTED:
            yield from vars(base).items()


_SHARED: WeakKeyDictionary[type, dict[str, bytes]] = WeakKeyDictionary()
"""The pickled attributes of each class of environments before its first start."""


def check_shared(kind: type) -> None:
    """Raise if a class attribute of an environment, which all runs share, has changed since the first start."""
    now = dict(_pickled(kind))
    before = _SHARED.setdefault(kind, now)
    for name, value in now.items():
        if before.get(name) != value:
            remedy = f"changed during a run and is shared by all runs; set it in start, as in self.{name} = ..."
            raise TaskError(f"environment {kind.__name__!r}", name, remedy, joint=" ")


def _pickled(kind: type) -> Iterator[tuple[str, bytes]]:
    """Yield the attributes of a class that can change, pickled if possible: neither methods nor descriptors."""
    for name, value in _members(kind):
        if not (name.startswith("__") or callable(value) or hasattr(type(value), "__get__")):
            with contextlib.suppress(Exception):
                yield name, pickle.dumps(value)
