"""The service station drawn as a station: its customer, its mode, and what people say of it (Section 1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from everlearn.environments.service_station import FAST, VACANT, ServiceStation, longest_service
from everlearn.play.interpreted import Watched

WIDTH, HEIGHT = 420, 310
STREET, FLOOR = 178, 280
"""Where people stand, and where the bars of what they remember do."""

BARS = (196, 408)
"""From where to where the recent services are drawn."""

TALLEST = 5
"""Services of this many steps and more are drawn alike."""

FIGURES = 5
"""How many people stand at the street when everybody comes."""


@dataclass(frozen=True)
class Condition:
    """What can be seen of a station.

    Parameters
    ----------
    present:
        whether a customer is there
    waited:
        for how many steps
    mode:
        what the agent did last: ``fast``, ``slow``, or nothing yet
    reward:
        what came of it
    longest:
        W, the longest service among the last ``window`` customers
    arrival:
        the probability with which the next one comes
    services:
        how many customers ago, and how long, the long services were that people still talk about
    window:
        over how many customers they do

    """

    present: bool
    waited: int
    mode: str | None
    reward: float | None
    longest: int
    arrival: float
    services: tuple[tuple[int, int], ...]
    window: int


def read(stream: Watched) -> Condition | None:
    """Return the condition of a station, or None for any other task."""
    station = getattr(stream.task.model and stream.task.model.rho, "__self__", None)
    if not isinstance(station, ServiceStation):
        return None
    memory: Any = stream.memory
    clock, ages = memory
    taken = stream.taken
    mode = None if taken is None else str(stream.task.actions[taken.experience.action])
    longest = longest_service(ages)
    return Condition(
        clock != VACANT,
        max(clock, 0),
        mode,
        None if taken is None else taken.reward,
        longest,
        station.arrival_probability(longest),
        tuple({age: steps for steps, age in enumerate(ages, start=2) if age > 0}.items()),
        station.window,
    )


def say(condition: Condition) -> str:
    """Return in words what the drawing shows.

    Examples
    --------
    >>> say(Condition(True, 2, "slow", 0.0, 1, 1.0, (), 12))
    'The service station works slow. A customer has been there for 2 steps. The longest of the last 12 services took
    1 step, so the next customer comes with probability 1.'

    """
    mode = "has not begun" if condition.mode is None else f"works {condition.mode}"
    steps = f"{condition.waited} step{'' if condition.waited == 1 else 's'}"
    there = f"A customer has been there for {steps}" if condition.present else "Nobody is there"
    longest = f"{condition.longest} step{'' if condition.longest == 1 else 's'}"
    return (
        f"The service station {mode}. {there}. The longest of the last {condition.window} services took {longest}, "
        f"so the next customer comes with probability {condition.arrival:.3g}."
    )


def draw(condition: Condition) -> str:
    """Return the station as SVG.

    Examples
    --------
    >>> svg = draw(Condition(False, 0, "fast", 0.5, 2, 0.1, ((3, 2),), 12))
    >>> "nobody" in svg, svg.count('class="bar"')
    (True, 1)

    """
    return "".join(
        (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(say(condition))}" class="drawing">',
            f'<line class="street" x1="8" x2="{WIDTH - 8}" y1="{STREET}" y2="{STREET}"/>',
            *_building(condition),
            *_customer(condition),
            *_crowd(condition),
            *_reputation(condition),
            "</svg>",
        )
    )


def _building(condition: Condition) -> list[str]:
    """Draw a roof on two posts, the sign with the mode, and the counter with who serves behind it."""
    mode = condition.mode or "closed"
    kind = f"sign {condition.mode or 'idle'}"
    return [
        '<path class="roof" d="M14 46 L146 18 L278 46 V60 H14 Z"/>',
        *(f'<line class="post" x1="{x}" x2="{x}" y1="60" y2="{STREET}"/>' for x in (28, 264)),
        f'<rect class="{kind}" x="96" y="68" width="100" height="30" rx="15"/>',
        f'<text class="mode" x="146" y="88" text-anchor="middle">{escape(mode.upper())}</text>',
        *_person(82, STREET - 42, "server", scale=1.2, half=True),
        f'<rect class="counter" x="46" y="{STREET - 44}" width="72" height="44" rx="4"/>',
        *(_speed_lines() if condition.mode == FAST else ()),
    ]


def _speed_lines() -> list[str]:
    """Draw haste behind the one who serves."""
    return [
        f'<line class="dash" x1="{46 + 4 * k}" x2="{60 + 4 * k}" y1="{112 + 9 * k}" y2="{112 + 9 * k}"/>'
        for k in range(3)
    ]


def _customer(condition: Condition) -> list[str]:
    word = "nobody"
    if condition.present:
        word = f"{condition.waited} step{'' if condition.waited == 1 else 's'}" if condition.waited else "just came"
    kind = "customer" if condition.present else "gone"
    return [
        *_person(164, STREET, kind, scale=1.45),
        f'<text class="small" x="187" y="{STREET - 16}">{word}</text>',
    ]


def _crowd(condition: Condition) -> list[str]:
    """Draw the people at the street: as many as the next customer is probable."""
    number = round(FIGURES * condition.arrival) or 1
    parts = []
    for place in range(FIGURES):
        kind = "passer" if place < number else "passer away"
        parts += _person(297 + 25 * place, STREET, kind, scale=0.95)
    shown = f"{condition.arrival:.0%}"
    parts.append(f'<text class="small" x="347" y="{STREET - 70}" text-anchor="middle">next customer</text>')
    parts.append(f'<text class="told" x="347" y="{STREET - 52}" text-anchor="middle">{shown} likely</text>')
    return parts


def _person(x: float, y: float, kind: str, *, scale: float = 1.0, half: bool = False) -> list[str]:
    """Draw a head and shoulders that stand at y; only what is above a counter, where half."""
    tall = 14 if half else 27
    head, body = y - (tall + 12) * scale, y - tall * scale
    wide = 12 * scale
    return [
        f'<circle class="{kind}" cx="{x:g}" cy="{head:.1f}" r="{9 * scale:.1f}"/>',
        f'<path class="{kind}" d="M{x - wide:.1f} {y:g} V{body + wide:.1f} q0 {-wide:.1f} {wide:.1f} {-wide:.1f} '
        f'q{wide:.1f} 0 {wide:.1f} {wide:.1f} V{y:g} Z"/>',
    ]


def _reputation(condition: Condition) -> list[str]:
    """Draw what people remember: the long services, each at as many customers ago as it was, until it is forgotten."""
    left, right = BARS
    mood = "good" if condition.arrival > 0.5 else "bad"
    steps = f"{condition.longest} step{'' if condition.longest == 1 else 's'}"
    parts = [
        f'<text class="told" x="14" y="{FLOOR - 52}">Reputation: <tspan class="{mood}">{mood}</tspan></text>',
        f'<text class="small" x="14" y="{FLOOR - 28}">longest of the last</text>',
        f'<text class="small" x="14" y="{FLOOR - 10}">{condition.window} services: {steps}</text>',
        f'<line class="street" x1="{left}" x2="{right}" y1="{FLOOR}" y2="{FLOOR}"/>',
        f'<text class="small" x="{left}" y="{FLOOR + 20}">last customer</text>',
        f'<text class="small" x="{right}" y="{FLOOR + 20}" text-anchor="end">{condition.window} ago</text>',
    ]
    remembered, pitch = dict(condition.services), (right - left) / condition.window
    places = range(1, condition.window + 1)
    return parts + [_service(left + pitch * (ago - 0.5), pitch, remembered.get(ago)) for ago in places]


def _service(x: float, pitch: float, steps: int | None) -> str:
    """Draw a service that is remembered as a bar as tall as it was long, any other as a dot."""
    if steps is None:
        return f'<circle class="short" cx="{x:.1f}" cy="{FLOOR - 6}" r="{min(3.0, pitch / 3):.1f}"/>'
    height, wide = 10 + 11 * min(steps, TALLEST), max(2.0, pitch * 0.62)
    return (
        f'<rect class="bar" x="{x - wide / 2:.1f}" y="{FLOOR - height}" width="{wide:.1f}" height="{height}" rx="2"/>'
    )
