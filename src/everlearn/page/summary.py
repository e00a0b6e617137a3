"""What an agent did lately, in place of a scene that would flicker: the shares of its actions, and what it earned."""

from __future__ import annotations

from collections import Counter
from html import escape

from everlearn.environments.service_station import ARRIVAL, BOTH
from everlearn.labels import counted
from everlearn.page import station
from everlearn.page.run import WatchedRun
from everlearn.page.station import HEIGHT, WIDTH
from everlearn.tasks.portrait import words

MOST_ACTIONS = 5
"""Show so many actions, the most frequent ones; the others are one row."""

LEFT, RIGHT, ROW = 130, 350, 34
"""Where bars begin and end, and the height of a row."""


def draw(run: WatchedRun) -> str:
    """Return the summary of the steps that were last seen of a run, as SVG."""
    rows = _shares(run)
    earned = sum(step.reward for step in run.seen) / max(1, len(run.seen))
    said = "; ".join(f"{name} {share:.0%}" for name, share in rows)
    title = f"a sample of {counted(len(run.seen), 'recent step')}"
    top = (HEIGHT - 70 - ROW * len(rows)) / 2
    return "".join(
        (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="drawing summary" ',
            f'aria-label="{escape(f"In {title}: {said}.")}">',
            f'<text class="small" x="{WIDTH / 2}" y="26" text-anchor="middle">{title}</text>',
            *(_draw_row(name, share, 30 + top + ROW * place) for place, (name, share) in enumerate(rows)),
            f'<text class="caption" x="{WIDTH / 2}" y="{HEIGHT - 18}" text-anchor="middle">'
            f"earned {earned:+.2f} per step</text></svg>",
        )
    )


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


def _draw_row(name: str, share: float, y: float) -> str:
    return (
        f'<text x="{LEFT - 10}" y="{y + 15:.0f}" text-anchor="end">{escape(name[:16])}</text>'
        f'<rect class="trough" x="{LEFT}" y="{y:.0f}" width="{RIGHT - LEFT}" height="20" rx="4"/>'
        f'<rect class="share" x="{LEFT}" y="{y:.0f}" width="{(RIGHT - LEFT) * share:.1f}" height="20" rx="4"/>'
        f'<text x="{RIGHT + 10}" y="{y + 15:.0f}">{share:.0%}</text>'
    )
