"""Writing a figure to a file: whole or not at all, and the same bytes for the same data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everlearn.errors import InputError
from everlearn.figures.style import house_style
from everlearn.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""What is written beside the picture: never the date, which would make each file another."""


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as its suffix says, as PNG, SVG or PDF, and return where it is.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> folder = Path(tempfile.mkdtemp())
    >>> one, other = (save_figure(figure, folder / name) for name in ("one.svg", "other.svg"))
    >>> one.read_bytes() == other.read_bytes()
    True

    """
    target, kind = Path(path), figure_kind(path)
    with house_style(), replacing(target) as file:
        figure.savefig(file, format=kind, metadata=_METADATA[kind])
    return target


def figure_kind(path: str | os.PathLike[str], argument: str = "path") -> str:
    """Return the kind of picture that the suffix of a path stands for, or refuse another.

    Examples
    --------
    >>> figure_kind("curve.PNG")
    'png'

    """
    kind = Path(path).suffix[1:].lower()
    if kind not in _METADATA:
        raise InputError(argument, str(path), f"end it in one of .{', .'.join(_METADATA)}")
    return kind
