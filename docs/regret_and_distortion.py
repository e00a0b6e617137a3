"""Draw regret per step against distortion: ``python -m docs.regret_and_distortion`` writes the figure.

One world hides a fair coin from the aleatoric state, and its distortion is known at every horizon.  The others are
Garnets whose memories are seen in groups of three; their distortion at long horizons is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np

import everlearn as el
from everlearn.figures.saving import save_figure
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style
from everlearn.paper.claims.worlds import hidden_bit
from everlearn.tasks.garnet import garnet

DISTORTIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
UNLIKE = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8)
"""How much the members of a group of a Garnet differ."""

IMAGE = Path(__file__).parent / "images" / "regret-and-distortion.png"


def grouped(unlike: float) -> el.Task:
    """Return a Garnet of 5 groups of three memories."""
    return garnet(states=5, actions=2, branching=2, group=3, distortion=unlike, seed=1)


RUNS = 10
WORLDS: dict[str, tuple[Callable[[float], el.Task], tuple[float, ...], int]] = {
    "a world that hides a coin": (hidden_bit, DISTORTIONS, 200_000),
    "garnet, memories in groups of three": (grouped, UNLIKE, 3_000_000),
}
"""By title: the world, its parameters, and the number of steps of a run."""


def lost(task: el.Task, agent: str, steps: int) -> tuple[float, float]:
    """Return the mean regret per step over the second half of the runs, relative to the optimum, and its error."""
    result = el.run(task, agent, schedule="smooth", steps=steps, runs=RUNS, seed=1)
    half = int(np.searchsorted(result.times, steps // 2))
    earned = (result.total_reward[:, -1] - result.total_reward[:, half]) / (result.times[-1] - result.times[half])
    regret = el.Theory(task).optimal_average_reward - earned
    return float(regret.mean()), float(regret.std(ddof=1) / np.sqrt(RUNS))


def distortion_of(task: el.Task) -> float:
    """Return the greatest distortion from the averaging time of the optimal policy on."""
    theory = el.Theory(task)
    return theory.distortion_sup(theory.optimal_averaging_time.value).value


def main() -> None:
    """Write the figure, and print the numbers behind it."""
    mpl.use("Agg")
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(9.6, 4.2))
        for axes, (title, (make, given, steps)) in zip(figure.subplots(1, 2), WORLDS.items(), strict=True):
            tasks = [make(value) for value in given]
            distortions = np.array([distortion_of(task) for task in tasks])
            print(title, np.round(distortions, 4).tolist())  # noqa: T201
            for agent, colour, mark in (("growing-horizon", PALETTE[0], "o"), ("growing-horizon-v", PALETTE[1], "s")):
                points = [lost(task, agent, steps) for task in tasks]
                print(agent, [f"{mean:.4f} ({error:.4f})" for mean, error in points], flush=True)  # noqa: T201
                means, errors = np.array(points).T
                axes.errorbar(distortions, means, 2 * errors, color=colour, marker=mark, label=f"{agent}, smooth")
            for factor, style, name in ((2.0, "--", "2 Delta, the repaired bound"), (0.5, ":", "(1 - 1/A) Delta")):
                axes.plot(distortions, factor * distortions, style, color=REFERENCE_COLOUR, label=name)
            axes.set(xlabel="distortion", ylabel="regret per step", title=title)
            axes.legend(loc="upper left", fontsize=8)
        print(save_figure(figure, IMAGE))  # noqa: T201


if __name__ == "__main__":
    main()
