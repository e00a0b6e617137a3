"""What can be taken away from the page: the curve as a picture and as data."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Mapping

from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, REFERENCE_STYLES, house_style
from everlearn.play.chart import merged
from everlearn.play.race import Race

_PAINTING = threading.Lock()
"""Matplotlib's settings are shared by all threads."""


def png(race: Race, lines: Mapping[str, float]) -> bytes:
    r"""Return the curves as a picture, in the style of every other figure.

    Examples
    --------
    >>> from everlearn.play.configuration import Configuration
    >>> from everlearn.play.race import Workshop
    >>> race = Workshop().race(Configuration("riverswim"))
    >>> race.advance(100)
    >>> png(race, {"optimum over all policies": 0.5})[:4]
    b'\x89PNG'

    """
    from matplotlib.figure import Figure

    with _PAINTING, house_style():
        figure = Figure()
        axes = figure.add_subplot()
        for one, stream, colour in zip(race.configuration.contenders, race.streams, PALETTE, strict=False):
            axes.plot(*stream.recorded(), color=colour, label=one.label, linewidth=1.8)
        for (label, value), style in zip(merged(lines), REFERENCE_STYLES * (len(lines) + 1), strict=False):
            axes.axhline(value, color=REFERENCE_COLOUR, linestyle=style, linewidth=1.2, label=f"{label}: {value:.4g}")
        axes.set(xscale="log", xlabel="time step", ylabel="cumulative average reward", title=race.configuration.task)
        figure.legend(loc="outside lower center", ncols=2)
        written = io.BytesIO()
        figure.savefig(written, format="png")
    return written.getvalue()


def data(race: Race) -> str:
    """Return the curves as CSV: a row for each recorded time, a column for each agent.

    Examples
    --------
    >>> from everlearn.play.configuration import Configuration
    >>> from everlearn.play.race import Workshop
    >>> race = Workshop().race(Configuration("riverswim"))
    >>> race.advance(2)
    >>> data(race).splitlines()
    ['t,"growing-horizon, practical"', '1,0.005', '2,0.0025']

    """
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(["t", *(one.label for one in race.configuration.contenders)])
    recorded = [stream.recorded() for stream in race.streams]
    if recorded[0][0]:
        rows.writerows(zip(recorded[0][0], *(averages for _, averages in recorded), strict=True))
    return written.getvalue()
