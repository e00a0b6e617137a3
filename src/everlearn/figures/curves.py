"""Learning curves: the cumulative average reward of one result over logarithmic time."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

from everlearn.errors import UnknownName
from everlearn.figures.panels import explain, figure_of
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, REFERENCE_STYLES, house_style
from everlearn.results.references import called

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from everlearn.results.result import Result

SAME = 1e-9
"""Lines closer than this, relative to their size, are drawn as one."""


def picture(result: Result, width: float = 7.2, height: float = 3.6) -> Figure:
    """Return a figure of one result with the lines known for its task.  It need not be closed: pyplot does not hold it.

    Examples
    --------
    >>> import everlearn as el
    >>> figure = picture(el.run("riverswim", steps=10))
    >>> [text.get_text().partition(":")[0] for text in figure.legends[0].get_texts()][:2]
    ['versatile', 'optimum over all policies = best over aleatoric states = always right']

    """
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(width, height))
        axes = learning_curve(result, axes=figure.add_subplot())
        axes.get_legend().remove()  # type: ignore[union-attr]  # it was just made
        _put_legend_below(axes)
        name_result(axes, result)
    return figure


def thumbnail(result: Result) -> bytes:
    """Return a small PNG picture of a result with the lines known for its task."""
    file = io.BytesIO()
    with house_style():
        picture(result, 6.4, 3.2).savefig(file, format="png", dpi=90)
    return file.getvalue()


def learning_curve(result: Result, *, reference: object = None, axes: Axes | None = None) -> Axes:
    """Draw one result with all lines known for its task, or only the named one.

    The band is the mean over runs, plus and minus two standard errors.  On axes that already have curves, the curve
    gets another colour, and lines that are already there are not drawn again.
    """
    import matplotlib.pyplot as plt

    lines = dict(result.references)
    if reference is not None:
        if not isinstance(reference, str) or reference not in result.references:
            raise UnknownName("reference", reference, lines)
        lines = {name: value for name, value in lines.items() if called(name, reference)}
    with house_style():
        given, axes = axes, axes or plt.figure().add_subplot()
        drawn = axes.get_legend_handles_labels()[1]
        colour = next_colour(axes)
        mean, error = result.average_reward, result.standard_error
        axes.plot(result.times, mean, color=colour, label=result.label, linewidth=1.8)
        if result.runs > 1:
            axes.fill_between(result.times, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0)
        new = [(name, value) for name, value in _merge(lines).items() if name not in drawn]
        for (name, value), style in zip(new, cycle(REFERENCE_STYLES), strict=False):
            axes.axhline(value, color=REFERENCE_COLOUR, linestyle=style, linewidth=1.2, label=name)
        axes.set_xscale("log")
        axes.set_xlabel("time step")
        axes.set_ylabel("cumulative average reward")
        put_legend(axes, below=given is None)
        if given is None:
            name_result(axes, result)
    return axes


def name_result(axes: Axes, result: Result) -> None:
    """Write above the axes which task was run, how often and for how long."""
    runs = f"{result.runs:,} run{'s' if result.runs > 1 else ''}"
    axes.set_title(f"{result.task}, {runs} of {result.steps:,} steps", fontsize=10)


def next_colour(axes: Axes) -> str:
    """Return the colour of the next curve on these axes."""
    curves = sum(line.get_color() in PALETTE and line.get_linestyle() == "-" for line in axes.get_lines())
    return PALETTE[curves % len(PALETTE)]


def put_legend(axes: Axes, *, below: bool, note: str = "") -> None:
    """Put the legend below the axes if asked, or if there is one already; otherwise where there is room on them."""
    legends = figure_of(axes).legends
    if not below and not legends:
        axes.legend(loc="best")
        return
    for legend in list(legends):
        legend.remove()
    _put_legend_below(axes, note)


def _merge(lines: Mapping[str, float]) -> dict[str, float]:
    """Return the heights of lines by label; lines of the same height get one label."""
    groups: dict[float, list[str]] = {}
    for name, value in lines.items():
        height = next((known for known in groups if math.isclose(known, value, rel_tol=SAME, abs_tol=SAME)), value)
        groups.setdefault(height, []).append(name)
    return {f"{' = '.join(names)}: {height:.4g}": height for height, names in groups.items()}


def _put_legend_below(axes: Axes, note: str = "") -> None:
    """Put the legend below the axes, so that no curve crosses it."""
    handles, labels = axes.get_legend_handles_labels()
    note = note or ("bands: two standard errors" if axes.collections else "one run, so no band")
    explain(figure_of(axes), list(zip(labels, handles, strict=True)), note)
