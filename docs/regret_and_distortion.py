"""Draw regret per step against distortion: ``python -m docs.regret_and_distortion`` writes the figure.

The world hides a fair coin from the aleatoric state, and its distortion is known exactly at every horizon.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import everlearn as el
from everlearn.figures.saving import save_figure
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style
from everlearn.paper.claims.worlds import hidden_bit

DISTORTIONS = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.4])
STEPS, RUNS = 200_000, 10
IMAGE = Path(__file__).parent / "images" / "regret-and-distortion.png"


def lost(agent: str, distortion: float) -> tuple[float, float]:
    """Return the mean regret per step over the second half of the runs, relative to the optimum, and its error."""
    task = hidden_bit(distortion)
    result = el.run(task, agent, schedule="smooth", steps=STEPS, runs=RUNS, seed=1)
    half = int(np.searchsorted(result.times, STEPS // 2))
    earned = (result.total_reward[:, -1] - result.total_reward[:, half]) / (result.times[-1] - result.times[half])
    regret = el.Theory(task).optimal_average_reward - earned
    return float(regret.mean()), float(regret.std(ddof=1) / np.sqrt(RUNS))


def main() -> None:
    """Write the figure, and print the numbers behind it."""
    mpl.use("Agg")
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(6.4, 4.4))
        axes = figure.add_subplot()
        for agent, colour, mark in (("growing-horizon", PALETTE[0], "o"), ("growing-horizon-v", PALETTE[1], "s")):
            points = [lost(agent, float(d)) for d in DISTORTIONS]
            print(agent, [f"{mean:.4f} ({error:.4f})" for mean, error in points])  # noqa: T201
            means, errors = np.array(points).T
            axes.errorbar(DISTORTIONS, means, 2 * errors, color=colour, marker=mark, label=f"{agent}, smooth")
        axes.plot(
            DISTORTIONS, 2 * DISTORTIONS, "--", color=REFERENCE_COLOUR, label="2 Delta, the repaired bound for large T"
        )
        axes.plot(
            DISTORTIONS, 0.5 * DISTORTIONS, ":", color=REFERENCE_COLOUR, label="(1 - 1/A) Delta, unavoidable at worst"
        )
        axes.set(xlabel="distortion", ylabel="regret per step", title="A world that hides a coin")
        axes.legend(loc="upper left", fontsize=8)
        print(save_figure(figure, IMAGE))  # noqa: T201


if __name__ == "__main__":
    main()
