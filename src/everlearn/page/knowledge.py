"""What an agent knows, as a table: Q above N for every aleatoric state and action, and what changed in colour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np

from everlearn.page.run import WatchedRun
from everlearn.protocol import ScheduleValues, Table
from everlearn.tasks.portrait import words

MOST_ROWS = 24
"""How many aleatoric states to show; of more, those around the present one."""

VALUES, COUNTS = "Q", "N"
"""The names under which designs show values and counts of every aleatoric state and action."""


@dataclass(frozen=True)
class Known:
    """What an agent knows of some aleatoric states; two of them are compared to see what changed."""

    states: tuple[int, ...]
    tables: Mapping[str, Table]

    @cached_property
    def pair(self) -> list[str]:
        """The names of the tables over states and actions that stand in each cell: values above counts."""
        names = [name for name, table in self.tables.items() if table.ndim == 2]
        values = [name for name in sorted(names, key=lambda name: name != VALUES) if name != COUNTS]
        return [*values[:1], *(name for name in names if name == COUNTS)]


def look(run: WatchedRun) -> Known:
    """Return what an agent knows of the aleatoric states that are shown."""
    number = len(run.task.states)
    first = max(0, min(run.aleatoric_state - MOST_ROWS // 2, number - MOST_ROWS))
    states = tuple(range(first, min(first + MOST_ROWS, number)))
    # An agent with a finite horizon has values for each stage; those of the first are shown.
    tables = {name: table[:, 0] if table.ndim == 3 else table for name, table in run.known(states).items()}
    return Known(states, tables)


def draw_table(run: WatchedRun, known: Known, before: Known | None) -> str:
    """Return the table in HTML; what differs from before is marked as risen or fallen."""
    if not known.pair:
        return _draw_others(known)
    comparable = before if before is not None and before.states == known.states else None
    heads = "".join(f'<th scope="col">{escape(words(action))}</th>' for action in run.task.actions)
    rows = []
    for row, s in enumerate(known.states):
        cells = "".join(_draw_cell(known, comparable, row, action) for action in range(len(run.task.actions)))
        mark = ' class="here" aria-current="true"' if s == run.aleatoric_state else ""
        rows.append(f'<tr{mark}><th scope="row">{escape(name_state(run, s))}</th>{cells}</tr>')
    hidden = len(run.task.states) - len(known.states)
    are = "1 more state is" if hidden == 1 else f"{hidden:,} more states are"
    more = f"; {are} not shown" if hidden else ""
    caption = f"{' above '.join(known.pair)} for every aleatoric state and action{more}"
    return (
        f'<table class="known"><caption>{escape(caption)}</caption><thead><tr><th scope="col">state</th>{heads}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>{_draw_others(known)}"
    )


def name_state(run: WatchedRun, s: int) -> str:
    """Return the name of an aleatoric state."""
    return run.task.portrait.name(run.task.states[s])


def numbers(now: ScheduleValues, step_size: float | None) -> list[tuple[str, str, str]]:
    """Return horizon, discount, optimism and step size: a symbol, a value and a name each."""
    values = (now.horizon, now.discount, now.optimism, step_size)
    rows = zip("τγβα", values, ("horizon", "discount", "optimism", "step size"), strict=True)
    return [(symbol, "–" if value is None else f"{value:.4g}", name) for symbol, value, name in rows]


def _draw_cell(known: Known, before: Known | None, row: int, action: int) -> str:
    parts = []
    for name in known.pair:
        kind, now = "count" if name == COUNTS else "value", known.tables[name][row, action]
        was = None if before is None or name not in before.tables else before.tables[name][row, action]
        parts.append(f'<span class="{kind}{_moved(was, now)}">{_write(float(now), kind)}</span>')
    return f"<td>{''.join(parts)}</td>"


def _moved(was: float | None, now: float) -> str:
    if was is None or was == now or (np.isnan(was) and np.isnan(now)):
        return ""
    return " rose" if now > was else " fell"


def _write(value: float, kind: str) -> str:
    if not np.isfinite(value):
        return "∞" if value > 0 else "–"
    return f"{value:,.0f}" if kind == "count" and (value == round(value) or value >= 100) else f"{value:,.4f}"


def _draw_others(known: Known) -> str:
    """Return the short arrays that stand beside the table."""
    entries = [
        f"<div><dt>{escape(name)}</dt><dd>{', '.join(f'{value:.4g}' for value in np.ravel(array))}</dd></div>"
        for name, array in known.tables.items()
        if array.ndim < 2 and array.size <= MOST_ROWS
    ]
    return f'<dl class="others">{"".join(entries)}</dl>' if entries else ""
