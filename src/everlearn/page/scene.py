"""The scene: the environment as it is now, as SVG with a text alternative.

It shows where the agent is and what it did, for any task.  The service station has its own scene.
"""

from __future__ import annotations

from html import escape

from everlearn.page import station
from everlearn.page.drawing import cut, draw_task
from everlearn.page.explanation import Explanation
from everlearn.page.run import WatchedRun
from everlearn.page.station import HEIGHT, WIDTH

LONGEST_TEXT = 26


def draw(run: WatchedRun, explained: Explanation | None) -> str:
    """Return the scene of a run as SVG: where the agent is among the aleatoric states, and what it did."""
    condition = station.read(run)
    if condition is not None:
        return station.draw(condition, None if run.latest is None else run.latest.reward, run.total_reward)
    here, seen = run.aleatoric_state, None if run.latest is None else run.latest.experience
    latest = None if seen is None else (seen.aleatoric_state, seen.next_aleatoric_state)
    name = escape(cut(run.task.portrait.name(run.task.states[here]), LONGEST_TEXT))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="drawing" ',
        f'aria-label="{escape(describe(run, explained))}">',
        *draw_task(run.task, run.memory, here, latest),
        f'<text class="caption" x="{WIDTH / 2}" y="{HEIGHT - 78}" text-anchor="middle">{name}</text>',
        *_draw_latest(explained),
        "</svg>",
    ]
    return "".join(parts)


def describe(run: WatchedRun, explained: Explanation | None) -> str:
    """Return in words where the agent is and how it got there."""
    name = run.task.portrait.name(run.task.states[run.aleatoric_state])
    if explained is None:
        return f"The agent is in aleatoric state {name}; nothing has happened yet."
    return (
        f"The agent is in aleatoric state {name}. It was in {explained.aleatoric_state}, did {explained.action}, "
        f"saw {explained.observation} and earned {explained.reward:.4g}."
    )


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
            f'<text class="told" x="{x:.0f}" y="{HEIGHT - 18}" text-anchor="middle">{escape(cut(text, 16))}</text>'
        )
    return parts
