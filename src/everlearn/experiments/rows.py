"""Rows of a table, which print as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from everlearn import notebook


class Rows(list[dict[str, Any]]):
    """Dictionaries with the same keys, which print as a table.

    Examples
    --------
    >>> Rows([{"agent": "smooth", "mean": 0.36514, "settings": {}}, {"agent": "always", "mean": None}])
    agent   mean
    smooth  0.3651
    always  -

    """

    def __repr__(self) -> str:
        lines = [self._keys(), *self._cells()]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return notebook.table(self._keys(), self._cells())

    def html(self, key: str, title: str, notes: Iterable[str] = ()) -> str:
        """Return a table for a notebook, with one column per value of ``key``, and means and intervals as cells."""
        columns = list(dict.fromkeys(row[key] for row in self))
        cells: dict[tuple[str, ...], dict[Any, str]] = {}
        for row in self:
            label = row["task"], row["agent"] + (f"\n{_format(row['settings'])}" if row["settings"] else "")
            interval = "" if row["low"] is None else f"\n{row['low']:.4g}..{row['high']:.4g}"
            cells.setdefault(label, {})[row[key]] = f"{row['mean']:.4g}{interval}"
        rows = [[*label, *(by_key.get(column, "-") for column in columns)] for label, by_key in cells.items()]
        return notebook.table(["task", "agent", *columns], rows, title, notes)

    def _keys(self) -> list[str]:
        return [key for key in (self[0] if self else ()) if any(row.get(key) not in (None, {}, "") for row in self)]

    def _cells(self) -> list[list[str]]:
        keys = self._keys()
        return [[_format(row.get(key)) for key in keys] for row in self]


def _format(value: Any) -> str:
    if value is None or value == {}:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={entry}" for key, entry in value.items())
    return str(value)
