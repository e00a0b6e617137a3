"""Windows by name, as in ``window:3`` and ``window:3+actions``."""

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
