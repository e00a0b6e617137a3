"""Write a figure to a file atomically; the same data give the same bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.errors import InputError
from everlearn.figures.style import house_style
from everlearn.files import expanded, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Metadata by file format, without dates, which would make every file different."""


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG, SVG or PDF, by its suffix, and return its path."""
    target, kind = expanded(path), figure_kind(path)
    with house_style(), replacing(target) as file:
        figure.savefig(file, format=kind, metadata=_METADATA[kind])
    return target


def figure_kind(path: str | os.PathLike[str], argument: str = "path") -> str:
    """Return the file format that the suffix of a path stands for; raise if it is none of ours."""
    kind = Path(path).suffix[1:].lower()
    if kind not in _METADATA:
        raise InputError(argument, str(path), f"end it in one of .{', .'.join(_METADATA)}")
    return kind
