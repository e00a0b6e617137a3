"""What the environment looks like now, as SVG with a text alternative: for any task where the agent is and what it did.

A task of its own kind may have a drawing of its own; the station has.
"""

from __future__ import annotations

from html import escape

from everlearn.labels import show
from everlearn.play import station
from everlearn.play.explanation import Explanation
from everlearn.play.interpreted import Watched

MOST_NODES, FEW_NODES = 120, 5
"""Up to how many aleatoric states each is drawn, and up to how many there is room for a name below each."""

WIDTH, HEIGHT = 420, 310
LONGEST_TEXT = 26


def draw(stream: Watched, explained: Explanation | None) -> str:
    """Return the present condition of a stream as SVG."""
    condition = station.read(stream)
    if condition is not None:
        return station.draw(condition)
    return generic(stream, explained)


def generic(stream: Watched, explained: Explanation | None) -> str:
    """Return where the agent is among the aleatoric states, what it did and what came of it."""
    here, number = stream.aleatoric_state, len(stream.task.states)
    name = show(stream.task.states[here])
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="drawing" ',
        f'aria-label="{escape(say(stream, explained))}">',
        *(_nodes(stream) if number <= MOST_NODES else _strip(here, number)),
        f'<text class="caption" x="{WIDTH / 2}" y="{HEIGHT - 78}" text-anchor="middle">'
        f"state {escape(_short(name))}</text>",
        *_told(explained),
        "</svg>",
    ]
    return "".join(parts)


def say(stream: Watched, explained: Explanation | None) -> str:
    """Return in words where the agent is and how it came there."""
    name = show(stream.task.states[stream.aleatoric_state])
    if explained is None:
        return f"The agent is in aleatoric state {name}; nothing has happened yet."
    return (
        f"The agent is in aleatoric state {name}. It was in {explained.aleatoric_state}, did {explained.action}, "
        f"saw {explained.observation} and earned {explained.reward:.4g}."
    )


def _nodes(stream: Watched) -> list[str]:
    """Draw a circle for each aleatoric state, in rows; the present one is filled."""
    number, here = len(stream.task.states), stream.aleatoric_state
    columns = number if number <= 8 else min(20, max(8, round((number * 2.2) ** 0.5)))
    rows = -(-number // columns)
    pitch = min(76.0 if number <= FEW_NODES else 48.0, (WIDTH - 40) / columns, (HEIGHT - 120) / rows)
    left, top = (WIDTH - pitch * (columns - 1)) / 2, 24 + (HEIGHT - 130 - pitch * (rows - 1)) / 2
    parts = []
    for s in range(number):
        x, y = left + pitch * (s % columns), top + pitch * (s // columns)
        kind = "node here" if s == here else "node"
        radius = min(pitch * 0.36, 20.0)
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>')
        text = show(stream.task.states[s])
        if len(text) > 3 and number <= FEW_NODES:
            below = f'x="{x:.1f}" y="{y + radius + 18:.1f}" text-anchor="middle"'
            parts.append(f'<text class="small" {below}>{escape(_short(text, 10))}</text>')
        if len(text) <= 3 and pitch >= 24:
            shade = "inside here" if s == here else "inside"
            parts.append(
                f'<text class="{shade}" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(text)}</text>'
            )
    return parts


def _strip(here: int, number: int) -> list[str]:
    """Draw where a state lies among many."""
    x = 20 + (WIDTH - 40) * here / max(number - 1, 1)
    return [
        f'<rect class="node" x="20" y="74" width="{WIDTH - 40}" height="22" rx="11"/>',
        f'<circle class="node here" cx="{x:.1f}" cy="85" r="14"/>',
        '<text class="small" x="20" y="124">1</text>',
        f'<text class="small" x="{WIDTH - 20}" y="124" text-anchor="end">{number:,} states</text>',
    ]


def _told(explained: Explanation | None) -> list[str]:
    """Draw what was done, seen and earned, side by side."""
    told = ("–", "–", "–")
    if explained is not None:
        told = explained.action, explained.observation, f"{explained.reward:+.4g}"
    parts = []
    for place, (head, text) in enumerate(zip(("did", "saw", "earned"), told, strict=True)):
        x = WIDTH * (place + 0.5) / 3
        parts.append(f'<text class="small" x="{x:.0f}" y="{HEIGHT - 40}" text-anchor="middle">{head}</text>')
        parts.append(
            f'<text class="told" x="{x:.0f}" y="{HEIGHT - 18}" text-anchor="middle">{escape(_short(text, 16))}</text>'
        )
    return parts


def _short(text: str, most: int = LONGEST_TEXT) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
