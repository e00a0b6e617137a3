"""The chart: average reward over logarithmic or linear time, with known lines, as SVG with a text alternative."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

NARROW = 560
"""Below this width names stand above the plot."""

GUTTER = 19
"""How many letters a row of a name may have to the right of the plot."""

LETTER, ROW = 7.4, 16
"""The approximate width of a letter, and the height of a row of text."""

LEAST_HEIGHT = 210
"""The height of the plot and its axis, if names stand above it."""

SETTLED = 100
"""Averages over fewer steps jump about; they do not decide how high the figure is if lines are known."""

ZERO = 1e-12
"""What is closer to zero is taken to be a rounding error."""


class Curve(NamedTuple):
    """A curve to draw."""

    label: str
    times: Sequence[int]
    averages: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    """The bounds of a band around the curve, if there is one."""
    number: int | None = None
    """The number of its colour; by default its place among the curves."""
    later: Sequence[tuple[int, float]] = ()
    """Times and averages of the same run beyond the end of the curve, to be drawn faintly."""


@dataclass(frozen=True)
class _Frame:
    """The plotted area, in pixels, and the range of its axes."""

    left: float
    right: float
    top: float
    bottom: float
    first: int
    last: int
    linear: bool
    low: float
    high: float

    @property
    def decades(self) -> int:
        return round(math.log10(self.last))

    def x(self, t: float) -> float:
        if self.linear:
            return self.left + (self.right - self.left) * (t - self.first) / (self.last - self.first)
        return self.left + (self.right - self.left) * math.log10(max(t, 1)) / self.decades

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * (value - self.low) / (self.high - self.low)

    def points(self, times: Iterable[int], values: Iterable[float]) -> list[tuple[float, float]]:
        return [(self.x(t), self.y(value)) for t, value in zip(times, values, strict=True)]

    def across(self, kind: str, y: float) -> str:
        return f'<line class="{kind}" x1="{self.left}" x2="{self.right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def draw(
    curves: Sequence[Curve],
    lines: Mapping[str, float],
    width: float = 720,
    height: float = 340,
    span: tuple[float, float] | None = None,
    *,
    linear: bool = False,
    first: int = 0,
    name: str = "plot",
    what: str = "Average reward so far",
) -> str:
    """Return the chart as SVG; ``span`` is the range of its vertical axis.

    Names stand where no curve is: to the right of the plot, or above it if the chart is narrow.  The time axis is
    logarithmic, or linear from ``first``.  Charts on the same page need different names.
    """
    ends = [curve.later[-1][0] if curve.later else curve.times[-1] for curve in curves if curve.times or curve.later]
    latest = max([first + 1 if linear else 1000, *ends])
    last = latest if linear else 10 ** math.ceil(math.log10(latest) - 1e-12)
    narrow = width < NARROW
    named = [] if narrow and len(curves) == 1 else curves
    names = _names(named, lines, int((width - 48) / LETTER) if narrow else GUTTER)
    above = sum(ROW * len(each.rows) + 4 for each in names) if narrow else 0.0
    height = max(height, above + LEAST_HEIGHT)
    right = width - 14 if narrow else width - 34 - LETTER * GUTTER
    frame = _Frame(46, right, 16 + above, height - 40, first, last, linear, *(span or find_span(curves, lines)))
    heights = [each._replace(y=0.0 if narrow else frame.y(each.y)) for each in names]
    parts = [
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(describe(curves, lines, what))}" class="chart">',
        *_draw_axes(frame),
        f'<clipPath id="{name}"><rect x="{frame.left}" y="{frame.top - 6}" '
        f'width="{frame.right - frame.left + 6}" height="{frame.bottom - frame.top + 12}"/></clipPath>',
        *(frame.across("known", frame.y(value)) for _, value in merge(lines)),
        *(
            _draw_curve(frame, name, curve, number, len(curves) - number - 1)
            for number, curve in enumerate(curves)
            if curve.times or curve.later
        ),
        *(_draw_name(each, 8 if narrow else right + 2) for each in _spread(heights, 4, frame.bottom + 2)),
        "</svg>",
    ]
    return "".join(parts)


def describe(curves: Sequence[Curve], lines: Mapping[str, float], what: str = "Average reward so far") -> str:
    """Return in words what the chart shows."""
    sentences = [f"{what} over time."]
    for label, times, averages, *_ in curves:
        steps = f"{times[-1]:,} step{'s' if times[-1] > 1 else ''}" if times else ""
        sentences.append(f"{label}: {write(averages[-1])} after {steps}." if times else f"{label}: not begun.")
    if lines:
        sentences.append(f"Known lines: {', '.join(f'{name} {write(value)}' for name, value in lines.items())}.")
    return " ".join(sentences)


def merge(lines: Mapping[str, float]) -> list[tuple[list[str], float]]:
    """Return the names of lines that coincide and their value, the highest first."""
    merged: list[tuple[list[str], float]] = []
    for name, value in sorted(lines.items(), key=lambda item: -item[1]):
        if merged and abs(merged[-1][1] - value) < 1e-9:
            merged[-1][0].append(name)
        else:
            merged.append(([name], value))
    return merged


def find_span(
    curves: Sequence[Curve], lines: Mapping[str, float], before: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Return the lowest and the highest value on the vertical axis: those from before, or more in whole ticks."""
    values = [*lines.values()]
    for _, times, averages, *_ in curves:
        values += [value for t, value in zip(times, averages, strict=True) if t >= SETTLED or not lines]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    low, high = min(low, 0.0), max(high, 0.0)
    if before is not None and before[0] <= low and high <= before[1]:
        return before
    room = 0.12 * (high - low) or 0.5
    low, high = (low - room if low < 0 else low), (high + room if high > 0 or low == 0 else high)
    if before is not None:
        low, high = min(low, before[0]), max(high, before[1])
    step = _step(low, high) / 2
    return step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)


def write(value: float, digits: int = 4) -> str:
    """Write a number; what is zero but for rounding is 0."""
    return "0" if abs(value) < ZERO else f"{value:.{digits}g}"


def _step(low: float, high: float, most: int = 4) -> float:
    """Return a round number, of which about ``most`` fit between two values."""
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)


def _ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Return round numbers, about ``most``."""
    step = _step(low, high, most)
    return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _draw_axes(frame: _Frame) -> list[str]:
    parts = []
    for value in _ticks(frame.low, frame.high):
        y = frame.y(value)
        parts.append(frame.across("grid", y))
        parts.append(f'<text class="tick" x="{frame.left - 8}" y="{y + 4:.1f}" text-anchor="end">{write(value)}</text>')
    for x, number, anchor in _times(frame):
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>')
        x = x + 6 if anchor == "end" else x
        parts.append(f'<text class="tick" x="{x:.1f}" y="{frame.bottom + 18}" text-anchor="{anchor}">{number}</text>')
    middle = (frame.left + frame.right) / 2
    parts.append(f'<text class="axis" x="{middle:.1f}" y="{frame.bottom + 35}" text-anchor="middle">time step</text>')
    return parts


def _times(frame: _Frame) -> Iterator[tuple[float, str, str]]:
    """Yield the place, the number and the alignment of each tick of the time axis."""
    if frame.linear:
        room = int((frame.right - frame.left) / (LETTER * (len(f"{frame.last:,}") + 3)))
        for t in [round(tick) for tick in _ticks(frame.first, frame.last, min(room, 5))]:
            yield frame.x(t), f"{t:,}", "end" if frame.right - frame.x(t) < LETTER * 3 else "middle"
        return
    every = 1 if (frame.right - frame.left) / frame.decades > 44 else 2
    for decade in range(0, frame.decades + 1, every):
        number = f"{10**decade:,}" if decade <= 3 else f'10<tspan dy="-5" class="power">{decade}</tspan>'
        yield frame.x(10.0**decade), number, "end" if decade == frame.decades else "middle"


def _draw_curve(frame: _Frame, name: str, curve: Curve, place: int, below: int) -> str:
    """Draw a curve, the wider the more curves lie on top of it, so that curves that coincide remain visible."""
    number = place if curve.number is None else curve.number
    points = frame.points(curve.times, curve.averages)
    end = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in points[-1:])
    last = curve.times[-1] if curve.times else 0
    after = [*points[-1:], *((frame.x(t), frame.y(value)) for t, value in curve.later if t > last)]
    around = [*frame.points(curve.times, curve.high), *frame.points(curve.times, curve.low)[::-1]] if curve.high else []
    band = f'<polygon points="{_path(around)}"/>' if around else ""
    width = 2.5 + (0.8 if around else 2) * below
    later = f'<polyline class="later" points="{_path(after)}" stroke-width="{width:g}"/>' if curve.later else ""
    return (
        f'<g clip-path="url(#{name})" class="agent{number}">{band}{later}'
        f'<polyline points="{_path(points)}" stroke-width="{width:g}"/>{end}</g>'
    )


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


class _Name(NamedTuple):
    """A name beside the plot: what it names, in which class, and where it would stand if it were alone."""

    rows: list[str]
    kind: str
    y: float


def _names(curves: Sequence[Curve], lines: Mapping[str, float], letters: int) -> list[_Name]:
    """Return the names of lines and curves, with rows of a number of letters; their heights are values."""
    named = [
        _Name([f"{' and '.join(names)}{':' if len(names) > 1 else ''} {write(value, 3)}"], "known", value)
        for names, value in merge(lines)
    ]
    for number, curve in enumerate(curves):
        if curve.times or len(curves) > 1:
            height = curve.averages[-1] if curve.times else 0.0
            kind = f"agent{number if curve.number is None else curve.number}"
            named.append(_Name([curve.label], kind, height))
    return [name._replace(rows=_wrap(name.rows[0], letters)) for name in named]


def _wrap(text: str, letters: int) -> list[str]:
    """Return a name in rows, which end at spaces or within ``module:attribute``; longer parts are broken anywhere."""
    rows = [""]
    for part in re.findall(r"\s*[^\s:]*:?", text):
        if rows[-1] and len(rows[-1] + part) > letters:
            rows.append("")
        rows[-1] += part if rows[-1] else part.lstrip()
    return [row for long in rows for row in textwrap.wrap(long, letters)]


def _spread(names: Sequence[_Name], top: float, bottom: float) -> list[_Name]:
    """Return names in the order of their heights, moved so that none lies on another."""
    placed: list[_Name] = []
    for name in sorted(names, key=lambda name: name.y):
        middle = name.y - ROW * len(name.rows) / 2
        above = placed[-1].y + ROW * len(placed[-1].rows) + 4 if placed else top
        placed.append(name._replace(y=max(middle, above)))
    limit = bottom
    for place in reversed(range(len(placed))):
        limit -= ROW * len(placed[place].rows)
        placed[place] = placed[place]._replace(y=min(placed[place].y, limit))
        limit = placed[place].y - 4
    return placed


def _draw_name(name: _Name, x: float) -> str:
    """Draw a name, with a piece of its line or curve before it."""
    y = name.y + 8
    rows = (
        f'<text class="name" x="{x + 26:.1f}" y="{name.y + 13 + ROW * number:.1f}">{escape(text)}</text>'
        for number, text in enumerate(name.rows)
    )
    mark = f'<line x1="{x + 2:.1f}" x2="{x + 20:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return f'<g class="key {name.kind}">{mark}{"".join(rows)}</g>'
