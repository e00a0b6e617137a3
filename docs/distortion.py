"""Draw how the state that ``learned`` builds improves over time: ``python -m docs.distortion`` writes the figure.

A run of fewer steps with the same seed is the beginning of a longer one.  So the agent is frozen at several times by
running it to each of them; theory then computes the distortion of its state exactly.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import everlearn as el
from everlearn.figures.panels import figure_of, panels
from everlearn.figures.saving import save_figure
from everlearn.figures.style import PALETTE, house_style
from everlearn.protocol import Table

PARAMETERS = {"task.length": 4, "task.window": 1}
TIMES = np.unique(np.geomspace(10, 100_000, 25).astype(int))
SEEDS = range(1, 9)
HORIZON = 10.0
IMAGE = Path(__file__).parent / "images" / "learned-distortion.png"


def distortions(seed: int) -> list[float]:
    """Return the distortion of the learned state at each time."""
    agents: list[el.Agent] = []
    for steps in TIMES.tolist():
        el.run("t-maze", "learned", parameters=PARAMETERS, steps=steps, seed=seed, finished=agents.append)
    return [el.Theory(el.freeze(agent).task).distortion(HORIZON).value for agent in agents]


def regrets() -> tuple[Table, Table]:
    """Return the times and the regret of each seed."""
    last = int(TIMES[-1])
    runs = [el.run("t-maze", "learned", parameters=PARAMETERS, steps=last, seed=seed) for seed in SEEDS]
    return runs[0].times, np.concatenate([el.regret(run).per_run for run in runs])


def main() -> None:
    """Write the figure."""
    mpl.use("Agg")
    with house_style():
        upper, lower = panels(2, 3.6, 3.2, shared=True)
        draw(upper, TIMES, np.array([distortions(seed) for seed in SEEDS]), "distortion of the learned state")
        draw(lower, *regrets(), "regret")
        print(save_figure(figure_of(upper), IMAGE))  # noqa: T201


def draw(axes: mpl.axes.Axes, times: Table, curves: Table, name: str) -> None:
    """Draw each seed as a thin line and their mean as a thick one."""
    axes.plot(times, curves.T, color=PALETTE[0], alpha=0.3, linewidth=0.8)
    axes.plot(times, curves.mean(axis=0), color=PALETTE[0], linewidth=2)
    axes.set_xscale("log")
    axes.set_xlabel("time step")
    axes.set_title(name, fontsize=10)


if __name__ == "__main__":
    main()
