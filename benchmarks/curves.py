"""Draw the learning curves of several agents on several tasks as small multiples, with names at their ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from everlearn.figures.panels import entitle, figure_of, label_ends, name_axes, panels
from everlearn.figures.saving import save_figure
from everlearn.figures.style import PALETTE, house_style

COLOURS = dict(zip(("q-lambda", "linear", "differential-sarsa", "network", "table", "dqn"), PALETTE, strict=True))

MARKERS = dict(zip(COLOURS, "os^Dvx", strict=True))

WINDOW = 3
"""A point is the mean of this many thousand steps."""


def draw(found: dict[str, dict[str, list[Any]]], shown: dict[str, str], file: Path) -> None:
    """Draw the mean over runs, and a band from the least to the greatest run."""
    with house_style():
        grid = panels(len(found), 5.2, 3.1, most_columns=2)
        ends = []
        for axes, (task, agents) in zip(grid, found.items(), strict=True):
            ends.append([(agent, _curve(axes, agent, runs)) for agent, runs in agents.items()])
            entitle(axes, f"{task}: {shown[task]}")
        name_axes(grid, "thousand steps", "")
        figure = figure_of(grid[0])
        figure.get_layout_engine().set(rect=(0, 0, 0.97, 1))  # type: ignore[union-attr, call-arg]
        for axes, lines in zip(grid, ends, strict=True):
            label_ends(axes, lines)
        save_figure(figure, file)


def _curve(axes: Any, agent: str, runs: list[Any]) -> Any:
    """Draw the runs of an agent, and return the line of their mean."""
    curves = np.array([means[: len(means) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1) for means, _ in runs])
    times = (np.arange(curves.shape[1]) + 0.5) * WINDOW
    axes.fill_between(times, curves.min(axis=0), curves.max(axis=0), color=COLOURS[agent], alpha=0.15, linewidth=0)
    (line,) = axes.plot(
        times, curves.mean(axis=0), color=COLOURS[agent], marker=MARKERS[agent], markersize=3.5, linewidth=1.6
    )
    return line
