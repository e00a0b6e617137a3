"""How the figures of the reproduction are drawn: curves with their names at their ends, and the runs behind a mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from everlearn.analysis.statistics import bands
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, REFERENCE_STYLES
from everlearn.labels import counted
from everlearn.protocol import Table
from everlearn.results.arm import Arm

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FROM = 10
"""The first step that is drawn, unless runs are short.  Before, an average is what the first customer paid."""

APART = 0.25
"""Runs are of two kinds if this share of their range separates them."""

LEAST_RANGE = 0.01
"""Runs whose averages are closer together are of one kind."""

STYLES = ("-", (0, (6, 2)), ":", "-.", (0, (3, 1, 1, 1)))


def kinds_of_runs(averages: Table) -> list[tuple[int, float]]:
    """Return how many runs there are of each kind, and what they earn on average.

    Examples
    --------
    >>> kinds_of_runs(np.array([0.07, 0.09, 0.07, 0.07]))
    [(3, 0.07), (1, 0.09)]

    """
    ordered = np.sort(averages)
    width = float(ordered[-1] - ordered[0])
    cuts = np.flatnonzero((np.diff(ordered) > APART * width) & (width >= LEAST_RANGE)) + 1
    return [(len(part), round(float(part.mean()), 10)) for part in np.split(ordered, cuts)]


def written_kinds(averages: Table) -> str:
    """Return the kinds of runs in words.

    Examples
    --------
    >>> written_kinds(np.array([0.07, 0.09, 0.07, 0.07]))
    '3 runs earn 0.070, 1 run earns 0.090'

    """
    kinds = kinds_of_runs(averages)
    return ", ".join(f"{counted(count, 'run')} earn{'s' * (count == 1)} {mean:.3f}" for count, mean in kinds)


def draw_curves(axes: Axes, arms: Mapping[str, Arm], lines: Mapping[str, float], limits: tuple[float, float]) -> None:
    """Draw the average reward of each arm from step 10 on, with a band, and lines; each has its name at its end."""
    last = max(int(arm.times[-1]) for arm in arms.values())
    first = FROM if last > FROM else 1
    ends = {}
    for (name, arm), colour, style in zip(arms.items(), PALETTE, STYLES, strict=False):
        late = arm.times >= first
        mean, (low, high) = arm.average_reward.mean(axis=0), bands(arm.average_reward)
        axes.plot(arm.times[late], mean[late], color=colour, linestyle=style, linewidth=1.6)
        axes.fill_between(arm.times[late], low[late], high[late], color=colour, alpha=0.18, linewidth=0)
        ends[name] = (float(mean[-1]), int(arm.times[-1]), colour)
    for (name, height), dashes in zip(lines.items(), REFERENCE_STYLES, strict=False):
        axes.axhline(height, color=REFERENCE_COLOUR, linestyle=dashes, linewidth=1.1, zorder=1)
        ends[name] = (height, last, REFERENCE_COLOUR)
    axes.set(xscale="log", ylim=limits, xlabel="time step", ylabel="cumulative average reward")
    axes.set_xlim(first, max(last, 2))
    _name_ends(axes, ends, limits)


def _name_ends(axes: Axes, ends: Mapping[str, tuple[float, int, str]], limits: tuple[float, float]) -> None:
    """Write the names to the right of the axes, far enough apart, each with a line to the end of its curve."""
    top = 0.0
    for name, (height, end, colour) in sorted(ends.items(), key=lambda item: item[1][0]):
        half = 0.028 * (1 + name.count("\n"))
        at = max((height - limits[0]) / (limits[1] - limits[0]), top + half)
        top = at + half
        axes.annotate(
            name,
            xy=(end, height),
            xytext=(1.06, at),
            textcoords="axes fraction",
            color=colour,
            fontsize=8.5,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "relpos": (0.0, 0.5), "shrinkB": 0},
        )


def draw_runs(axes: Axes, arms: Mapping[str, Arm], colours: Sequence[str], limits: tuple[float, float]) -> None:
    """Draw how many runs ended with which average, sideways beside the curves; write the number of each kind."""
    edges = np.linspace(*limits, 81)
    counts = 0
    for (name, arm), colour in zip(arms.items(), colours, strict=True):
        averages = np.clip(arm.average_reward[:, -1], *limits)
        axes.hist(averages, bins=edges.tolist(), orientation="horizontal", color=colour, label=name)
        counts = max(counts, int(np.histogram(averages, edges)[0].max()))
        for count, mean in kinds_of_runs(averages):
            size = int(np.histogram(averages[np.abs(averages - mean) < LEAST_RANGE], edges)[0].max(initial=0))
            label = counted(count, "run")
            axes.annotate(label, (size, mean), (3, 0), textcoords="offset points", fontsize=8, va="center")
    axes.set(xlabel="runs", ylim=limits, xlim=(0, 1.45 * counts))
    axes.legend(fontsize=8, loc="upper right")
