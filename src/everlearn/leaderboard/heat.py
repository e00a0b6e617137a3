"""Draw the regret of every agent on every task as a heat map, with one scale of colours for all tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from everlearn.errors import require
from everlearn.figures.style import house_style
from everlearn.leaderboard.standings import Standing, final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST, MOST = 1e-3, 3.0
"""The ends of the scale of colours: below and above, all colours are the same."""

DARK = 0.45
"""The least lightness of a cell on which black can be read."""


def heat_map(rows: Sequence[Standing], agents: Sequence[str], titles: Mapping[str, str]) -> Figure:
    """Draw a cell for each agent and task: the mean relative regret at the end, on a logarithmic scale of colours.

    An agent that was not run to the end on a task has its last time instead, in italics; if it was not run at all, the
    cell is grey.  The least regret in each row is framed.
    """
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    require(bool(rows), "rows", [], "give at least one")
    tasks, end = list(titles), final(rows)[0].time
    last = {(row.task, row.agent): row for row in sorted(rows, key=lambda row: row.time)}
    cells = np.full((len(tasks), len(agents)), np.nan)
    for (task, agent), row in last.items():
        cells[tasks.index(task), agents.index(agent)] = row.relative_regret
    with house_style():
        size = (4.4 + 0.46 * len(agents), 2.3 + 0.235 * len(tasks))  # names of agents lean over the last column
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        norm = LogNorm(LEAST, MOST, clip=True)
        image = axes.imshow(np.maximum(cells, LEAST), cmap="cividis_r", norm=norm, aspect="auto")
        axes.set_facecolor("#dddddd")
        axes.grid(visible=False)
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(agents)), agents, rotation=50, ha="left", rotation_mode="anchor", fontsize=9)
        axes.set_yticks(range(len(tasks)), list(titles.values()), fontsize=9)
        axes.tick_params(length=0)
        for place, column in np.argwhere(~np.isnan(cells)):
            row = last[tasks[place], agents[column]]
            red, green, blue, _ = image.cmap(norm(max(row.relative_regret, LEAST)))
            ink = "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > DARK else "white"
            style = "normal" if row.time == end else "italic"
            axes.text(
                column, place, _brief(row.relative_regret), ha="center", va="center", color=ink, size=7, style=style
            )
        for place, best in enumerate(_best(last, tasks, agents, end)):
            if best is not None:
                frame = Rectangle((best - 0.5, place - 0.5), 1, 1, fill=False, edgecolor="#d62728", linewidth=1.6)
                axes.add_patch(frame)
        bar = figure.colorbar(image, ax=axes, location="bottom", fraction=0.02, pad=0.01, extend="both")
        bar.set_label(
            f"relative regret after {end:,} steps\n(lighter is better; in italics after fewer steps)", fontsize=9
        )
    return figure


def _best(
    last: Mapping[tuple[str, str], Standing], tasks: Sequence[str], agents: Sequence[str], end: int
) -> list[int | None]:
    """Return the place of the agent with the least regret at the end, for each task."""
    best: list[int | None] = []
    for task in tasks:
        lost = {agent: last[task, agent].relative_regret for agent in agents if (task, agent) in last}
        reached = [agent for agent in lost if last[task, agent].time == end]
        best.append(agents.index(min(reached, key=lost.__getitem__)) if reached else None)
    return best


def _brief(value: float) -> str:
    """Return a number that fits into a cell: two digits, and no zero before the point."""
    if value < 5e-4:
        return "0"
    text = f"{value:.1f}" if value >= 1 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
    return text.removeprefix("0")
