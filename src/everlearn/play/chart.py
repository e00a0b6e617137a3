"""The chart: cumulative average reward over logarithmic time, with known lines, as SVG with a text alternative."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from everlearn.protocol import Table

NARROW = 520
"""Below this width there is less room for labels."""

LETTER, ROW = 7.4, 16
"""The approximate width of a letter, and the height of a row of text."""

SETTLED = 10
"""Averages over fewer steps jump about; they do not decide how high the figure is."""


class Curve(NamedTuple):
    """A curve to draw."""

    label: str
    times: Sequence[int]
    averages: Sequence[float]


@dataclass(frozen=True)
class _Frame:
    """The plotted area, in pixels, and the range of its axes."""

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

    def points(self, curve: Curve) -> list[tuple[float, float]]:
        return [(self.x(t), self.y(value)) for t, value in zip(curve.times, curve.averages, strict=True)]

    def across(self, kind: str, y: float) -> str:
        return f'<line class="{kind}" x1="{self.left}" x2="{self.right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def draw(curves: Sequence[Curve], lines: Mapping[str, float], width: float = 720, height: float = 340) -> str:
    """Return the chart as SVG."""
    latest = max([1000, *(curve.times[-1] for curve in curves if curve.times)])
    decades = max(3, math.ceil(math.log10(latest) - 1e-12))
    frame = _Frame(54 if width < NARROW else 60, width - 14, 16, height - 40, decades, *_range(curves, lines))
    parts = [
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(describe(curves, lines))}" class="chart">',
        *_draw_axes(frame),
        f'<clipPath id="plot"><rect x="{frame.left}" y="{frame.top - 6}" '
        f'width="{frame.right - frame.left + 6}" height="{frame.bottom - frame.top + 12}"/></clipPath>',
        *(frame.across("known", frame.y(value)) for _, value in merge(lines)),
        *(_draw_curve(number, frame.points(curve)) for number, curve in enumerate(curves) if curve.times),
        *_draw_names(frame, lines, curves),
        "</svg>",
    ]
    return "".join(parts)


def describe(curves: Sequence[Curve], lines: Mapping[str, float]) -> str:
    """Return in words what the chart shows."""
    sentences = ["Average reward so far over time."]
    for label, times, averages in curves:
        steps = f"{times[-1]:,} step{'s' if times[-1] > 1 else ''}" if times else ""
        sentences.append(f"{label}: {averages[-1]:.4g} after {steps}." if times else f"{label}: not begun.")
    if lines:
        sentences.append(f"Known lines: {', '.join(f'{name} {value:.4g}' for name, value in lines.items())}.")
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


def _range(curves: Sequence[Curve], lines: Mapping[str, float]) -> tuple[float, float]:
    """Return the lowest and the highest value on the vertical axis."""
    values = [*lines.values()]
    for _, times, averages in curves:
        values += [value for t, value in zip(times, averages, strict=True) if t >= SETTLED or t == times[-1]]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    low = min(low, 0.0) if low >= 0 or high <= 0 else low
    margin = 0.12 * (high - low) or 0.5
    return low - (margin if low < 0 else 0.0), high + margin


def _ticks(low: float, high: float) -> list[float]:
    """Return about four round numbers."""
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _draw_axes(frame: _Frame) -> list[str]:
    parts = []
    for value in _ticks(frame.low, frame.high):
        y = frame.y(value)
        parts.append(frame.across("grid", y))
        parts.append(f'<text class="tick" x="{frame.left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    every = 1 if (frame.right - frame.left) / frame.decades > 44 else 2
    for decade in range(0, frame.decades + 1, every):
        x = frame.x(10.0**decade)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>')
        x, anchor = (x + 6, "end") if decade == frame.decades else (x, "middle")
        number = f"{10**decade:,}" if decade <= 3 else f'10<tspan dy="-5" class="power">{decade}</tspan>'
        parts.append(f'<text class="tick" x="{x:.1f}" y="{frame.bottom + 18}" text-anchor="{anchor}">{number}</text>')
    middle = (frame.left + frame.right) / 2
    parts.append(f'<text class="axis" x="{middle:.1f}" y="{frame.bottom + 35}" text-anchor="middle">time step</text>')
    return parts


def _draw_curve(number: int, points: Sequence[tuple[float, float]]) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return (
        f'<g clip-path="url(#plot)" class="agent{number}"><polyline points="{path}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/></g>'
    )


class _Box(NamedTuple):
    """Where a name may stand."""

    left: float
    top: float
    right: float
    bottom: float

    def cost(self, points: Table, others: Sequence[_Box], frame: _Frame) -> float:
        """Return how bad this place is: another name there is worst, then outside, then hidden points of curves."""
        x, y = points.T
        hidden = np.count_nonzero((x >= self.left) & (x <= self.right) & (y >= self.top) & (y <= self.bottom))
        outside = self.bottom > frame.bottom or self.top < 2
        return float(hidden) + 1000.0 * sum(self._meets(other) for other in others) + 500.0 * outside

    def _meets(self, other: _Box) -> bool:
        beside = self.left < other.right and other.left < self.right
        return beside and self.top < other.bottom and other.top < self.bottom


def _draw_names(frame: _Frame, lines: Mapping[str, float], curves: Sequence[Curve]) -> list[str]:
    """Draw the names of known lines: above or below them, at either end, where they hide least of the curves."""
    points = np.concatenate([np.empty((0, 2)), *(_dense(frame.points(curve)) for curve in curves if curve.times)])
    boxes: list[_Box] = []
    parts = []
    for names, value in merge(lines):
        rows = [*names[:-1], f"{names[-1]} {value:.3g}"]
        if len(", ".join(rows)) <= int((frame.right - frame.left) / LETTER):
            rows = [", ".join(rows)]
        boxes.append(_choose_box(frame, frame.y(value), rows, points, boxes))
        for number, text in enumerate(rows):
            y = boxes[-1].top + 13 + ROW * number
            parts.append(f'<text class="name" x="{boxes[-1].left:.1f}" y="{y:.1f}">{escape(text)}</text>')
    return parts


def _dense(points: Sequence[tuple[float, float]]) -> Table:
    """Return more points on a curve, a few pixels apart."""
    corners = np.arange(len(points))
    places = np.linspace(0, len(points) - 1, 16 * len(points))
    return np.column_stack([np.interp(places, corners, axis) for axis in np.array(points).T])


def _choose_box(frame: _Frame, y: float, rows: Sequence[str], points: Table, others: Sequence[_Box]) -> _Box:
    """Return the best place near a line: the first that costs nothing, else the one that costs least."""
    wide, tall = LETTER * max(len(text) for text in rows), ROW * len(rows)
    costs: dict[_Box, float] = {}
    for top in (y - tall - 3, y + 3, *(y + 18 * k for k in range(1, 6)), *(y - 18 * k for k in range(2, 6))):
        for left in (frame.left + 6, frame.right - wide):
            box = _Box(left, top, left + wide, top + tall)
            costs[box] = box.cost(points, others, frame)
            if costs[box] == 0:
                return box
    return min(costs, key=costs.__getitem__)
