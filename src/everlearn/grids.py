"""Grids: sets of labels that are too large to list, of which each is a tuple with a part for every coordinate.

A set of aleatoric states or observations is usually a tuple of labels.  A grid takes its place where the labels are all
combinations of a few levels per coordinate: it has a length, gives the label of a number and the number of a label, and
never lists them.  So a state of 2 ** 40 is a number in compiled code like any other.  A durable agent
(``everlearn.live``) records the list of its states, so it refuses a grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from everlearn.errors import InputError, require
from everlearn.protocol import Label

MOST_LABELS = 1 << 62
"""The most labels of a grid: their numbers are integers of 64 bits."""


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
        self.parts = tuple(parts)
        self.ordered = tuple(ordered) or (False,) * len(parts)
        self.sizes = tuple(len(part) for part in parts)
        self._length = math.prod(self.sizes)
        require(self._length <= MOST_LABELS, "number of labels", self._length, f"give at most {MOST_LABELS:,}")
        self._numbers: list[Any] = [
            part if isinstance(part, Grid | range) else {label: number for number, label in enumerate(part)}
            for part in parts
        ]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: Any) -> Any:
        """Return the label of a number, or the labels of a short slice."""
        if isinstance(number, slice):
            return tuple(self[each] for each in range(*number.indices(self._length)))
        if not 0 <= number < self._length:
            raise IndexError(number)
        label = []
        for part, size in zip(self.parts, self.sizes, strict=True):
            number, place = divmod(int(number), size)
            label.append(part[place])
        return tuple(label)

    def __iter__(self) -> Iterator[Label]:
        """Yield every label, if there are few; otherwise a table of them was wanted, which cannot be."""
        remedy = "too many for a table; use an agent with features, such as linear, or task.bins"
        if self._length > 1_000_000:
            raise InputError("number of labels", self._length, remedy)
        return map(self.__getitem__, range(self._length))

    def number(self, label: Label) -> int:
        """Return the number of a label; raise KeyError if it is not one."""
        if not isinstance(label, tuple) or len(label) != len(self.parts):
            raise KeyError(label)
        number = 0
        for part, size, finder in zip(reversed(label), reversed(self.sizes), reversed(self._numbers), strict=True):
            if isinstance(finder, range):
                if type(part) is not int or part not in finder:
                    raise KeyError(label)
                place = finder.index(part)
            else:
                place = finder.number(part) if isinstance(finder, Grid) else finder[part]
            number = number * size + place
        return number

    def __contains__(self, label: object) -> bool:
        try:
            self.number(label)  # type: ignore[arg-type]  # which is checked
        except (KeyError, TypeError):
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and (self.parts, self.ordered) == (other.parts, other.ordered)

    def __hash__(self) -> int:
        return hash((self.parts, self.ordered))

    def __repr__(self) -> str:
        return f"Grid({', '.join(map(repr, self.parts))}, ordered={self.ordered})"


class Numbers:
    """The number of each label of a set, found in a dict or computed by a grid."""

    def __init__(self, labels: Sequence[Label]) -> None:
        grid = labels if isinstance(labels, Grid) else None
        self._find: Any = grid.number if grid else {label: number for number, label in enumerate(labels)}.__getitem__

    def __getitem__(self, label: Label) -> int:
        """Return the number of a label; raise KeyError if there is none."""
        return self._find(label)  # type: ignore[no-any-return]
