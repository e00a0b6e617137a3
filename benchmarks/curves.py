"""Draw the learning curves of several agents on several tasks as small multiples, with names at their ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

COLOURS = {
    "q-lambda": "#0b6e4f",
    "linear": "#1f77b4",
    "differential-sarsa": "#7f5fa8",
    "network": "#c98a00",
    "table": "#777777",
    "dqn": "#c0392b",
}

WINDOW = 5
"""A point is the mean of this many thousand steps."""


def draw(found: dict[str, dict[str, list[Any]]], shown: dict[str, str], file: Path) -> None:
    """Draw the mean over runs, and a thin line per run."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 3).ravel()
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    for axes, (task, agents) in zip(panels, found.items(), strict=False):
        ends = {agent: _curves(axes, agent, runs) for agent, runs in agents.items()}
        axes.set_title(f"{task}: {shown[task]}", fontsize=9.5, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        steps = axes.dataLim.x1
        axes.set_xlim(0, steps * 1.42)
        axes.set_xticks([0, steps / 2, steps], ["0", f"{steps / 2:,.0f}", f"{steps:,.0f} steps"])
        low, high = axes.get_ylim()
        for agent, y in _apart(ends, 0.075 * (high - low)).items():
            axes.text(steps * 1.02, y, agent, color=COLOURS[agent], fontsize=8.5, va="center")
    figure.savefig(file, dpi=130)


def _curves(axes: Any, agent: str, runs: list[Any]) -> float:
    """Draw the runs of an agent, and return where their mean ends."""
    curves = np.array([means[: len(means) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1) for means, _ in runs])
    times = (np.arange(curves.shape[1]) + 1) * WINDOW * 1000
    for curve in curves if len(curves) > 1 else ():
        axes.plot(times, curve, color=COLOURS[agent], linewidth=0.6, alpha=0.35)
    axes.plot(times, curves.mean(axis=0), color=COLOURS[agent], linewidth=1.8)
    return float(curves.mean(axis=0)[-1])


def _apart(ends: dict[str, float], least: float) -> dict[str, float]:
    """Move names apart that would overlap, around the middle of all."""
    names = sorted(ends, key=lambda name: ends[name])
    places: list[float] = []
    for name in names:
        places.append(max(ends[name], places[-1] + least) if places else ends[name])
    excess = (np.mean(places) - np.mean([ends[name] for name in names])) if names else 0.0
    return {name: place - float(excess) for name, place in zip(names, places, strict=True)}
