"""Grids: sets of labels that are too large to list, of which each is a tuple with a part for every coordinate.

A set of aleatoric states or observations is usually a tuple of labels.  A grid takes its place where the labels are all
combinations of a few levels per coordinate: it has a length, gives the label of a number and the number of a label, and
never lists them.  So a state of 2 ** 40 is a number in compiled code like any other.

A :class:`Box` is a grid of measurements: any point in it is read as the label of the level that it falls into.  A grid
with more labels than a 64-bit integer can number is *wide*: its numbers are Python's, and agents see the places of the
parts instead (:mod:`everlearn.agents.perception`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from everlearn.calls import explained
from everlearn.errors import InputError, require
from everlearn.protocol import Label

MOST_NUMBERED = 1 << 62
"""The most labels of a grid that is not wide: their numbers are integers of 64 bits."""

MOST_PARTS = 256
"""The most coordinates of a grid."""

CLOSE = 1e-6
"""By how much of the width of an interval a value may lie outside: single precision, and rounding errors."""

BITS, FINEST, COARSEST = 52, 10, 6
"""The bits of a point if its coordinates have more than ``COARSEST`` each, and the most and the least bits of one."""


def levels_for(coordinates: int, others: float = 0.0) -> int:
    """Return into how many levels each of some coordinates is cut; ``others`` are the bits of the other coordinates.

    Examples
    --------
    >>> [levels_for(number) for number in (2, 6, 8, 64)]
    [1024, 256, 64, 64]

    """
    return 1 << min(FINEST, max(COARSEST, int((BITS - others) // max(coordinates, 1))))


class Point(tuple[Any, ...]):
    """A label with measurements among its parts; other labels have no fractions, since users write them."""

    __slots__ = ()


class Unread(KeyError):  # noqa: N818 - reads as what it is
    """A value is no label of a grid; the argument says why."""


class Interval(Sequence[float]):
    """The levels of a measurement: equal parts of an interval, each called by its middle, rounded.

    With ``clips``, values outside the interval belong to the first or the last level.

    Examples
    --------
    >>> temperature = Interval(10, 30, levels=64)
    >>> temperature[0], temperature.place(21.3), temperature[36]
    (10.16, 36, 21.41)

    """

    def __init__(self, low: float, high: float, levels: int, *, clips: bool = False) -> None:
        self.low, self.high, self.levels, self.clips = float(low), float(high), levels, clips
        self._step = (self.high - self.low) / levels
        self._digits = 1 - math.floor(math.log10(self._step))  # the error is at most a twentieth of a level

    def __len__(self) -> int:
        return self.levels

    def __getitem__(self, place: Any) -> Any:
        """Return the label of a level."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(self.levels))]
        if not 0 <= place < self.levels:
            raise IndexError(place)
        return round(self.low + (place + 0.5) * self._step, self._digits) + 0.0  # which turns -0 into 0

    def place(self, value: object) -> int:
        """Return the level that a value falls into."""
        number = value if type(value) is float else _float(value)
        if number != number:
            raise Unread("is not a number")
        margin = CLOSE * (self.high - self.low)
        if not (self.clips or self.low - margin <= number <= self.high + margin):
            raise Unread(f"lies outside {self.low:g} to {self.high:g}; clip it, or declare wider bounds")
        inside = min(max(number, self.low), self.high)
        return min(int((inside - self.low) / self._step), self.levels - 1)

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"low": self.low, "high": self.high, "levels": self.levels, "clips": self.clips}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interval) and self.document() == other.document()

    def __hash__(self) -> int:
        return hash((self.low, self.high, self.levels))

    def __repr__(self) -> str:
        return f"Interval({self.low!r}, {self.high!r}, levels={self.levels}, clips={self.clips})"


class Grid(Sequence[Label]):
    """All tuples with one label of each part; the first part changes fastest.

    ``ordered`` says of each part whether neighbouring labels are alike, as those of a measurement.

    Examples
    --------
    >>> grid = Grid(range(3), ("a", "b"))
    >>> len(grid), grid[4], grid.number((1, "b")), (3, "a") in grid
    (6, (1, 'b'), 4, False)
    >>> list(Grid(range(10**6), range(10**6)))
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: number of labels: 1000000000000; too many for a table; use an agent with features,
    such as linear, or task.bins

    """

    def __init__(self, *parts: Sequence[Label], ordered: Sequence[bool] = ()) -> None:
        require(len(parts) <= MOST_PARTS, "coordinates", len(parts), f"give at most {MOST_PARTS}")
        self.parts = tuple(parts)
        self.ordered = tuple(ordered) or (False,) * len(parts)
        self.sizes = tuple(size_of(part) for part in parts)
        self.size = math.prod(self.sizes)
        """The number of labels; ``len`` returns at most what Python can count."""
        self._kind: Any = Point if any(isinstance(part, Interval) for part in parts) else tuple
        self._finders: list[Any] = [_finder(part) for part in parts]

    @property
    def is_wide(self) -> bool:
        """Whether there are more labels than a 64-bit integer can number."""
        return self.size > MOST_NUMBERED

    def __len__(self) -> int:
        return min(self.size, sys.maxsize)

    def __getitem__(self, number: Any) -> Any:
        """Return the label of a number, or the labels of a short slice."""
        if isinstance(number, slice):
            return tuple(self[each] for each in range(*number.indices(len(self))))
        places = self.places(number)
        return self._kind(part[place] for part, place in zip(self.parts, places, strict=True))

    def __iter__(self) -> Iterator[Label]:
        """Yield every label; raise an error if there are too many for a table."""
        remedy = "too many for a table; use an agent with features, such as linear, or task.bins"
        if self.size > 1_000_000:
            raise InputError("number of labels", self.size, remedy)
        return map(self.__getitem__, range(self.size))

    def places(self, number: int) -> list[int]:
        """Return, for the label with this number, the index of each of its parts."""
        if not 0 <= number < self.size:
            raise IndexError(number)
        number, places = int(number), []
        for size in self.sizes:
            number, place = divmod(number, size)
            places.append(place)
        return places

    def number(self, label: Any) -> int:
        """Return the number of a label; a point is first read as a label.  Raise KeyError if there is none."""
        parts = label.tolist() if hasattr(label, "tolist") else label
        if not isinstance(parts, list | tuple):
            raise Unread(f"is no list of {len(self.parts)} numbers")
        if len(parts) != len(self.parts):
            raise Unread(f"has length {len(parts)}; give {len(self.parts)} numbers")
        places = [self._place(part, place) for place, part in enumerate(parts)]
        number = 0
        for place, size in zip(reversed(places), reversed(self.sizes), strict=True):
            number = number * size + place
        return number

    def _place(self, part: Any, place: int) -> int:
        try:
            return self._finders[place](part)  # type: ignore[no-any-return]
        except Unread as error:
            inner = isinstance(self.parts[place], Grid) or len(self.parts) == 1
            raise error if inner else Unread(f"coordinate {place + 1} {error.args[0]}") from None

    def __contains__(self, label: object) -> bool:
        try:
            self.number(label)
        except (KeyError, TypeError):
            return False
        return True

    def document(self) -> dict[str, Any]:
        """Return it as JSON, for :func:`read_grid`."""
        return {"parts": [_document(part) for part in self.parts], "ordered": list(self.ordered)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and (self.parts, self.ordered) == (other.parts, other.ordered)

    def __hash__(self) -> int:
        return hash((self.parts, self.ordered))

    def __repr__(self) -> str:
        return f"Grid({', '.join(map(repr, self.parts))}, ordered={self.ordered})"


@explained("el.Box(low=[...], high=[...])")
class Box(Grid):
    """Observations that are measurements: one number per coordinate, from ``low`` to ``high``.

    Declare it as the ``observations`` of a durable agent (``everlearn.live``).  Each coordinate has up to
    1024 levels, and a measurement is kept as the middle of its level.  So a label is a tuple of numbers.

    Parameters
    ----------
    low:
        the least value of each coordinate
    high:
        the greatest value of each coordinate

    Examples
    --------
    A temperature from 10 to 30 degrees and a load from 0 to 1:

    >>> box = Box(low=[10, 0], high=[30, 1])
    >>> box[box.number([21.3, 0.5])]
    (21.299, 0.50049)
    >>> [25.0, 1.5] in box
    False

    """

    def __init__(self, low: Sequence[float], high: Sequence[float]) -> None:
        self.low, self.high = _ends("low", low), _ends("high", high)
        require(len(self.low) == len(self.high), "high", list(self.high), "give as many numbers as in low")
        require(0 < len(self.low) <= MOST_PARTS, "low", list(self.low), f"give from 1 to {MOST_PARTS} numbers")
        levels = levels_for(len(self.low))
        for place, (least, greatest) in enumerate(zip(self.low, self.high, strict=True), 1):
            finite = math.isfinite(greatest - least)
            fine = finite and greatest - least > 16 * levels * math.ulp(max(abs(least), abs(greatest)))
            remedy = f"coordinate {place} must be finite, and greater than {least:g} by more than rounding errors"
            require(fine, "high", greatest, remedy)
        ends = zip(self.low, self.high, strict=True)
        parts: Any = [Interval(least, greatest, levels) for least, greatest in ends]
        super().__init__(*parts, ordered=[True] * len(parts))

    def document(self) -> dict[str, Any]:
        """Return it as JSON, for :func:`read_grid`."""
        return {"low": list(self.low), "high": list(self.high)}

    def __repr__(self) -> str:
        return f"Box(low={list(self.low)}, high={list(self.high)})"


def read_grid(document: Mapping[str, Any]) -> Grid:
    """Return the grid of a document.

    Examples
    --------
    >>> read_grid({"low": [0], "high": [1]})
    Box(low=[0.0], high=[1.0])

    """
    if "parts" not in document:
        require(set(document) == {"low", "high"}, "observations", dict(document), "give low and high, as in el.Box")
        return Box(document["low"], document["high"])
    return Grid(*map(_read_part, document["parts"]), ordered=document["ordered"])


def size_of(labels: Sequence[Label]) -> int:
    """Return the number of labels of a set, which may be more than ``len`` can return."""
    return labels.size if isinstance(labels, Grid) else len(labels)


def _float(value: Any) -> float:
    """Return a number of Python or NumPy as a float; neither a text nor True is one."""
    plain = value.item() if getattr(value, "shape", None) == () else value
    if isinstance(plain, bool | str | bytes) or not hasattr(plain, "__float__"):
        raise Unread("is not a number")
    try:
        return float(plain)
    except OverflowError:
        return math.inf if plain > 0 else -math.inf
    except (TypeError, ValueError):
        raise Unread("is not a number") from None


def _ends(name: str, given: Any) -> tuple[float, ...]:
    remedy = "give a list of numbers, one for each coordinate"
    given = given.tolist() if hasattr(given, "tolist") else given
    require(isinstance(given, list | tuple), name, given, remedy)
    given = [each.item() if getattr(each, "shape", None) == () else each for each in given]
    for each in given:
        fine = isinstance(each, int | float) and not isinstance(each, bool) and abs(each) <= 1e300
        require(fine, name, given, f"{remedy}, each finite")
    return tuple(float(each) + 0.0 for each in given)  # which turns -0 into 0


def _finder(part: Any) -> Any:
    """Return a function from a label of a part to its place."""
    if isinstance(part, Grid):
        return part.number
    if isinstance(part, Interval):
        return part.place
    if isinstance(part, range):
        return _whole_number(part)
    return {label: number for number, label in enumerate(part)}.__getitem__


def _whole_number(part: range) -> Any:
    def place(value: Any) -> int:
        if type(value) is not int or value not in part:
            raise Unread(f"is not a whole number from {part[0]} to {part[-1]}")
        return part.index(value)

    return place


def _document(part: Any) -> Any:
    if isinstance(part, Grid | Interval):
        return part.document()
    return {"start": part.start, "stop": part.stop} if isinstance(part, range) else list(part)


def _read_part(document: Any) -> Any:
    if not isinstance(document, Mapping):
        return tuple(document)
    if "start" in document:
        return range(document["start"], document["stop"])
    return Interval(**document) if "levels" in document else read_grid(document)


class Numbers:
    """The number of each label of a set, found in a dict or computed by a grid."""

    def __init__(self, labels: Sequence[Label]) -> None:
        grid = labels if isinstance(labels, Grid) else None
        self._find: Any = grid.number if grid else {label: number for number, label in enumerate(labels)}.__getitem__

    def __getitem__(self, label: Label) -> int:
        """Return the number of a label; raise KeyError if there is none."""
        return self._find(label)  # type: ignore[no-any-return]
