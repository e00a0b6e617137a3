"""Print results: text and tables for people, JSON for programs.

A text is made of parts; a part is a string, or a string and its style.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from everlearn.cli.options import documents

if TYPE_CHECKING:
    from rich.console import Console

Part: TypeAlias = "str | tuple[str, str]"
Cell: TypeAlias = "Part | list[Part]"


def print_json(document: Any) -> None:
    """Print one JSON document."""
    documents().write(json.dumps(document, indent=1, allow_nan=False, default=str) + "\n")


def console() -> Console:
    """Return a console on standard output."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def say(*parts: Part, style: str = "", wrap: bool = False) -> None:
    """Print a text; its lines are broken at the width of the terminal only if ``wrap`` is set."""
    from rich.text import Text

    console().print(Text.assemble(*parts, style=style), soft_wrap=not wrap)


def say_paths(kind: str, paths: Iterable[Path]) -> None:
    """Print where files are, one per line."""
    for path in paths:
        say(f"{kind}: {path.resolve()}")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    title: str | None = None,
    left: int = 1,
    first: Mapping[str, Any] | None = None,
    **style: Any,
) -> None:
    """Print a table, with ``left`` columns aligned to the left; ``first`` holds settings of the first column."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    style = style or {"box": SIMPLE_HEAD, "pad_edge": False, "collapse_padding": True}
    table = Table(title=title and Text(title, "bold"), title_justify="left", **style)
    for number, column in enumerate(columns):
        settings = {"justify": "left" if number < left else "right", "overflow": "fold"}
        table.add_column(Text(column), **(settings | dict(first or {}) if number == 0 else settings))
    for row in rows:
        table.add_row(*(Text.assemble(*(cell if isinstance(cell, list) else [cell])) for cell in row))
    console().print(table)


def estimate(mean: str, low: str | None, high: str | None) -> Cell:
    """Return a cell with a mean, and its interval below if there is one."""
    return mean if low is None else [mean, (f"\n{low}..{high}", "dim")]
