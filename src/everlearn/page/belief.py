"""The action values in the present state: a bar for each action, with the bonus that the next visit would add."""

from __future__ import annotations

from html import escape

import numpy as np

from everlearn.agents import growing_horizon
from everlearn.page.explanation import find_bonus
from everlearn.page.knowledge import COUNTS, VALUES, Known, name_state
from everlearn.page.run import WatchedRun
from everlearn.tasks.portrait import words

MOST_ACTIONS = 8
"""Draw bars for up to this many actions: the best ones."""

SHORTEST = 0.08
"""The length of the shortest bar, as a share of the longest."""


def draw(run: WatchedRun, known: Known) -> str:
    """Return the bars in HTML; empty if the agent keeps no values."""
    if VALUES not in known.tables or known.tables[VALUES].ndim != 2:
        if not run.design.own:
            return "<p>This agent keeps no values of its actions.</p>"
        how = "pass <code>values=</code> or <code>inspect=</code> to <code>el.Design</code>"
        return f"<p>This agent does not show the values of its actions. If it has any, {how}.</p>"
    row = known.states.index(run.aleatoric_state)
    values = known.tables[VALUES][row]
    bonuses = [_bonus(run, known, row, action) for action in range(len(values))]
    order = np.argsort(-values, kind="stable")[:MOST_ACTIONS]
    low, high = _ends([values[a] for a in order], [bonuses[a] for a in order])
    bars = "".join(_draw_bar(run, known, row, int(a), bonuses[a], low, high) for a in order)
    light = " Faint: how unsure the agent is, as the bonus that the next visit would add."
    light = light if any(bonuses) else " This agent does not say how unsure it is."
    return (
        f"<p>In state <b>{escape(name_state(run, run.aleatoric_state))}</b>, an action is worth:</p>"
        f'<div class="bars">{bars}</div><p class="quiet">Full colour: the value of the action.{light}</p>'
    )


def _ends(values: list[float], bonuses: list[float]) -> tuple[float, float]:
    """Return the values at which bars begin and end, so that their differences can be seen."""
    low, high = float(min(values)), float(max(v + b for v, b in zip(values, bonuses, strict=True)))
    room = (high - low) * SHORTEST / (1 - SHORTEST) or 1.0
    return low - room, high


def _bonus(run: WatchedRun, known: Known, row: int, action: int) -> float:
    """Return the bonus of the agent of the paper at the next visit; 0 for other agents."""
    schedule = run.design.schedule
    if schedule is None or COUNTS not in known.tables or run.design.learn is not growing_horizon.learn:
        return 0.0
    sigma = known.tables.get("sigma")
    spread = None if sigma is None else float(sigma[row, action])
    return find_bonus(schedule, run.now, float(known.tables[COUNTS][row, action]) + 1.0, spread)[0]


def _draw_bar(run: WatchedRun, known: Known, row: int, action: int, bonus: float, low: float, high: float) -> str:
    value = float(known.tables[VALUES][row, action])
    dark, light = (100 * share / (high - low) for share in (value - low, bonus))
    visits = f"{known.tables[COUNTS][row, action]:,.0f} visits" if COUNTS in known.tables else ""
    return (
        f'<span>{escape(words(run.task.actions[action]))}</span><span class="track">'
        f'<i style="width:{dark:.1f}%"></i><i class="light" style="width:{light:.1f}%"></i></span>'
        f"<b>{value:,.2f}</b><small>{visits}</small>"
    )
