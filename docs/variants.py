"""Draw the regret of every agent over time, one panel per task, with the same scale and styles in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.errors import require
from everlearn.figures.multiples import looks
from everlearn.figures.panels import entitle, explain, figure_of, name_axes, panels
from everlearn.figures.style import PALETTE, house_style
from everlearn.results.arm import Arm
from everlearn.results.references import OPTIMUM

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EARLIEST = 100
"""The first step shown: before it all agents are alike."""

LEAST, MOST = 1e-3, 10.0
"""The range of relative regrets that a panel shows: below it an agent is as good as optimal."""

MARKS = 4
COLOURS = ("#000000", *PALETTE, "#888888", "#7A4B2A", "#5E3C99")
"""Black for our agent; then the palette, and three more that differ from it in lightness too."""


def relative_regrets(arms: Sequence[Arm], ours: str) -> Figure:
    """Draw the mean relative regret until each step on logarithmic axes, with our agent in bold.

    A curve has a gap where regret is not positive.
    """
    require(bool(arms), "arms", [], "give at least one")
    tasks = list(dict.fromkeys(arm.task for arm in arms))
    # The looks are those of all figures, but for more colours: a board has more agents than the palette.
    appearance = looks([ours, *(arm.agent for arm in arms)])
    for place, look in enumerate(appearance.values()):
        look["color"] = COLOURS[place % len(COLOURS)]
    handles: dict[str, Artist] = {}
    with house_style():
        grid = panels(len(tasks), 2.7, 2.2, shared=True)
        for axes, task in zip(grid, tasks, strict=True):
            entitle(axes, task)
            for arm in arms:
                if arm.task == task:
                    handles[arm.agent] = _draw(axes, arm, appearance, bold=arm.agent == ours)
            _scale(axes)
        name_axes(grid, "time step", "relative regret")
        figure = figure_of(grid[0])
        shown = [(name, handles[name]) for name in appearance if name in handles]
        explain(figure, shown, f"relative regret against the {OPTIMUM}; means over {arms[0].units:,} runs")
    return figure


def _draw(axes: Axes, arm: Arm, appearance: Mapping[str, Mapping[str, Any]], *, bold: bool) -> Artist:
    late = arm.times >= min(EARLIEST, arm.times[-1])
    optimum = np.abs(np.asarray(arm.optimum))[:, None]
    mean = (np.asarray(arm.regret) / (arm.times * optimum)).mean(axis=0)[late]
    place, step = list(appearance).index(arm.agent), max(1, mean.size // MARKS)
    return axes.plot(
        arm.times[late],
        np.where(mean > 0, mean, np.nan),
        **appearance[arm.agent],
        linewidth=2.4 if bold else 1.1,
        markersize=4.5 if bold else 3.5,
        markevery=(place * step // len(appearance), step),
        zorder=3 if bold else 2,
    )[0]


def _scale(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()])
    axes.set_ylim(LEAST, min(MOST, max(1.5, 1.2 * float(np.nanmax(drawn, initial=1.0)))))
