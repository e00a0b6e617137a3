"""Draw the figure of the README: ``python -m docs.first_sight`` writes it.

The paper's agent with our schedule and with the paper's, and a fixed policy, on the paper's service station.  The first
hundred steps are left out: they show only that the first customer pays.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib as mpl

import everlearn as el
from everlearn.figures.panels import figure_of, panels
from everlearn.figures.saving import save_figure
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style

STEPS, RUNS, FIRST = 1_000_000, 200, 100
IMAGE = Path(__file__).parent / "images" / "first-sight.png"


def results() -> dict[str, el.Result]:
    """Return the results by the labels of their curves."""
    run = partial(el.run, "service-station", steps=STEPS, runs=RUNS, seed=1)
    return {
        "our schedule": run(schedule="practical"),
        "the paper's schedule": run(schedule="smooth"),
        "always serve slowly": run(agent="always", parameters={"agent.policy": "slow"}),
    }


def main() -> None:
    """Write the figure."""
    mpl.use("Agg")
    with house_style():
        (axes,) = panels(1, 7.2, 3.6)
        for colour, (label, result) in zip(PALETTE, results().items(), strict=False):
            mean, error = result.average_reward, 2 * result.standard_error
            axes.plot(result.times, mean, color=colour, linewidth=2)
            axes.fill_between(result.times, mean - error, mean + error, color=colour, alpha=0.2)
            axes.annotate(label, (STEPS, mean[-1]), (6, 0), textcoords="offset points", color=colour, va="center")
        optimum = result.references["optimum"]
        axes.axhline(optimum, color=REFERENCE_COLOUR, linestyle="--")
        axes.annotate("the optimum, computed exactly", (FIRST, optimum), (2, 4), textcoords="offset points")
        axes.set(xscale="log", xlim=(FIRST, STEPS), ylim=(0, 1.15 * optimum))
        axes.set(xlabel="time step", ylabel="average reward so far")
        axes.set_title(f"The service station of the paper, means over {RUNS} runs", fontsize=10)
        print(save_figure(figure_of(axes), IMAGE))  # noqa: T201


if __name__ == "__main__":
    main()
