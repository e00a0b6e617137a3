"""What a search tried: a panel for each parameter, its value against the score, by how far a candidate came."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from everlearn.analysis.names import written
from everlearn.errors import require
from everlearn.figures.panels import explain, name_axes, panels
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style

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
"""From how many times the least score the greatest makes a logarithmic axis."""


class Trial(NamedTuple):
    """A candidate: its settings, its score, and the rung that it reached, from 1."""

    settings: Mapping[str, Any]
    score: float
    rung: int


def tried(
    trials: Sequence[Trial], marked: Mapping[str, Trial], logarithmic: Collection[str] = (), measure: str = "loss"
) -> Figure:
    """Draw every candidate, those that came further darker and in other shapes; less is better.

    ``marked`` has ``default`` and ``chosen`` with their scores in the final; a line goes through that of the default.

    Examples
    --------
    >>> trials = [Trial({"schedule.horizon_scale": scale}, 1 / scale, 1 + (scale > 2)) for scale in (1.5, 3.0, 6.0)]
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
        figure = cast("Figure", grid[0].get_figure(root=True))
        explain(figure, list(handles.items()), "each candidate at the last rung that it reached")
    return figure


def _draw(
    axes: Axes, name: str, trials: Sequence[Trial], marked: Mapping[str, Trial], logarithmic: bool
) -> dict[str, Artist]:
    """Draw a panel, and return what its legend shows."""
    places = _places(axes, [one.settings[name] for one in trials], logarithmic)
    handles: dict[str, Artist] = {}
    last = max(one.rung for one in trials)
    for rung in range(1, last + 1):
        here = [one for one in trials if one.rung == rung]
        points = [places(one.settings[name]) for one in here], [one.score for one in here]
        handles[f"rung {rung}"] = axes.scatter(*points, zorder=2 + rung, **_look(rung, last))
    for what, one in marked.items():
        points = [places(one.settings[name])], [one.score]
        handles[f"{what}, fresh runs"] = axes.scatter(*points, zorder=20, **_MARKED[what])
    axes.axhline(marked["default"].score, color=REFERENCE_COLOUR, linestyle="--", linewidth=1.1, zorder=1)
    scores = [one.score for one in (*trials, *marked.values())]
    if min(scores) > 0 and max(scores) > WIDE * min(scores):
        axes.set_yscale("log")
    return handles


def _look(rung: int, last: int) -> dict[str, Any]:
    """Return the look of a rung: the further, the darker and larger; each has a shape of its own."""
    share = 1.0 if last == 1 else (rung - 1) / (last - 1)
    ink = 0.25 + 0.75 * share
    blue = (int(PALETTE[0][place : place + 2], 16) / 255 for place in (1, 3, 5))
    colour = tuple(1 - ink * (1 - part) for part in blue)
    marker = _MARKERS[(rung - 1) % len(_MARKERS)]
    return {"color": colour, "marker": marker, "s": 22 + 26 * share, "edgecolors": "black", "linewidths": 0.5}


def _places(axes: Axes, values: Sequence[Any], logarithmic: bool) -> Any:
    """Prepare the axis for numbers, or for names side by side; return a function from a value to its place."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        if logarithmic and min(known, default=0) > 0:
            axes.set_xscale("log")
        return lambda value: math.nan if value is None else float(value)  # a default that is no number has no place
    called = list(dict.fromkeys(written(value) for value in values))
    axes.set_xticks(range(len(called)), called)
    axes.set_xlim(-0.5, len(called) - 0.5)
    return lambda value: called.index(written(value))
