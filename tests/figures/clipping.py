"""Whether all that is written on a figure can be read: nothing is cut off, and no two labels overlap."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

LEEWAY = 1.0
"""Pixels by which letters may differ from their boxes."""


def check_readable(figure: Figure) -> None:
    """Fail if anything leaves the figure, or if titles, names of axes and the legend run into each other."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = figure.get_tightbbox(canvas.get_renderer())
    width, height = figure.get_size_inches()
    margin = LEEWAY / figure.dpi
    assert min(drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1) > -margin, (drawn, width, height)
    for one, other in combinations(_written(figure), 2):
        apart = one.get_window_extent().padded(-LEEWAY), other.get_window_extent().padded(-LEEWAY)
        assert not apart[0].overlaps(apart[1]), (one, other)


def _written(figure: Figure) -> list[Any]:
    labels = [label for axes in figure.axes for label in (axes.title, axes.xaxis.label, axes.yaxis.label)]
    return [*figure.legends, *(label for label in labels if label.get_text())]
