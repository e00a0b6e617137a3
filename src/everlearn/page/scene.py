"""The scene: the environment as it is now, as SVG with a text alternative.

It shows where the agent is and what it did, for any task.  The service station has its own scene.
"""

from __future__ import annotations

from html import escape

from everlearn.labels import show
from everlearn.page import station
from everlearn.page.explanation import Explanation
from everlearn.page.run import WatchedRun
from everlearn.page.station import HEIGHT, WIDTH

MOST_NODES, FEW_NODES = 120, 5
"""Draw each aleatoric state up to this many, with a name below each up to this many."""

LONGEST_TEXT = 26


def draw(run: WatchedRun, explained: Explanation | None) -> str:
    """Return the scene of a run as SVG: where the agent is among the aleatoric states, and what it did."""
    condition = station.read(run)
    if condition is not None:
        return station.draw(condition)
    here, number = run.aleatoric_state, len(run.task.states)
    name = show(run.task.states[here])
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="drawing" ',
        f'aria-label="{escape(describe(run, explained))}">',
        *(_draw_nodes(run) if number <= MOST_NODES else _draw_strip(here, number)),
        f'<text class="caption" x="{WIDTH / 2}" y="{HEIGHT - 78}" text-anchor="middle">'
        f"state {escape(_short(name))}</text>",
        *_draw_latest(explained),
        "</svg>",
    ]
    return "".join(parts)


def describe(run: WatchedRun, explained: Explanation | None) -> str:
    """Return in words where the agent is and how it got there."""
    name = show(run.task.states[run.aleatoric_state])
    if explained is None:
        return f"The agent is in aleatoric state {name}; nothing has happened yet."
    return (
        f"The agent is in aleatoric state {name}. It was in {explained.aleatoric_state}, did {explained.action}, "
        f"saw {explained.observation} and earned {explained.reward:.4g}."
    )


def _draw_nodes(run: WatchedRun) -> list[str]:
    """Draw a circle for each aleatoric state, in rows; the present one is filled."""
    number, here = len(run.task.states), run.aleatoric_state
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
        text = show(run.task.states[s])
        if len(text) > 3 and number <= FEW_NODES:
            below = f'x="{x:.1f}" y="{y + radius + 18:.1f}" text-anchor="middle"'
            parts.append(f'<text class="small" {below}>{escape(_short(text, 10))}</text>')
        if len(text) <= 3 and pitch >= 24:
            shade = "inside here" if s == here else "inside"
            parts.append(
                f'<text class="{shade}" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(text)}</text>'
            )
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


def _draw_latest(explained: Explanation | None) -> list[str]:
    """Draw what was done, seen and earned in the latest step, side by side."""
    texts = ("–", "–", "–")
    if explained is not None:
        texts = explained.action, explained.observation, f"{explained.reward:+.4g}"
    parts = []
    for place, (head, text) in enumerate(zip(("did", "saw", "earned"), texts, strict=True)):
        x = WIDTH * (place + 0.5) / 3
        parts.append(f'<text class="small" x="{x:.0f}" y="{HEIGHT - 40}" text-anchor="middle">{head}</text>')
        parts.append(
            f'<text class="told" x="{x:.0f}" y="{HEIGHT - 18}" text-anchor="middle">{escape(_short(text, 16))}</text>'
        )
    return parts


def _short(text: str, most: int = LONGEST_TEXT) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
