"""Figures of many panels: their layout, their titles, and one legend for all of them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_INCHES_PER_LETTER = 0.078
"""The average width of a letter at the size of titles and legends."""

_INCHES_PER_HANDLE = 0.8
"""The width of the handle before a label in a legend, and of the gap between columns."""


_INCHES_PER_LINE = 0.2
"""The height of a line of a legend."""

_INCHES_PER_FRAME = 0.17
"""The height of what surrounds those lines."""

_LEAST_FIGURE = 5.0
"""A figure is at least this many times as tall as its legend."""

MOST_IN_LEGEND = 6
"""More curves than this are named at their ends."""


def panels(count: int, width: float, height: float, *, most_columns: int = 5, shared: bool = False) -> list[Axes]:
    """Return the axes of ``count`` panels, row by row, each about ``width`` by ``height`` inches.

    If ``shared``, they have one horizontal axis.  The figure need not be closed: pyplot does not hold it.
    """
    from matplotlib.figure import Figure

    columns = min(most_columns, math.ceil(math.sqrt(count)))
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    grid: list[Axes] = figure.subplots(rows, columns, sharex=shared, squeeze=False).ravel().tolist()
    for empty in grid[count:]:
        empty.remove()
    for axes in grid[:count]:
        axes.tick_params(labelsize=9)
    return grid[:count]


def figure_of(axes: Axes) -> Figure:
    """Return the figure that axes belong to."""
    return cast("Figure", axes.get_figure(root=True))


def name_axes(grid: Sequence[Axes], horizontal: str, vertical: str) -> None:
    """Name the axes that panels share: below the lowest panel of each column, beside the first of each row."""
    columns = _columns(grid[0])
    for place, axes in enumerate(grid):
        if place % columns == 0:
            axes.set_ylabel(vertical, fontsize=10)
        if place + columns >= len(grid):
            axes.set_xlabel(horizontal, fontsize=10)
            axes.tick_params(labelbottom=True)  # even if its row is not the last


def entitle(axes: Axes, title: str) -> None:
    """Set the title of a panel, wrapped to its width."""
    letters = int(0.8 * figure_of(axes).get_figwidth() / _columns(axes) / _INCHES_PER_LETTER)
    axes.set_title(textwrap.fill(title, letters), fontsize=10)


def explain(figure: Figure, entries: Sequence[tuple[str, Artist]], note: str) -> None:
    """Put one legend below all panels, headed by a note, and make the figure taller to fit it."""
    width, height = figure.get_size_inches()
    whole = int((width - _INCHES_PER_HANDLE) / _INCHES_PER_LETTER)
    labels = [textwrap.fill(label, whole) for label, _ in entries]
    letters = max((len(line) for label in labels for line in label.splitlines()), default=1)
    columns = max(1, min(len(labels), int(width / (letters * _INCHES_PER_LETTER + _INCHES_PER_HANDLE))))
    header = textwrap.fill(note, whole)
    lines = math.ceil(len("\n".join(labels).splitlines()) / columns) + len(header.splitlines())
    legend = _INCHES_PER_LINE * lines
    figure.set_size_inches(width, max(height + legend, _LEAST_FIGURE * (legend + _INCHES_PER_FRAME)))
    figure.legend(
        [handle for _, handle in entries],
        labels,
        loc="outside lower center",
        ncols=columns,
        fontsize=10,
        title=header,
        title_fontsize=10,
        handlelength=3.4,
    )


def label_ends(axes: Axes, curves: Sequence[tuple[str, Line2D]]) -> None:
    """Write the name of each curve beside its end, in its colour, moved up or down so that none lies on another."""
    gap = 13.0 / (72 * axes.get_position().height * figure_of(axes).get_figheight())
    ends = []
    for name, line in curves:
        finite = [point for point in line.get_xydata().tolist() if math.isfinite(point[1])]  # type: ignore[union-attr]
        if finite:
            height = axes.transAxes.inverted().transform(axes.transData.transform(finite[-1]))[1]
            ends.append((float(height), name, line))
    placed: list[float] = []
    for height, _, _ in sorted(ends, key=lambda end: end[:2]):
        placed.append(max(height, placed[-1] + gap if placed else 0.0))
    top = 1.0
    for place in reversed(range(len(placed))):
        placed[place] = min(placed[place], top)
        top = placed[place] - gap
    for height, (_, name, line) in zip(placed, sorted(ends, key=lambda end: end[:2]), strict=True):
        sample: dict[str, Any] = {"color": line.get_color(), "linestyle": line.get_linestyle(), "linewidth": 1.5}
        sample |= {"marker": line.get_marker(), "markersize": 4.5, "markevery": [1], "clip_on": False}
        axes.plot([1.02, 1.05, 1.08], [height] * 3, **sample, transform=axes.transAxes)
        axes.text(1.095, height, name, transform=axes.transAxes, va="center", fontsize=9)


def plain_ticks(axis: Axis, low: float, high: float) -> None:
    """Number a logarithmic axis with plain numbers, few enough that none lies on another."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 30 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _columns(axes: Axes) -> int:
    return axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]  # every panel is in a grid
