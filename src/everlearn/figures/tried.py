"""The candidates of a search: one panel per parameter, its value against the score, by the rung reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.analysis.names import written
from everlearn.errors import require
from everlearn.figures.panels import explain, figure_of, name_axes, panels, plain_ticks
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style
from everlearn.figures.sweep import is_numeric

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vP"
_MARKED: dict[str, dict[str, Any]] = {
    "default": {"marker": "X", "color": "white", "edgecolors": "black", "s": 110, "linewidths": 1.3},
    "chosen": {"marker": "*", "color": PALETTE[1], "edgecolors": "black", "s": 240, "linewidths": 1.0},
}
WIDE = 20
"""The axis of scores is logarithmic if the greatest is more than this many times the least."""


class Evaluated(NamedTuple):
    """A candidate: its settings, its score, and the rung that it reached, from 1."""

    settings: Mapping[str, Any]
    score: float
    rung: int


def tried(
    trials: Sequence[Evaluated],
    marked: Mapping[str, Evaluated],
    logarithmic: Collection[str] = (),
    measure: str = "loss",
) -> Figure:
    """Draw every candidate; those that came further are darker and have other shapes.  Less is better.

    ``marked`` has ``default`` and ``chosen`` with their scores in the final.  A line marks the score of the default.

    Examples
    --------
    >>> trials = [Evaluated({"schedule.horizon_scale": scale}, 1 / scale, 1 + (scale > 2)) for scale in (1.5, 3.0, 6.0)]
    >>> figure = tried(trials, {"default": trials[0], "chosen": trials[2]})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['rung 1', 'rung 2', 'default, fresh runs', 'chosen, fresh runs']

    """
    require(bool(trials), "trials", [], "give at least one")
    with house_style():
        names = list(trials[0].settings)
        grid = panels(len(names), 3.6, 3.0, most_columns=3)
        handles: dict[str, Artist] = {}
        for axes, name in zip(grid, names, strict=True):
            handles = _draw(axes, name, trials, marked, name in logarithmic)
        name_axes(grid, "", f"{measure} (less is better)")
        for axes, name in zip(grid, names, strict=True):
            axes.set_xlabel(name, fontsize=10)
        figure = figure_of(grid[0])
        explain(figure, list(handles.items()), "each candidate at the last rung that it reached")
    return figure


def _draw(
    axes: Axes, name: str, trials: Sequence[Evaluated], marked: Mapping[str, Evaluated], logarithmic: bool
) -> dict[str, Artist]:
    """Draw a panel, and return the handles of its legend."""
    place = _prepare_axis(axes, [trial.settings[name] for trial in trials], logarithmic)
    handles: dict[str, Artist] = {}
    last = max(trial.rung for trial in trials)
    for rung in range(1, last + 1):
        reached = [trial for trial in trials if trial.rung == rung]
        points = [place(trial.settings[name]) for trial in reached], [trial.score for trial in reached]
        handles[f"rung {rung}"] = axes.scatter(*points, zorder=2 + rung, **_look(rung, last))
    for kind, trial in marked.items():
        points = [place(trial.settings[name])], [trial.score]
        handles[f"{kind}, fresh runs"] = axes.scatter(*points, zorder=20, **_MARKED[kind])
    axes.axhline(marked["default"].score, color=REFERENCE_COLOUR, linestyle="--", linewidth=1.1, zorder=1)
    scores = [trial.score for trial in (*trials, *marked.values())]
    if min(scores) > 0 and max(scores) > WIDE * min(scores):
        axes.set_yscale("log")
    return handles


def _look(rung: int, last: int) -> dict[str, Any]:
    """Return the look of a rung: later rungs are darker and larger, and each has its own shape."""
    share = 1.0 if last == 1 else (rung - 1) / (last - 1)
    ink = 0.25 + 0.75 * share
    blue = (int(PALETTE[0][place : place + 2], 16) / 255 for place in (1, 3, 5))
    colour = tuple(1 - ink * (1 - part) for part in blue)
    marker = _MARKERS[(rung - 1) % len(_MARKERS)]
    return {"color": colour, "marker": marker, "s": 22 + 26 * share, "edgecolors": "black", "linewidths": 0.5}


def _prepare_axis(axes: Axes, values: Sequence[Any], logarithmic: bool) -> Callable[[Any], float]:
    """Prepare the axis for numbers, or for names side by side; return a function from a value to its place."""
    known = [value for value in values if value is not None]
    if is_numeric(known):
        if logarithmic and min(known, default=0) > 0:
            axes.set_xscale("log")
            plain_ticks(axes.xaxis, min(known), max(known))
        return lambda value: math.nan if value is None else float(value)  # a default that is no number has no place
    names = list(dict.fromkeys(written(value) for value in values))
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    return lambda value: names.index(written(value))
