"""The curve: cumulative average reward over logarithmic time, with known lines, as SVG that tells itself in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from everlearn.figures.style import PALETTE
from everlearn.protocol import Table

NARROW = 520
"""Below this width there is less room for labels."""

LETTER, ROW = 7.4, 16
"""How wide a letter of a name is, about, and how high a row of them."""

SETTLING = 10
"""Averages over fewer steps jump about; they do not decide how high the figure is."""


@dataclass(frozen=True)
class Curve:
    """A curve to draw."""

    label: str
    times: Sequence[int]
    averages: Sequence[float]


@dataclass(frozen=True)
class _Frame:
    """Where things lie, in pixels."""

    left: float
    right: float
    top: float
    bottom: float
    decades: int
    low: float
    high: float

    def x(self, t: float) -> float:
        return self.left + (self.right - self.left) * math.log10(max(t, 1)) / self.decades

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * (value - self.low) / (self.high - self.low)


def draw(curves: Sequence[Curve], lines: Mapping[str, float], width: float = 720, height: float = 340) -> str:
    """Return the figure as SVG.

    Examples
    --------
    >>> svg = draw([Curve("smooth", [1, 10, 100], [1.0, 0.2, 0.3])], {"optimum": 0.5})
    >>> svg.count("<polyline"), 'role="img"' in svg
    (1, True)

    """
    low, high = _range(curves, lines)
    latest = max([1000, *(one.times[-1] for one in curves if one.times)])
    room = 54 if width < NARROW else 60
    frame = _Frame(room, width - 14, 16, height - 40, max(3, math.ceil(math.log10(latest) - 1e-12)), low, high)
    parts = [
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(say(curves, lines))}" class="chart">',
        *_axes(frame),
        f'<clipPath id="plot"><rect x="{frame.left}" y="{frame.top - 6}" '
        f'width="{frame.right - frame.left + 6}" height="{frame.bottom - frame.top + 12}"/></clipPath>',
        *_known(frame, lines),
        *(_curve(frame, number, one) for number, one in enumerate(curves)),
        *_names(frame, lines, curves),
        "</svg>",
    ]
    return "".join(parts)


def say(curves: Sequence[Curve], lines: Mapping[str, float]) -> str:
    """Return in words what the figure shows.

    Examples
    --------
    >>> say([Curve("smooth", [1, 10], [1.0, 0.25])], {"optimum": 0.5})
    'Average reward so far over time. smooth: 0.25 after 10 steps. Known lines: optimum 0.5.'

    """
    told = [
        f"{one.label}: {one.averages[-1]:.4g} after {one.times[-1]:,} step{'s' if one.times[-1] > 1 else ''}."
        if one.times
        else f"{one.label}: not begun."
        for one in curves
    ]
    known = ", ".join(f"{name} {value:.4g}" for name, value in lines.items())
    return " ".join(["Average reward so far over time.", *told, *([f"Known lines: {known}."] if known else [])])


def merged(lines: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return lines with those that coincide told as one, the highest first.

    Examples
    --------
    >>> merged({"optimum": 0.5, "always fast": 0.5, "always slow": 0.1})
    [('optimum, always fast', 0.5), ('always slow', 0.1)]

    """
    return [(", ".join(names), value) for names, value in _together(lines)]


def _together(lines: Mapping[str, float]) -> list[tuple[list[str], float]]:
    """Return the names of lines that coincide, the highest first."""
    together: list[tuple[list[str], float]] = []
    for name, value in sorted(lines.items(), key=lambda item: -item[1]):
        if together and abs(together[-1][1] - value) < 1e-9:
            together[-1][0].append(name)
        else:
            together.append(([name], value))
    return together


def _range(curves: Sequence[Curve], lines: Mapping[str, float]) -> tuple[float, float]:
    settled = [
        value
        for one in curves
        for t, value in zip(one.times, one.averages, strict=True)
        if t >= SETTLING or t == one.times[-1]
    ]
    values = [*lines.values(), *settled]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    low = min(low, 0.0) if low >= 0 or high <= 0 else low
    margin = 0.12 * (high - low) or 0.5
    return low - (margin if low < 0 else 0.0), high + margin


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers, four or so."""
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _axes(frame: _Frame) -> list[str]:
    parts = []
    for value in _ticks(frame.low, frame.high):
        y = frame.y(value)
        parts.append(f'<line class="grid" x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{frame.left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    every = 1 if (frame.right - frame.left) / frame.decades > 44 else 2
    for decade in range(0, frame.decades + 1, every):
        x = frame.x(10.0**decade)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>')
        anchor = "end" if decade == frame.decades else "middle"
        at = x + 6 if anchor == "end" else x
        parts.append(f'<text class="tick" x="{at:.1f}" y="{frame.bottom + 18}" text-anchor="{anchor}">')
        parts.append(
            f"{10**decade:,}</text>" if decade <= 3 else f'10<tspan dy="-5" class="power">{decade}</tspan></text>'
        )
    middle = (frame.left + frame.right) / 2
    parts.append(f'<text class="axis" x="{middle:.1f}" y="{frame.bottom + 35}" text-anchor="middle">time step</text>')
    return parts


def _known(frame: _Frame, lines: Mapping[str, float]) -> list[str]:
    return [
        f'<line class="known" x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        for y in (frame.y(value) for _, value in merged(lines))
    ]


def _names(frame: _Frame, lines: Mapping[str, float], curves: Sequence[Curve]) -> list[str]:
    """Return the names of known lines: above or below them, at either end, where they hide least of the curves."""
    points = np.concatenate([np.empty((0, 2)), *(_dense(frame, one) for one in curves if one.times)])
    taken: list[_Box] = []
    parts = []
    for names, value in _together(lines):
        rows = _rows([*names[:-1], f"{names[-1]} {value:.3g}"], int((frame.right - frame.left) / LETTER))
        box = _best(_boxes(frame, frame.y(value), rows), points, taken, frame)
        taken.append(box)
        for number, text in enumerate(rows):
            y = box.top + 13 + ROW * number
            parts.append(f'<text class="name" x="{box.left:.1f}" y="{y:.1f}">{escape(text)}</text>')
    return parts


def _rows(names: list[str], most: int) -> list[str]:
    """Return the names of lines that coincide in one row, or each in a row of its own if that is too long."""
    text = ", ".join(names)
    return [text] if len(text) <= most else names


def _dense(frame: _Frame, curve: Curve) -> Table:
    """Return points on a curve, a few pixels apart."""
    x = np.array([frame.x(t) for t in curve.times])
    y = np.array([frame.y(value) for value in curve.averages])
    places = np.linspace(0, len(x) - 1, 16 * len(x))
    whole = np.arange(len(x))
    return np.column_stack([np.interp(places, whole, x), np.interp(places, whole, y)])


def _best(boxes: Sequence[_Box], points: Table, taken: Sequence[_Box], frame: _Frame) -> _Box:
    """Return the first box that costs nothing, or else the one that costs least."""
    best, least = boxes[0], math.inf
    for box in boxes:
        cost = box.cost(points, taken, frame)
        if cost < least:
            best, least = box, cost
        if cost == 0:
            break
    return best


class _Box(NamedTuple):
    """Where a name may stand."""

    left: float
    top: float
    right: float
    bottom: float

    def cost(self, points: Table, taken: Sequence[_Box], frame: _Frame) -> float:
        """Tell how bad it would be: another name there is worst, then outside, then the points that it hides."""
        x, y = points.T
        hidden = np.count_nonzero((x >= self.left) & (x <= self.right) & (y >= self.top) & (y <= self.bottom))
        met = sum(self.top < one.bottom and one.top < self.bottom and self._beside(one) for one in taken)
        outside = self.bottom > frame.bottom or self.top < 2
        return float(hidden) + 1000.0 * met + 500.0 * outside

    def _beside(self, other: _Box) -> bool:
        return self.left < other.right and other.left < self.right


def _boxes(frame: _Frame, y: float, rows: Sequence[str]) -> list[_Box]:
    """Return the places about a line, the best first; then others below, should names crowd each other."""
    wide, tall = LETTER * max(len(text) for text in rows), ROW * len(rows)
    lefts = frame.left + 6, frame.right - wide
    tops = y - tall - 3, y + 3, *(y + 18 * k for k in range(1, 6)), *(y - 18 * k for k in range(2, 6))
    return [_Box(left, top, left + wide, top + tall) for top in tops for left in lefts]


def _curve(frame: _Frame, number: int, curve: Curve) -> str:
    if not curve.times:
        return ""
    points = [(frame.x(t), frame.y(value)) for t, value in zip(curve.times, curve.averages, strict=True)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return (
        f'<g clip-path="url(#plot)" class="agent{number}"><polyline points="{path}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/></g>'
    )


COLOURS = PALETTE[:4]
"""The colours of the agents, in their order; the style sheet has the same."""
