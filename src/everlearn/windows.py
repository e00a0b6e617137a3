"""Aleatoric states by name, as in ``window:3``, ``window:3+actions`` and ``trace:0.5:4``."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_WINDOW = 100
"""The longest window that can be asked for by name."""

_WINDOW = re.compile(r"window:0*(\d+)(\+actions)?")


class Window(NamedTuple):
    """A window: how many observations it keeps, and whether it keeps the actions before them."""

    length: int
    actions: bool

    @classmethod
    def read(cls, text: object) -> Window | None:
        """Read the name of a window; return None if it is not one."""
        parts = _WINDOW.fullmatch(text) if isinstance(text, str) else None
        if parts is None:
            return None
        return cls(int(parts[1][:9]), parts[2] is not None)  # more digits would be too long as well


_KEPT = re.compile(r"(actions)(?::(\d{1,9}))?|(last-change|belief):(\d{1,9})|(trace):(\d(?:\.\d{1,9})?):(\d{1,9})")


class Kept(NamedTuple):
    """An aleatoric state that keeps something: its kind, a whole number, and the decay of a trace."""

    kind: str
    number: int
    decay: float = 0.0

    @classmethod
    def read(cls, text: object) -> Kept | None:
        """Read the name of one; return None if it is not one."""
        parts = _KEPT.fullmatch(text) if isinstance(text, str) else None
        if parts is None:
            return None
        if parts[5]:
            return cls(parts[5], int(parts[7]), float(parts[6]))
        return cls(parts[1] or parts[3], int(parts[2] or parts[4] or 1))


def is_view(text: object) -> bool:
    """Return whether a text names an aleatoric state that contains no code of a user's."""
    return text in ("natural", "memory") or Window.read(text) is not None or Kept.read(text) is not None
