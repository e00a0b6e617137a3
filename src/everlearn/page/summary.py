"""What an agent did lately, below the scene: the shares of its actions, and what it earned."""

from __future__ import annotations

from collections import Counter
from html import escape

from everlearn.environments.service_station import ARRIVAL, BOTH
from everlearn.labels import counted
from everlearn.page import station
from everlearn.page.run import WatchedRun
from everlearn.tasks.portrait import words

MOST_ACTIONS = 5
"""Show so many actions, the most frequent ones; the others are one row."""


def write(run: WatchedRun) -> str:
    """Return the summary of the steps that were last seen of a run, in HTML."""
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
