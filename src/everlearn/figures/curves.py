"""Learning curves: cumulative average reward over logarithmic time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from everlearn.errors import UnknownName
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, REFERENCE_STYLES, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from everlearn.results.result import Result


def learning_curve(result: Result, *, reference: str | None = None, axes: Axes | None = None) -> Axes:
    """Draw one result with the lines known for its task, or the one that is named."""
    lines = dict(result.references)
    if reference is not None:
        if reference not in lines:
            raise UnknownName("reference", reference, lines)
        lines = {reference: lines[reference]}
    label = result.agent if result.schedule is None else f"{result.agent}, {result.schedule}"
    return learning_curves({label: result}, lines, axes=axes)


def learning_curves(results: Mapping[str, Result], lines: Mapping[str, float], *, axes: Axes | None = None) -> Axes:
    """Draw several results, by their labels, with horizontal lines, by theirs.

    A band is the mean over runs, plus and minus two standard errors.
    """
    import matplotlib.pyplot as plt

    with house_style():
        given, axes = axes, axes or plt.figure().add_subplot()
        for (label, result), colour in zip(results.items(), PALETTE * len(results), strict=False):
            mean, error = result.average_reward, result.standard_error
            axes.plot(result.times, mean, color=colour, label=label, linewidth=1.8)
            if result.runs > 1:
                axes.fill_between(
                    result.times, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0
                )
        for (label, value), style in zip(lines.items(), REFERENCE_STYLES * (len(lines) + 1), strict=False):
            axes.axhline(value, color=REFERENCE_COLOUR, linestyle=style, linewidth=1.2, label=f"{label}: {value:.4g}")
        axes.set_xscale("log")
        axes.set_xlabel("time step")
        axes.set_ylabel("cumulative average reward")
        if given is None:
            axes.figure.legend(loc="outside lower center", ncols=2)  # below, where no curve can run through it
        else:
            axes.legend(loc="best")
    return axes
