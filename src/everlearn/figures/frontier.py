"""Draw the frontier: what policies can earn that average within tau, and what the aleatoric state hides at tau."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style
from everlearn.theory.report import Theory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def frontier_figure(theory: Theory) -> Figure:
    """Return a figure of the bracket of the frontier above, and of the distortion below."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(6.4, 5.2))
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        draw(theory, top, bottom)
        top.set(ylabel="average reward", title=f"{theory.task.name}: the best within an averaging time")
        top.legend(loc="upper left", bbox_to_anchor=(0.0, 0.92), fontsize=8)
        bottom.set(xlabel="averaging time tau, in the task's units", ylabel="distortion at tau")
    return figure


def draw(theory: Theory, top: Axes, bottom: Axes) -> None:
    """Draw the bracket on one pair of axes and the distortion on another, over the same averaging times."""
    frontier, width = theory.frontier, theory.task.reward.high - theory.task.reward.low
    last = 3 * max([width, *(point.averaging_time for point in frontier.points)])
    taus = np.geomspace(min(0.05 * width, last / 100), last, 300)
    lower, upper = np.array([frontier.at(float(tau)) for tau in taus]).T
    horizons = np.geomspace(1.0, max(2.0, last / width), 12)
    floor = np.where(np.isfinite(lower), lower, np.nan)
    top.fill_between(taus, floor, upper, color=PALETTE[0], alpha=0.2, linewidth=0, label="certified bracket")
    top.step(taus, floor, where="post", color=PALETTE[0], label="at least: a policy over aleatoric states")
    top.plot(taus, upper, "--", color=PALETTE[1], label="at most: every policy of history")
    top.axhline(frontier.optimum, color=REFERENCE_COLOUR, linestyle=":", label="optimum over all policies")
    bottom.plot(horizons * width, [theory.distortion(float(h)).value for h in horizons], "o-", color=PALETTE[2], ms=4)
    for axes in (top, bottom):
        axes.set_xscale("log")
        axes.set_xlim(taus[0], taus[-1])
    bottom.set_ylim(bottom=0)
