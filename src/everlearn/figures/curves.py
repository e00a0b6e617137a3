"""Learning curves: cumulative average reward over logarithmic time."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from everlearn.errors import UnknownName
from everlearn.figures.panels import explain
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, REFERENCE_STYLES, house_style
from everlearn.results.references import called

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from everlearn.results.result import Result


SAME = 1e-9
"""Lines closer than this, relative to their size, are one line."""


def learning_curve(result: Result, *, reference: str | None = None, axes: Axes | None = None) -> Axes:
    """Draw one result with the lines known for its task, or the one that is named."""
    lines = dict(result.references)
    if reference is not None:
        if reference not in result.references:
            raise UnknownName("reference", reference, lines)
        lines = {name: value for name, value in lines.items() if called(name, reference)}
    return learning_curves({result.label: result}, lines, axes=axes)


def picture(result: Result, width: float = 7.2, height: float = 3.6) -> Figure:
    """Return a figure of one result with the lines known for its task; pyplot does not know it: it need not be closed.

    Examples
    --------
    >>> import everlearn as el
    >>> figure = picture(el.run("riverswim", steps=10))
    >>> [text.get_text().partition(":")[0] for text in figure.legends[0].get_texts()][:2]
    ['growing-horizon, practical', 'optimum over all policies = best over aleatoric states = always right']

    """
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(width, height))
        axes = learning_curve(result, axes=figure.add_subplot())
        axes.get_legend().remove()  # type: ignore[union-attr]  # it was just made
        _explain(axes)
    return figure


def thumbnail(result: Result) -> bytes:
    """Return a small picture of a result with the lines known for its task, as PNG.

    Examples
    --------
    >>> import everlearn as el
    >>> thumbnail(el.run("riverswim", steps=10))[1:4]
    b'PNG'

    """
    file = io.BytesIO()
    with house_style():
        picture(result, 6.4, 3.2).savefig(file, format="png", dpi=90)
    return file.getvalue()


def merged(lines: Mapping[str, float]) -> dict[str, float]:
    """Return lines by their labels, those of the same height under one label.

    Examples
    --------
    >>> merged({"optimum over all policies": 0.5, "always fast": 0.5, "always slow": 0.09})
    {'optimum over all policies = always fast: 0.5': 0.5, 'always slow: 0.09': 0.09}

    """
    groups: dict[float, list[str]] = {}
    for name, value in lines.items():
        height = next((one for one in groups if math.isclose(one, value, rel_tol=SAME, abs_tol=SAME)), value)
        groups.setdefault(height, []).append(name)
    return {f"{' = '.join(names)}: {height:.4g}": height for height, names in groups.items()}


def learning_curves(results: Mapping[str, Result], lines: Mapping[str, float], *, axes: Axes | None = None) -> Axes:
    """Draw several results, by their labels, with horizontal lines, by theirs.

    A band is the mean over runs, plus and minus two standard errors.  On axes that have curves already, further curves
    get other colours, and lines that are already there are not drawn again.
    """
    import matplotlib.pyplot as plt

    with house_style():
        given, axes = axes, axes or plt.figure().add_subplot()
        drawn = axes.get_legend_handles_labels()[1]
        curves = sum(line.get_color() in PALETTE for line in axes.get_lines())
        for number, (name, result) in enumerate(results.items(), start=curves):
            colour = PALETTE[number % len(PALETTE)]
            mean, error = result.average_reward, result.standard_error
            axes.plot(result.times, mean, color=colour, label=name, linewidth=1.8)
            if result.runs > 1:
                axes.fill_between(
                    result.times, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0
                )
        new = [(name, value) for name, value in merged(lines).items() if name not in drawn]
        for (name, value), style in zip(new, REFERENCE_STYLES * (len(lines) + 1), strict=False):
            axes.axhline(value, color=REFERENCE_COLOUR, linestyle=style, linewidth=1.2, label=name)
        axes.set_xscale("log")
        axes.set_xlabel("time step")
        axes.set_ylabel("cumulative average reward")
        legends = cast("Figure", axes.get_figure(root=True)).legends
        if given is None or legends:
            for legend in list(legends):
                legend.remove()
            _explain(axes)
        else:
            axes.legend(loc="best")
    return axes


def _explain(axes: Axes) -> None:
    """Put the legend below, where no curve can run through it."""
    handles, labels = axes.get_legend_handles_labels()
    banded = "bands: two standard errors" if axes.collections else "one run, so no band"
    explain(cast("Figure", axes.get_figure(root=True)), list(zip(labels, handles, strict=True)), banded)
