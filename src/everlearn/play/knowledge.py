"""What an agent knows as a table: Q above N for every aleatoric state and action, and what changed in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from everlearn.labels import show
from everlearn.play.interpreted import Watched
from everlearn.protocol import ScheduleValues, Table

MOST_ROWS = 24
"""How many aleatoric states are shown: those about the present one, where there are more."""

UPPER, LOWER = ("Q", "Qhat", "policy"), ("N",)


@dataclass(frozen=True)
class Known:
    """What an agent knows of some aleatoric states; two of them are compared to see what changed."""

    states: tuple[int, ...]
    tables: Mapping[str, Table]

    @property
    def pair(self) -> tuple[str | None, str | None]:
        """The names of what stands above and below in each cell."""
        return tuple(  # type: ignore[return-value]
            next((name for name in names if name in self.tables and self.tables[name].ndim == 2), None)
            for names in (UPPER, LOWER)
        )

    def by_pair(self, name: str | None) -> Table | None:
        """Return a table over states and actions, by its name."""
        return None if name is None else self.tables[name]


def look(stream: Watched) -> Known:
    """Return what an agent knows of the aleatoric states that are shown."""
    number, here = len(stream.task.states), stream.aleatoric_state
    first = max(0, min(here - MOST_ROWS // 2, number - MOST_ROWS))
    states = tuple(range(first, min(first + MOST_ROWS, number)))
    found = {name: np.asarray(table) for name, table in stream.known(states).items()}
    # An agent of finite horizon keeps values for each step of it; its first is what the others are compared with.
    return Known(states, {name: table[:, 0] if table.ndim == 3 else table for name, table in found.items()})


def table(stream: Watched, known: Known, before: Known | None) -> str:
    """Return the table in HTML; what differs from before is marked as risen or fallen."""
    upper, lower = known.pair
    if upper is None and lower is None:
        return _others(known)
    comparable = before if before is not None and before.states == known.states else None
    heads = "".join(f'<th scope="col">{escape(show(action))}</th>' for action in stream.task.actions)
    names = " above ".join(name for name in (upper, lower) if name is not None)
    rows = []
    for row, s in enumerate(known.states):
        here = s == stream.aleatoric_state
        cells = "".join(
            _cell(known, comparable, (upper, lower), row, action) for action in range(len(stream.task.actions))
        )
        mark = ' class="here" aria-current="true"' if here else ""
        rows.append(f'<tr{mark}><th scope="row">{escape(say_state(stream, s))}</th>{cells}</tr>')
    hidden = len(stream.task.states) - len(known.states)
    more = f"; {hidden:,} more states are not shown" if hidden else ""
    caption = f"{names} for every aleatoric state and action{more}"
    return (
        f'<table class="known"><caption>{escape(caption)}</caption><thead><tr><th scope="col">state</th>{heads}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>{_others(known)}"
    )


def say_state(stream: Watched, s: int) -> str:
    """Return what to call an aleatoric state; those of the station have words."""
    label = stream.task.states[s]
    if stream.task.name == "service-station" and label in (0, 1):
        return f"{label}: {('nobody', 'customer')[int(label)]}"
    return show(label)


def numbers(now: ScheduleValues, step_size: float | None) -> list[tuple[str, str, str]]:
    """Return horizon, discount, optimism and step size now: a symbol, a value and a name each.

    Examples
    --------
    >>> from everlearn.agents.clock import Clock
    >>> from everlearn.agents.schedule import smooth
    >>> numbers(Clock(smooth()).at(32), 0.5)[0]
    ('τ', '3', 'horizon')

    """
    values = (now.horizon, now.discount, now.optimism, step_size)
    told = zip("τγβα", values, ("horizon", "discount", "optimism", "step size"), strict=True)
    return [(symbol, "–" if value is None else f"{value:.4g}", name) for symbol, value, name in told]


def _cell(known: Known, before: Known | None, names: Sequence[str | None], row: int, action: int) -> str:
    parts = []
    for name, kind in zip(names, ("value", "count"), strict=True):
        if name is None:
            continue
        now = known.tables[name][row, action]
        was = None if before is None or name not in before.tables else before.tables[name][row, action]
        parts.append(f'<span class="{kind}{_moved(was, now)}">{_written(float(now), kind)}</span>')
    return f"<td>{''.join(parts)}</td>"


def _moved(was: float | None, now: float) -> str:
    if was is None or was == now or (np.isnan(was) and np.isnan(now)):
        return ""
    return " rose" if now > was else " fell"


def _written(value: float, kind: str) -> str:
    if not np.isfinite(value):
        return "∞" if value > 0 else "–"
    return f"{value:,.0f}" if kind == "count" and (value == round(value) or value >= 100) else f"{value:,.4f}"


def _others(known: Known) -> str:
    """Return what is told beside the pair of tables: short arrays as they are."""
    said = [
        f"<div><dt>{escape(name)}</dt><dd>{', '.join(f'{value:.4g}' for value in np.ravel(array))}</dd></div>"
        for name, array in known.tables.items()
        if name not in (*UPPER, *LOWER) and array.ndim < 2 and array.size <= MOST_ROWS
    ]
    return f'<dl class="others">{"".join(said)}</dl>' if said else ""
