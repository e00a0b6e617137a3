"""Draw where regret came from: parts above and below zero, and the regret that they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from everlearn.analysis.diagnosis import Diagnosis
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"actions": "actions that were not the best"}
"""The parts whose names do not say what they are."""


def diagnosis_figure(diagnosis: Diagnosis) -> Figure:
    """Return a figure of the mean of each part per step at each time; the black line is the regret per step."""
    from matplotlib.figure import Figure

    times = diagnosis.times
    means = {name: curve.mean(axis=0) / times for name, curve in diagnosis.parts.items()}
    with house_style():
        figure = Figure(figsize=(7.2, 4.6))
        axes = figure.add_subplot()
        for sign in (1, -1):
            base = np.zeros(len(times))
            for (name, mean), colour in zip(means.items(), PALETTE, strict=False):
                part = np.where(sign * mean > 0, mean, 0.0)
                label = NAMES.get(name, name) if sign == 1 else None
                axes.fill_between(times, base, base + part, color=colour, alpha=0.6, linewidth=0, label=label)
                base = base + part
        axes.plot(times, diagnosis.regret.mean(axis=0) / times, color="black", label="regret, their sum")
        axes.axhline(0.0, color=REFERENCE_COLOUR, linewidth=0.8)
        axes.set_title(f"{diagnosis.agent} on {diagnosis.task}")
        axes.set(xscale="log", xlabel="time step", ylabel="regret per step")
        axes.set_xlim(times[min(5, len(times) - 1)], times[-1])
        late = np.array([mean[times >= times[-1] // 500] for mean in means.values()])
        low, high = np.where(late < 0, late, 0).sum(axis=0).min(), np.where(late > 0, late, 0).sum(axis=0).max()
        axes.set_ylim(1.15 * min(low, -0.02 * high), 1.15 * high)
        axes.legend(loc="upper right", fontsize=8)
    return figure
