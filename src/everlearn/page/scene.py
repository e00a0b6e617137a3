"""The scene: the environment as it is now, as SVG with a text alternative, and below it what the agent did lately.

It shows where the agent is and what it did, for any task.  The service station has its own scene.
"""

from __future__ import annotations

from collections import Counter
from html import escape

from everlearn.environments.service_station import ARRIVAL, BOTH
from everlearn.labels import counted
from everlearn.page import station
from everlearn.page.drawing import cut, draw_task
from everlearn.page.explanation import Explanation
from everlearn.page.run import WatchedRun
from everlearn.page.station import HEIGHT, WIDTH
from everlearn.tasks.portrait import words

LONGEST_TEXT = 26

MOST_ACTIONS = 5
"""Show the shares of so many actions, the most frequent ones; the others are one row."""


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


def summarise(run: WatchedRun) -> str:
    """Return the shares of the actions in the steps that were last seen of a run, and what it earned, in HTML."""
    earned = sum(step.reward for step in run.seen) / max(1, len(run.seen))
    shares = [
        f'<span>{escape(name[:16])} <i style="--share:{share:.1%}"></i> <b>{share:.0%}</b></span>'
        for name, share in _shares(run)
    ]
    parts = ["<span>lately:</span>", *shares, f"<span>{earned:+.2f} per step</span>"]
    title = f"In a sample of {counted(len(run.seen), 'recent step')}"
    return f'<div class="lately" title="{title}">{"".join(parts)}</div>'


def _shares(run: WatchedRun) -> list[tuple[str, float]]:
    """Return the share of each action where it matters; for the station, also that of steps with a new customer."""
    chosen = [step.action for step in run.seen if not run.decisions or step.state in run.decisions]
    actions = Counter(dict.fromkeys(range(len(run.task.actions)), 0))
    actions.update(chosen)
    number = max(1, len(chosen))
    frequent = sorted(sorted(actions, key=lambda action: -actions[action])[:MOST_ACTIONS])
    rows = [(words(run.task.actions[action]), actions[action] / number) for action in frequent]
    if len(actions) > len(frequent):
        rest = sum(actions[action] for action in actions if action not in frequent)
        rows.append((f"{len(actions) - len(frequent)} others", rest / number))
    if station.read(run) is not None:
        came = [run.task.observations[step.observation] in (ARRIVAL, BOTH) for step in run.seen]
        rows.append(("new customer", sum(came) / max(1, len(came))))
    return rows
