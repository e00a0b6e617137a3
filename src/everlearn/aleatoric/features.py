"""Features of aleatoric states: each state activates a fixed number of binary features.

An agent whose values are sums over active features generalises: what it learns in one state changes its values in all
states that share features with it.  The parts of a label that is a tuple are its *factors*; nested tuples count as
their parts.

==============  ======================================================================================
name            the active features of a state
==============  ======================================================================================
``onehot``      one, which no other state has: nothing is generalised, and values are those of a table
``factors``     one for each factor: the place and its value
``pairs``       one for each factor and one for each pair of factors
``hashed:N``    those of ``pairs``, hashed into N features
``auto``        those that the task declares; otherwise ``pairs`` for tuples of 2 to 8 factors, ``factors`` for longer
                ones, and ``onehot`` for other labels
==============  ======================================================================================
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everlearn.calls import explained
from everlearn.environments.pure import Pure
from everlearn.errors import InputError, require
from everlearn.factories import name_of
from everlearn.labels import encode, show
from everlearn.protocol import Label
from everlearn.registry import locate

AUTO = "auto"
WAYS = "auto, onehot, factors, pairs, hashed:N, or your own el.Features as module:attribute"

MOST_PAIRED = 8
"""The most factors of which ``auto`` takes the pairs."""

MOST_ACTIVE, MOST_FEATURES = 4096, 1 << 24
"""The most features that a state activates, and the most that there may be."""


@explained("el.Features(function, active=..., size=...)")
@dataclass(frozen=True)
class Features:
    """A function that returns the indices of the active features of an aleatoric state.

    Parameters
    ----------
    function:
        a pure function of the aleatoric state that returns ``active`` different whole numbers from 0 to
        ``size`` - 1
    active:
        how many features a state activates
    size:
        how many features there are

    Examples
    --------
    >>> near = Features(lambda s: (s // 10, 10 + s % 10), active=2, size=20)
    >>> near.table([7, 35]).tolist()
    [[0, 17], [3, 15]]
    >>> near.table([500])
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: features of state 500: 50; give indices from 0 to 19

    """

    function: Callable[[Any], Iterable[int]] = field(repr=False)
    active: int
    size: int

    def __post_init__(self) -> None:
        require(callable(self.function), "function of the features", self.function, "give a function of a state")
        for name, most in (("active", MOST_ACTIVE), ("size", MOST_FEATURES)):
            number = getattr(self, name)
            whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
            require(
                whole and 1 <= int(number) <= most,
                f"{name} of the features",
                number,
                f"give a whole number from 1 to {most:,}",
            )

    def table(self, states: Sequence[Label]) -> NDArray[np.int64]:
        """Return the active features, one row per aleatoric state, as an array that cannot be written to."""
        remedy = "make it a function of the aleatoric state alone"
        pure = Pure(self.function, "features", "(aleatoric_state,)", remedy, read=_listed)
        return fixed(np.array([self._row(pure(state), state) for state in states], dtype=np.int64))

    def _row(self, given: Any, state: Label) -> list[int]:
        where = f"features of state {show(state)}"
        wanted = f"{self.active} {'index' if self.active == 1 else 'indices'}"
        require(isinstance(given, list), where, given, f"return a list of {wanted}, as declared")
        if len(given) > MOST_ACTIVE:
            raise InputError(
                where, given[:3], f"are the first of more than {MOST_ACTIVE:,}; return {wanted}, as declared"
            )
        if len(given) != self.active:
            raise InputError(where, given, f"has length {len(given)}; return {wanted}, as declared")
        row = [self._index(index, where) for index in given]
        require(len(set(row)) == len(row), where, row, "the same index twice; give different ones")
        return row

    def _index(self, given: Any, where: str) -> int:
        if isinstance(given, bool):
            raise InputError(where, given, "give the indices of the active features, not whether each is active")
        try:
            index = operator.index(given)
        except TypeError:
            whole = isinstance(given, float) and given.is_integer()
            raise InputError(where, given, f"give whole numbers{', as in int(...)' if whole else ''}") from None
        require(0 <= index < self.size, where, index, f"give indices from 0 to {self.size - 1}")
        return index


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that cannot be written to: in knowledge it is a constant."""
    array.flags.writeable = False
    return array


def _listed(given: Any) -> Any:
    """Return what a function of features returned as a list, if it can be one; it may be endless."""
    if isinstance(given, np.ndarray):
        return given.tolist()
    fine = isinstance(given, Iterable) and not isinstance(given, Mapping | str)
    return list(islice(given, MOST_ACTIVE + 1)) if fine else given


def make_features(given: object, states: Sequence[Label]) -> Features:
    """Return features by name, ``module:attribute`` or as they are.

    Examples
    --------
    >>> make_features("pairs", [(0, "a"), (0, "b"), (1, "a")]).table([(0, "a"), (1, "a")]).tolist()
    [[0, 1, 2], [5, 1, 6]]

    """
    located = locate(str(given), {}, "features") if _is_path(given) else given
    if isinstance(located, Features):
        return located
    kind, _, size = str(given).partition(":")
    remedy = "is a function; give el.Features(function, active=..., size=...)"
    require(not callable(located), "features", name_of(given), remedy)
    known = isinstance(given, str) and kind in ("onehot", "factors", "pairs", "hashed", AUTO)
    require(known, "features", given, f"give {WAYS}")
    if kind == "hashed":
        return _hashed(size, states)
    require(not size, "features", given, f"give {WAYS}")
    return _numbered(_keys(kind, states), states)


def _is_path(given: object) -> bool:
    return isinstance(given, str) and ":" in given and not given.startswith(("hashed:", "tiles:"))


def factors(label: Label) -> tuple[int | str, ...]:
    """Return the parts of a label, with those of nested tuples in their place."""
    if not isinstance(label, tuple):
        return (label,)
    return tuple(part for entry in label for part in factors(entry))


def _keys(kind: str, states: Sequence[Label]) -> Callable[[Label], list[Any]]:
    """Return the function from a state to what its features are about; every state has equally many."""
    longest = max(len(factors(state)) for state in states)
    if kind == AUTO:
        kind = "onehot" if longest < 2 else "pairs" if longest <= MOST_PAIRED else "factors"
    if kind == "onehot":
        return lambda state: [state]

    def keys(state: Label) -> list[Any]:
        parts = factors(state)
        placed = list(enumerate([*parts, *[()] * (longest - len(parts))]))  # () where there is nothing
        return [*placed, *(combinations(placed, 2) if kind == "pairs" else ())]

    return keys


def _numbered(keys: Callable[[Label], list[Any]], states: Sequence[Label]) -> Features:
    numbers: dict[Any, int] = {}
    for state in states:
        for key in keys(state):
            numbers.setdefault(key, len(numbers))
    return Features(lambda state: [numbers[key] for key in keys(state)], len(keys(states[0])), len(numbers))


def _hashed(size: str, states: Sequence[Label]) -> Features:
    keys = _keys("pairs", states)
    active = len(keys(states[0]))
    fine = size.isdecimal() and active <= int(size) <= MOST_FEATURES
    require(fine, "features", f"hashed:{size}", f"give a number of features from {active} to {MOST_FEATURES:,}")

    def hashed(state: Label) -> list[int]:
        row: list[int] = []
        for key in keys(state):
            index = zlib.crc32(encode(key).encode()) % int(size)
            while index in row:  # the features of a state differ
                index = (index + 1) % int(size)
            row.append(index)
        return row

    return Features(hashed, active, int(size))
