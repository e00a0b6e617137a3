"""Small multiples: one panel per task and one curve per agent, which looks the same in every panel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everlearn.analysis.names import agent_names, optimum_lines, task_names
from everlearn.analysis.statistics import bands
from everlearn.errors import InputError, require
from everlearn.figures.panels import MOST_IN_LEGEND, entitle, explain, figure_of, label_ends, name_axes, panels
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, REFERENCE_STYLES, house_style
from everlearn.protocol import Table
from everlearn.results.arm import Arm, grouped
from everlearn.results.references import AT_LEAST, AT_MOST, BEST, FOUND, OPTIMUM, label

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
_MARKERS = "osD^vPX<>*ph"
_MARKS = 5
"""The number of markers on a curve: enough to identify it, few enough to see it."""


FIRST = (OPTIMUM, AT_LEAST, AT_MOST, FOUND)
"""The lines of the best policies, which come first and are never left out."""


class _Curve(NamedTuple):
    task: str
    agent: str
    arm: Arm
    mean: Table
    low: Table
    high: Table


def average_rewards(arms: Sequence[Arm]) -> Figure:
    """Draw the cumulative average reward over time: its mean over units, a bootstrap band, and reference lines.

    If there are more than four lines, which no one could tell apart, only those of the best policies are drawn.

    Examples
    --------
    >>> total, optimum = np.array([[0.0, 5.0], [1.0, 6.0]]), np.array([0.7, 0.7])
    >>> arm = Arm("shop", "smooth", {}, np.array([1, 10]), total, optimum)
    >>> figure = average_rewards([arm])
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['smooth', 'optimum over all policies']

    """
    require(bool(arms), "arms", [], "give at least one")
    styles = dict(zip(_choose_lines(arms), cycle(REFERENCE_STYLES), strict=False))
    tasks = _curves(arms, [arm.average_reward for arm in arms])
    with house_style():
        figure, handles = _figure(tasks)
        lines: dict[str, Artist] = {}
        for axes, curves in zip(figure.axes, tasks, strict=True):
            heights = _heights(curve.arm for curve in curves)
            for name in [name for name in styles if name in heights]:
                look: dict[str, Any] = {"color": REFERENCE_COLOUR, "linestyle": styles[name]}
                lines[name] = axes.axhline(heights[name], **look, linewidth=1.1, zorder=1)
        name_axes(figure.axes, "time step", "cumulative average reward")
        known = [(f"{name}, known" if name in handles else name, line) for name, line in lines.items()]
        explain(figure, [*_unnamed(figure, handles), *known], _note(arms))
    return figure


def regrets(arms: Sequence[Arm]) -> Figure:
    """Draw the realized regret (Section 1.2) over time, both logarithmic: its mean over units and a band.

    The curve has a gap wherever the mean is not positive.  Arms without an optimum are left out.
    """
    known = [arm for arm in arms if arm.regret is not None]
    if not known:
        raise InputError("arms", [arm.task for arm in arms], "no optimum is known; draw average rewards instead")
    tasks = [_positive(curves) for curves in _regret_curves(known)]
    with house_style():
        figure, handles = _figure(tasks)
        for axes, curves in zip(figure.axes, tasks, strict=True):
            if all(np.isnan(curve.mean).all() for curve in curves):
                axes.text(0.5, 0.5, "nowhere positive", transform=axes.transAxes, ha="center", va="center", fontsize=10)
            axes.set_yscale("log")
        name_axes(figure.axes, "time step", "realized regret")
        note = f"regret against the {OPTIMUM}; {_note(known)}"
        if any(arm.optimum_upper is not None for arm in known):
            note += "; if bounds of the optimum are known, from the lower to the upper"
        explain(figure, _unnamed(figure, handles), note)
    return figure


def looks(agents: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the colour, line and marker of each agent; a dozen agents can be told apart even without colours."""
    return {
        agent: {
            "color": PALETTE[place % len(PALETTE)],
            "linestyle": _LINES[(place + place // len(_MARKERS)) % len(_LINES)],
            "marker": _MARKERS[place % len(_MARKERS)],
        }
        for place, agent in enumerate(dict.fromkeys(agents))
    }


def _curves(arms: Sequence[Arm], tables: Sequence[Table]) -> list[list[_Curve]]:
    """Return the curves to draw, task by task."""
    curves = [
        _Curve(task, agent, arm, table.mean(axis=0), *bands(table))
        for task, agent, arm, table in zip(task_names(arms), agent_names(arms), arms, tables, strict=True)
    ]
    return list(grouped(curves, lambda curve: curve.task).values())


def _regret_curves(arms: Sequence[Arm]) -> list[list[_Curve]]:
    """Return the curves of regret; a band reaches up to the regret against the upper bound of the optimum."""
    upper = [arm.against_upper or arm for arm in arms]
    curves, others = (_curves(each, [np.asarray(arm.regret) for arm in each]) for each in (arms, upper))
    return [
        [_reaching(curve, other) for curve, other in zip(*panel, strict=True)]
        for panel in zip(curves, others, strict=True)
    ]


def _reaching(curve: _Curve, other: _Curve) -> _Curve:
    if curve.arm.optimum_upper is None:
        return curve
    alone = curve.arm.units == 1
    return curve._replace(low=curve.mean if alone else curve.low, high=other.mean if alone else other.high)


def _positive(curves: Sequence[_Curve]) -> list[_Curve]:
    """Return the curves of a panel as a logarithmic axis can show them: with gaps, and with bands cut off below."""
    means = np.concatenate([curve.mean for curve in curves])
    floor = np.min(means[means > 0], initial=np.inf) / 2
    gaps = [np.where(curve.mean > 0, 1.0, np.nan) for curve in curves]
    return [
        curve._replace(mean=curve.mean * gap, low=np.maximum(curve.low, floor) * gap, high=curve.high * gap)
        for curve, gap in zip(curves, gaps, strict=True)
    ]


def _figure(tasks: Sequence[Sequence[_Curve]]) -> tuple[Figure, dict[str, Line2D]]:
    """Draw every curve in the panel of its task; return the figure and a handle for each agent."""
    grid = panels(len(tasks), *((7.2, 4.0) if len(tasks) == 1 else (3.3, 2.5)), shared=True)
    appearance = looks(curve.agent for curves in tasks for curve in curves)
    handles: dict[str, Line2D] = {}
    for axes, curves in zip(grid, tasks, strict=True):
        axes.set_xscale("log")
        entitle(axes, curves[0].task)
        for curve in curves:
            handles[curve.agent] = _draw(axes, curve, appearance)
    return figure_of(grid[0]), {agent: handles[agent] for agent in appearance}


def _unnamed(figure: Figure, handles: Mapping[str, Line2D]) -> list[tuple[str, Artist]]:
    """Return the curves that the legend must name: none if there are many in one panel, which are named there."""
    if len(figure.axes) > 1 or len(handles) <= MOST_IN_LEGEND:
        return list(handles.items())
    label_ends(figure.axes[0], list(handles.items()))
    return []


def _draw(axes: Axes, curve: _Curve, appearance: Mapping[str, Mapping[str, Any]]) -> Line2D:
    look, place = appearance[curve.agent], list(appearance).index(curve.agent)
    step = max(1, curve.mean.size // _MARKS)
    # The markers of each agent start at another place, so that they do not hide those of a curve close by.
    marks = (place * step // len(appearance), step)
    if curve.arm.units > 1 or not np.isnan(curve.high).all():
        axes.fill_between(curve.arm.times, curve.low, curve.high, color=look["color"], alpha=0.18, linewidth=0)
    return axes.plot(curve.arm.times, curve.mean, **look, linewidth=1.5, markersize=4.5, markevery=marks)[0]


def _choose_lines(arms: Sequence[Arm]) -> list[str]:
    """Return the names of the reference lines to draw."""
    names = list(_heights(arms))
    return names if len(names) <= len(REFERENCE_STYLES) else [name for name in names if name in FIRST]


def _heights(arms: Iterable[Arm]) -> dict[str, float]:
    """Return the reference lines of arms, those of the best policies first."""
    heights: dict[str, float] = {}
    for arm in arms:
        # A policy over aleatoric states that is proved to be the best has the line of the optimum.
        heights |= {label(name): value for name, value in arm.references.items() if name != BEST}
        heights = {**optimum_lines(arm), **heights}
    return {**{name: heights[name] for name in FIRST if name in heights}, **heights}


def _note(arms: Sequence[Arm]) -> str:
    units = sorted({arm.units for arm in arms})
    kinds = " or ".join(dict.fromkeys(f"{arm.unit}s" for arm in arms))
    if units == [1]:
        return f"one of the {kinds} each, so no interval"
    many = f"{units[0]:,}" if len(units) == 1 else f"{units[0]:,} to {units[-1]:,}"
    return f"means over {many} {kinds}; bands are 95% bootstrap intervals at each time"
