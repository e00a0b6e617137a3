"""The service station drawn as a station: its customer, its mode, and what people say of it (Section 1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from everlearn.environments.service_station import FAST, VACANT, ServiceStation, longest_service
from everlearn.page.run import WatchedRun
from everlearn.tasks.task import Task

WIDTH, HEIGHT = 420, 310
"""The size of every scene."""

STREET, FACES = 178, 248
"""The heights at which people stand, and of the faces of the last customers."""

LEFT, RIGHT = 14, 406
"""The ends of the row of faces."""

FIGURES = 5
"""How many people stand at the street if the next customer is certain."""


@dataclass(frozen=True)
class Condition:
    """What can be seen of a station."""

    present: bool
    """Whether a customer is there."""
    waited: int
    """For how many steps that customer has been there."""
    mode: str | None
    """What the agent did last: ``fast`` or ``slow``, or None before the first step."""
    longest: int
    """W, the longest service among the last ``window`` customers."""
    arrival: float
    """The probability of the next customer."""
    services: tuple[tuple[int, int], ...]
    """The long services that people remember: how many customers ago, and how many steps."""
    window: int
    """The number of customers whose service is remembered."""


def read(run: WatchedRun) -> Condition | None:
    """Return the condition of a station, or None for any other task."""
    mode = None if run.latest is None else str(run.task.actions[run.latest.experience.action])
    return read_task(run.task, run.memory, mode)


def read_task(task: Task, memory: Any, mode: str | None) -> Condition | None:
    """Return the condition of a station from what it remembers and its mode, or None for any other task."""
    station = getattr(task.model and task.model.rho, "__self__", None)
    if not isinstance(station, ServiceStation):
        return None
    clock, ages = memory
    longest = longest_service(ages)
    return Condition(
        clock != VACANT,
        max(clock, 0),
        mode,
        longest,
        station.arrival_probability(longest),
        tuple({age: steps for steps, age in enumerate(ages, start=2) if age > 0}.items()),
        station.window,
    )


def describe(condition: Condition) -> str:
    """Return in words what the drawing shows."""
    mode = "has not begun" if condition.mode is None else f"works {condition.mode}"
    there = f"A customer has been there for {_steps(condition.waited)}" if condition.present else "Nobody is there"
    return (
        f"The service station {mode}. {there}. The longest of the last {condition.window} services took "
        f"{_steps(condition.longest)}, so the next customer comes with probability {condition.arrival:.3g}."
    )


def draw(condition: Condition, earned: float | None = None, till: float | None = None) -> str:
    """Return the station as SVG, with what was earned in the latest step and what is in the till, if they are given."""
    return "".join(
        (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="drawing" ',
            f'aria-label="{escape(describe(condition))}">',
            f'<line class="street" x1="8" x2="{WIDTH - 8}" y1="{STREET}" y2="{STREET}"/>',
            *_draw_building(condition),
            *_draw_customer(condition),
            *_draw_crowd(condition),
            *_draw_reputation(condition),
            *_draw_money(earned, till),
            "</svg>",
        )
    )


def _draw_building(condition: Condition) -> list[str]:
    """Draw a roof on two posts, the sign with the mode, and the counter with who serves behind it."""
    mode = condition.mode or "open"  # as in the game
    kind = f"sign {condition.mode or 'idle'}"
    return [
        '<path class="roof" d="M14 46 L146 18 L278 46 V60 H14 Z"/>',
        *(f'<line class="post" x1="{x}" x2="{x}" y1="60" y2="{STREET}"/>' for x in (28, 264)),
        f'<rect class="{kind}" x="96" y="68" width="100" height="30" rx="15"/>',
        f'<text class="mode" x="146" y="88" text-anchor="middle">{escape(mode.upper())}</text>',
        *_draw_person(82, STREET - 42, "server", scale=1.2, half=True),
        f'<rect class="counter" x="46" y="{STREET - 44}" width="72" height="44" rx="4"/>',
        *(
            f'<line class="dash" x1="{46 + 4 * k}" x2="{60 + 4 * k}" y1="{112 + 9 * k}" y2="{112 + 9 * k}"/>'
            for k in range(3 if condition.mode == FAST else 0)
        ),
    ]


def _draw_customer(condition: Condition) -> list[str]:
    word = "nobody"
    if condition.present:
        word = _steps(condition.waited) if condition.waited else "just came"
    kind = "customer" if condition.present else "gone"
    return [
        *_draw_person(164, STREET, kind, scale=1.45),
        f'<text class="small" x="187" y="{STREET - 16}">{word}</text>',
    ]


def _draw_crowd(condition: Condition) -> list[str]:
    """Draw people at the street: the more, the more probable the next customer is."""
    number = round(FIGURES * condition.arrival) or 1
    parts = []
    for place in range(FIGURES):
        kind = "passer" if place < number else "passer away"
        parts += _draw_person(297 + 25 * place, STREET, kind, scale=0.95)
    parts.append(f'<text class="small" x="347" y="{STREET - 70}" text-anchor="middle">next customer</text>')
    parts.append(
        f'<text class="told" x="347" y="{STREET - 52}" text-anchor="middle">{condition.arrival:.0%} likely</text>'
    )
    return parts


def _draw_money(earned: float | None, till: float | None) -> list[str]:
    """Draw what came in or was paid in the latest step, and what is in the till."""
    parts = []
    if till is not None:
        parts.append(f'<text class="mode till" x="82" y="{STREET - 26}" text-anchor="middle">till</text>')
        parts.append(f'<text class="mode till" x="82" y="{STREET - 9}" text-anchor="middle">{_short(till)}</text>')
    if earned:
        kind = "good" if earned > 0 else "bad"
        parts.append(f'<text class="told {kind}" x="200" y="{STREET - 52}">{earned:+.3g}</text>')
    return parts


def _short(amount: float) -> str:
    """Write an amount in few letters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(amount) >= size:
            return f"{amount / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{amount:.5g}"


def _draw_person(x: float, y: float, kind: str, *, scale: float = 1.0, half: bool = False) -> list[str]:
    """Draw a person who stands at y; if half, only what is above a counter."""
    tall = 14 if half else 27
    head, body = y - (tall + 12) * scale, y - tall * scale
    wide = 12 * scale
    return [
        f'<circle class="{kind}" cx="{x:g}" cy="{head:.1f}" r="{9 * scale:.1f}"/>',
        f'<path class="{kind}" d="M{x - wide:.1f} {y:g} V{body + wide:.1f} q0 {-wide:.1f} {wide:.1f} {-wide:.1f} '
        f'q{wide:.1f} 0 {wide:.1f} {wide:.1f} V{y:g} Z"/>',
    ]


def _draw_reputation(condition: Condition) -> list[str]:
    """Draw what people remember: the faces of the last customers, the latest first, sour if the service was long.

    Of services before a longer one nothing is remembered, since they decide nothing: such a face is blank.
    """
    mood = "good" if condition.arrival > 0.5 else "bad"
    longest = f"longest of {condition.window} services: {_steps(condition.longest)}"
    parts = [
        f'<text class="told" x="{LEFT}" y="{FACES - 32}">Reputation: <tspan class="{mood}">{mood}</tspan></text>',
        f'<text class="small" x="{RIGHT}" y="{FACES - 32}" text-anchor="end">{longest}</text>',
        f'<text class="small" x="{LEFT}" y="{FACES + 36}">last customer</text>',
        f'<text class="small" x="{RIGHT}" y="{FACES + 36}" text-anchor="end">{condition.window} ago</text>',
    ]
    remembered, pitch = dict(condition.services), (RIGHT - LEFT) / condition.window
    latest = min(remembered, default=condition.window + 1)
    for ago in range(1, condition.window + 1):
        kind = "sour" if ago in remembered else "happy" if ago < latest else "blank"
        parts.append(_draw_face(LEFT + pitch * (ago - 0.5), pitch, kind))
    return parts


def _draw_face(x: float, pitch: float, kind: str) -> str:
    size = min(12.0, pitch * 0.42)
    if kind == "blank":
        return f'<circle class="face blank" cx="{x:.1f}" cy="{FACES}" r="{size:.1f}"/>'
    smile, below = (-0.5, 0.5) if kind == "sour" else (0.5, 0.25)
    eyes = " ".join(f"M{x + side * size / 3:.1f} {FACES - size / 4:.1f} v.1" for side in (-1, 1))
    mouth = f"M{x - 0.4 * size:.1f} {FACES + below * size:.1f} q{0.4 * size:.1f} {smile * size:.1f} {0.8 * size:.1f} 0"
    return (
        f'<circle class="face {kind}" cx="{x:.1f}" cy="{FACES}" r="{size:.1f}"/>'
        f'<path class="face {kind}" d="{eyes} {mouth}"/>'
    )


def _steps(number: int) -> str:
    return f"{number} step{'' if number == 1 else 's'}"
