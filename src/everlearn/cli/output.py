"""Print results: text and tables for people, JSON for programs.

A text is made of parts; a part is a string, or a string and its style.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from everlearn.cli.options import documents

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDE = 10_000
"""The width of a table in a file or a pipe, in characters: its lines are not broken."""

Part: TypeAlias = "str | tuple[str, str]"
Cell: TypeAlias = "Part | list[Part]"


def print_json(document: Any) -> None:
    """Print one JSON document."""
    documents().write(json.dumps(document, indent=1, allow_nan=False, default=str) + "\n")


def console(*, wide: bool = False) -> Console:
    """Return a console on standard output; ``wide`` leaves lines whole if that is a file or a pipe."""
    from rich.console import Console

    unlimited = wide and not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, soft_wrap=False, width=WIDE if unlimited else None)


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
    text: str = "",
    first: Mapping[str, Any] | None = None,
) -> None:
    """Print a table; all commands use this one, so that their tables look alike.

    ``left`` columns are aligned to the left, and so is the column ``text``; others hold numbers.  ``first`` holds
    settings of the first column.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title and Text(title, "bold"),
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    for number, column in enumerate(columns):
        settings = {"justify": "left" if number < left or column == text else "right", "overflow": "fold"}
        table.add_column(Text(column), **(settings | dict(first or {}) if number == 0 else settings))
    for row in rows:
        table.add_row(*map(_assemble, row))
    console(wide=True).print(table)


def print_pairs(rows: Iterable[Sequence[Cell]], *, right: bool = False, apart: bool = False) -> None:
    """Print names, or numbers if ``right`` is set, and what they mean; ``apart`` leaves an empty line after each."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, int(apart), 0))
    table.add_column(justify="right" if right else "left", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*map(_assemble, row))
    console().print(table)


def _assemble(cell: Cell) -> Text:
    from rich.text import Text

    return Text.assemble(*(cell if isinstance(cell, list) else [cell]))


def estimate(mean: str, low: str | None, high: str | None) -> Cell:
    """Return a cell with a mean, and its interval below if there is one."""
    return mean if low is None else [mean, (f"\n{low}..{high}", "dim")]
