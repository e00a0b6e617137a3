"""Drawings of tasks, as SVG: a board, letters, bars, or the aleatoric states and the ways between them.

The portrait of a task says which one; without one, the graph is drawn from the model, which suits a user's own task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TypeAlias

from everlearn.errors import EverlearnError
from everlearn.protocol import Label
from everlearn.tables import PairTable, make_table
from everlearn.tasks.portrait import Bars, Board, Letters
from everlearn.tasks.task import Task

WIDTH, HEIGHT = 420, 190
"""The room for a drawing."""

MOST_NODES = 120
"""Draw each aleatoric state if there are at most this many, and otherwise the place of the present one among them."""

MOST_JOINED = 24
"""Draw the ways between aleatoric states up to this many."""

MOST_PAIRS = 3000
"""How many pairs of a memory and an aleatoric state to look through for ways."""

NAMED, MANY = 8, 60
"""Write the names of aleatoric states up to this many, and draw ways faintly if there are more than this many."""

LETTER = 7.0
"""The width of a letter of a name, roughly."""

Box: TypeAlias = tuple[float, float, float, float]

MOST_KEPT = 64
"""How many tasks to keep the ways of."""

_KEPT: dict[int, tuple[Task, frozenset[tuple[int, int]]]] = {}  # with the task, so that no other gets its number

WALL, PLACE = "#", "."


def draw_task(task: Task, memory: Label | None, here: int, latest: tuple[int, int] | None = None) -> list[str]:
    """Return the drawing of a task, given what the environment remembers and the aleatoric state.

    ``latest`` is the way that was taken last, from one aleatoric state to another.
    """
    drawing, label = task.portrait.drawing, task.states[here]
    if isinstance(drawing, Board):
        return _draw_board(drawing, memory)
    if isinstance(drawing, Letters) and isinstance(memory, str):
        return _draw_letters(drawing, memory)
    if isinstance(drawing, Bars):
        for numbers in (memory, label):
            if _fits(numbers, drawing):
                return _draw_bars(drawing, [int(number) for number in numbers])  # type: ignore[union-attr, arg-type]
    if len(task.states) > MOST_NODES:
        return _draw_strip(here, len(task.states))
    return _draw_graph(task, here, latest)


def _fits(numbers: object, drawing: Bars) -> bool:
    whole = isinstance(numbers, tuple) and all(isinstance(number, int) for number in numbers)
    return whole and len(numbers) == len(drawing.names)  # type: ignore[arg-type]


def _draw_board(board: Board, memory: Label | None) -> list[str]:
    """Draw walls, places and goals, and the agent where the memory says that it is."""
    columns = max(map(len, board.rows))
    size = min((WIDTH - 40) / columns, (HEIGHT - 20) / len(board.rows), 64)
    left, top = (WIDTH - size * columns) / 2, (HEIGHT - size * len(board.rows)) / 2
    parts = []
    for row, marks in enumerate(board.rows):
        for column, mark in enumerate(marks):
            x, y = left + size * column, top + size * row
            kind = "wall" if mark == WALL else "node"
            parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}"/>')
            if mark in board.goals:
                name = escape(board.goals[mark])
                parts.append(_text("small", x + size / 2, y + size / 2 + 4, name))
    place: Label | None = None if memory is None else board.places.get(memory, memory)
    if isinstance(place, tuple) and len(place) == 2 and all(isinstance(part, int) for part in place):
        row, column = (int(part) for part in place)  # type: ignore[arg-type]
        x, y = left + size * (column + 0.5), top + size * (row + 0.5)
        parts.append(f'<circle class="node here" cx="{x:.1f}" cy="{y:.1f}" r="{size * 0.28:.1f}"/>')
    return parts


def _draw_letters(drawing: Letters, memory: str) -> list[str]:
    size = min(60.0, (HEIGHT - 12) / drawing.columns)
    left, top = (WIDTH - size * drawing.columns) / 2, (HEIGHT - size * math.ceil(len(memory) / drawing.columns)) / 2
    parts = []
    for place, letter in enumerate(memory):
        x, y = left + size * (place % drawing.columns), top + size * (place // drawing.columns)
        parts.append(f'<rect class="node" x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}"/>')
        if letter != PLACE:
            parts.append(_text("caption", x + size / 2, y + size / 2 + 6, escape(letter)))
    return parts


def _draw_bars(drawing: Bars, numbers: Sequence[int]) -> list[str]:
    """Draw a bar per number, with its name below; a number above the bar says it exactly."""
    pitch = min(110.0, (WIDTH - 30) / len(numbers))
    left, floor, room = (WIDTH - pitch * len(numbers)) / 2, HEIGHT - 26, HEIGHT - 56
    parts = [f'<line class="street" x1="{left:.1f}" x2="{WIDTH - left:.1f}" y1="{floor}" y2="{floor}"/>']
    for place, (name, number) in enumerate(zip(drawing.names, numbers, strict=True)):
        x, height = left + pitch * (place + 0.5), room * min(number / max(drawing.most, 1), 1.0)
        parts.append(
            f'<rect class="fill" x="{x - pitch * 0.28:.1f}" y="{floor - height:.1f}" width="{pitch * 0.56:.1f}" '
            f'height="{height:.1f}"/>'
        )
        parts.append(_text("told", x, floor - height - 7, f"{number:,}"))
        parts.append(_text("small", x, floor + 18, escape(name)))
    return parts


def _draw_strip(here: int, number: int) -> list[str]:
    """Draw where a state lies among many."""
    x = 20 + (WIDTH - 40) * here / max(number - 1, 1)
    return [
        f'<rect class="node" x="20" y="74" width="{WIDTH - 40}" height="22" rx="11"/>',
        f'<circle class="node here" cx="{x:.1f}" cy="85" r="14"/>',
        '<text class="small" x="20" y="124">1</text>',
        f'<text class="small" x="{WIDTH - 20}" y="124" text-anchor="end">{number:,} states</text>',
    ]


def _draw_graph(task: Task, here: int, latest: tuple[int, int] | None) -> list[str]:
    """Draw a circle for each aleatoric state and a line for each way; the present state is filled."""
    number = len(task.states)
    ways = find_ways(task) if number <= MOST_JOINED else frozenset[tuple[int, int]]()
    chain = all(abs(a - b) <= 1 for a, b in ways) or number <= 2
    places, radius = _row(number) if chain or number > MOST_JOINED else _ring(number)
    kind = "way" if len(ways) <= MANY else "way many"
    parts = [_line(kind, places[a], places[b], radius) for a, b in sorted(ways)]
    if latest is not None and latest[0] != latest[1]:
        parts.append(_line("way taken", places[latest[0]], places[latest[1]], radius))
    names = [task.portrait.name(label) for label in task.states]
    short = [name.rpartition(" ")[2] if number > NAMED else name for name in names]
    taken = [(x - radius, y - radius, x + radius, y + radius) for x, y in places]
    for state, (x, y) in enumerate(places):
        now = " here" if state == here else ""
        parts.append(f'<circle class="node{now}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>')
    for state, (x, y) in enumerate(places):
        now = " here" if state == here else ""
        if len(short[state]) <= max(2, radius / 5) and "(" not in names[state]:
            parts.append(_text(f"inside{now}", x, y + 4.5, escape(short[state])))
        elif number <= NAMED:
            parts += _write_name(cut(short[state], 14), x, y, radius, taken)
    return parts


def _write_name(name: str, x: float, y: float, radius: float, taken: list[Box]) -> list[str]:
    """Write a name below, above or beside a circle, wherever it covers nothing; nowhere if there is no room."""
    wide = LETTER * len(name)
    beside = radius + 5 + wide / 2
    spots = [(x, y + radius + 16), (x, y - radius - 7), (x + beside, y + 4.5), (x - beside, y + 4.5)]
    for middle, line in spots:
        box = (middle - wide / 2, line - 11, middle + wide / 2, line + 3)
        inside = box[0] >= 0 and box[2] <= WIDTH and box[1] >= 0 and box[3] <= HEIGHT
        if inside and not any(overlap(box, other) for other in taken):
            taken.append(box)
            return [_text("small over", middle, line, escape(name))]
    return []


def overlap(box: Box, other: Box) -> bool:
    """Return whether two boxes share more than an edge; a box is left, top, right and bottom."""
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _row(number: int) -> tuple[list[tuple[float, float]], float]:
    """Return places in one row, or in several if there are many, and the radius of a circle."""
    columns = number if number <= 12 else min(20, max(8, round((number * 2.2) ** 0.5)))
    rows = -(-number // columns)
    pitch = min(110.0 if number <= 5 else 60.0, (WIDTH - 30) / columns, (HEIGHT - 20) / rows)
    left, top = (WIDTH - pitch * (columns - 1)) / 2, (HEIGHT - pitch * (rows - 1)) / 2
    places = [(left + pitch * (s % columns), top + pitch * (s // columns)) for s in range(number)]
    return places, min(pitch * 0.3, 22.0)


def _ring(number: int) -> tuple[list[tuple[float, float]], float]:
    """Return places on an ellipse, and the radius of a circle."""
    radius = min(18.0, 170 / number + 4)
    top, bottom = 2 * radius, HEIGHT - radius - 22  # with room for a loop above, and for a name below
    wide, middle, tall = WIDTH / 2 - radius - 40, (top + bottom) / 2, (bottom - top) / 2
    turns = [2 * math.pi * s / number - math.pi / 2 for s in range(number)]
    return [(WIDTH / 2 + wide * math.cos(turn), middle + tall * math.sin(turn)) for turn in turns], radius


def _line(kind: str, a: tuple[float, float], b: tuple[float, float], radius: float) -> str:
    """Draw a way from the edge of one circle to that of another; a way to the same place is a loop above it."""
    (x, y), (u, v) = a, b
    if a == b:
        loop = f"M{x - radius * 0.6:.1f} {y - radius * 0.8:.1f} C{x - radius:.1f} {y - radius * 2.2:.1f}"
        back = f"{x + radius:.1f} {y - radius * 2.2:.1f} {x + radius * 0.6:.1f} {y - radius * 0.8:.1f}"
        return f'<path class="{kind}" d="{loop} {back}"/>'
    length = math.hypot(u - x, v - y)
    across, down = (u - x) / length, (v - y) / length
    bend = 0.12 * length
    middle = ((x + u) / 2 + bend * down, (y + v) / 2 - bend * across)
    start, end = (x + radius * across, y + radius * down), (u - radius * across, v - radius * down)
    path = f"M{start[0]:.1f} {start[1]:.1f} Q{middle[0]:.1f} {middle[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    return f'<path class="{kind}" d="{path}"/>'


def find_ways(task: Task) -> frozenset[tuple[int, int]]:
    """Return the pairs of aleatoric states of which the second can follow the first; none if that is not known.

    Examples
    --------
    >>> from everlearn.tasks.riverswim import riverswim
    >>> sorted(find_ways(riverswim(states=3)))
    [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]

    """
    if id(task) not in _KEPT:
        if len(_KEPT) >= MOST_KEPT:
            _KEPT.clear()
        _KEPT[id(task)] = task, frozenset() if task.model is None else _ways(task)
    return _KEPT[id(task)][1]


def _ways(task: Task) -> frozenset[tuple[int, int]]:
    try:
        table = make_table(task, MOST_PAIRS)
        table.complete()
    except EverlearnError:
        return frozenset()
    rows = table.view()[0]["state"].reshape(-1, table.actions * table.view()[1])
    if isinstance(table, PairTable):
        rows = rows[: table.expanded]
        starts = [table.indexed.state(label) for _, label in table.labels]
    else:
        starts = table.states.tolist()
    return frozenset((start, int(end)) for start, row in zip(starts, rows, strict=True) for end in row)


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{text}</text>'


def cut(text: str, most: int) -> str:
    """Return a text, cut off if it has too many letters."""
    return text if len(text) <= most else text[: most - 1] + "…"
