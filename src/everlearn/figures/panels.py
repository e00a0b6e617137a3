"""A figure of many panels: how they are laid out, titled, and explained by one legend for all of them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCHES_A_LETTER = 0.078
"""The width of a letter at the size of titles and legends, on average."""

_INCHES_A_HANDLE = 0.8
"""The width of what stands before a label in a legend, and between columns."""


def panels(count: int, width: float, height: float, *, most_columns: int = 5, shared: bool = False) -> list[Axes]:
    """Return the axes of as many panels, row by row, each of about the size given in inches.

    ``shared`` says that they have one horizontal axis.  Pyplot does not know the figure: it need not be closed.

    Examples
    --------
    >>> axes = panels(5, 3.0, 2.4)
    >>> len(axes), axes[0].figure.get_size_inches().tolist()
    (5, [9.0, 4.8])

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


def name_axes(grid: Sequence[Axes], horizontal: str, vertical: str) -> None:
    """Name the axes of panels that share them: below the lowest of each column, beside the first of each row.

    Examples
    --------
    >>> grid = panels(3, 3.0, 2.4, shared=True)
    >>> name_axes(grid, "time step", "regret")
    >>> [(axes.get_xlabel(), axes.get_ylabel()) for axes in grid]
    [('', 'regret'), ('time step', ''), ('time step', 'regret')]

    """
    columns = _columns(grid[0])
    for place, axes in enumerate(grid):
        if place % columns == 0:
            axes.set_ylabel(vertical, fontsize=10)
        if place + columns >= len(grid):
            axes.set_xlabel(horizontal, fontsize=10)
            axes.tick_params(labelbottom=True)  # also where there is no panel below it to bear them


def entitle(axes: Axes, title: str) -> None:
    """Give a panel its title, on as many lines as its width asks for.

    Examples
    --------
    >>> axes = panels(1, 2.0, 2.0)[0]
    >>> entitle(axes, "a title that is too long for one line")
    >>> axes.get_title().splitlines()
    ['a title that is too', 'long for one line']

    """
    figure = axes.get_figure(root=True)
    letters = int(0.8 * figure.get_figwidth() / _columns(axes) / _INCHES_A_LETTER)  # type: ignore[union-attr]
    axes.set_title(textwrap.fill(title, letters), fontsize=10)


def explain(figure: Figure, entries: Sequence[tuple[str, Artist]], note: str) -> None:
    """Put one legend below all panels, headed by a note, and make the figure taller by what the legend needs.

    Examples
    --------
    >>> axes = panels(1, 4.0, 3.0)[0]
    >>> explain(axes.figure, [("smooth", axes.plot([1, 2])[0])], "mean over 20 runs")
    >>> [text.get_text() for text in axes.figure.legends[0].get_texts()]
    ['smooth']

    """
    width, height = figure.get_size_inches()
    whole = int((width - _INCHES_A_HANDLE) / _INCHES_A_LETTER)
    labels = [textwrap.fill(label, whole) for label, _ in entries]
    letters = max(len(line) for label in labels for line in label.splitlines())
    columns = max(1, min(len(labels), int(width / (letters * _INCHES_A_LETTER + _INCHES_A_HANDLE))))
    header = textwrap.fill(note, whole)
    lines = math.ceil(len("\n".join(labels).splitlines()) / columns) + len(header.splitlines())
    figure.set_size_inches(width, height + 0.2 * lines)
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


def _columns(axes: Axes) -> int:
    return axes.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]  # every panel is in a grid
