"""HTML for notebooks: tables and pictures, in which every text is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "", notes: Iterable[str] = ()) -> str:
    """Return a table with a title above and notes below it; line breaks in cells are kept."""
    lines = [_row("th", columns)] if any(columns) else []
    lines += [_row("td", row) for row in rows]
    heading = [_paragraph(title)] if title else []
    return "".join([*heading, "<table>", *lines, "</table>", *map(_paragraph, notes)])


def picture(png: bytes, description: str) -> str:
    """Return a picture, embedded in the HTML."""
    return f'<img src="data:image/png;base64,{base64.b64encode(png).decode()}" alt="{escape(description)}">'


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _row(kind: str, cells: Iterable[object]) -> str:
    inner = "".join(f"<{kind}>{escape(str(cell)).replace(chr(10), '<br>')}</{kind}>" for cell in cells)
    return f"<tr>{inner}</tr>"
