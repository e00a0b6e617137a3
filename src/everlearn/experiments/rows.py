"""Rows of a table, which print as one."""

from __future__ import annotations

from typing import Any


class Rows(list[dict[str, Any]]):
    """Dictionaries with the same keys; printed, they are a table.

    Examples
    --------
    >>> print(Rows([{"agent": "smooth", "mean": 0.36514, "settings": {}}, {"agent": "always", "mean": None}]))
    agent   mean
    smooth  0.3651
    always  -

    """

    def __str__(self) -> str:
        """Return aligned text, without columns that are empty or the same everywhere and lead nowhere."""
        keys = [key for key in (self[0] if self else ()) if any(row.get(key) not in (None, {}, "") for row in self)]
        lines = [keys, *([_shown(row.get(key)) for key in keys] for row in self)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(keys))]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )


def _shown(value: Any) -> str:
    if value is None or value == {}:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={entry}" for key, entry in value.items())
    return str(value)
