"""Draw how the bounds of the criss-cross network close as the grid grows: ``python -m docs.queueing``.

Each point is a pair of certified bounds; they are printed too.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

from everlearn.figures.panels import figure_of, panels
from everlearn.figures.saving import save_figure
from everlearn.figures.style import PALETTE, house_style
from everlearn.tasks.networks import criss_cross
from everlearn.theory.network import network_optimum

JOBS = {
    "IL": (8, 12, 16, 20, 24),
    "BL": (8, 12, 16, 20, 24),
    "IM": (15, 25, 35, 45, 55),
    "BM": (20, 30, 40, 50, 60),
}
IMAGE = Path(__file__).parent / "images" / "queueing.png"


def gaps(regime: str) -> list[float]:
    """Return the difference of the bounds on the cost, relative to the upper one, for each size of the grid."""
    found = []
    for jobs in JOBS[regime]:
        best = network_optimum(criss_cross(regime=regime, seen=1).network, jobs, 1e-6)
        print(f"{regime} {jobs}: {-best.upper:.7g} to {-best.lower:.7g}", flush=True)  # noqa: T201
        found.append((best.upper - best.lower) / -best.lower)
    return found


def main() -> None:
    """Write the figure."""
    mpl.use("Agg")
    with house_style():
        (axes,) = panels(1, 6.4, 3.6)
        for colour, regime in zip(PALETTE, JOBS, strict=False):
            axes.plot(JOBS[regime], gaps(regime), marker="o", color=colour, label=regime)
        axes.set(yscale="log", xlabel="jobs in the grid", ylabel="relative gap between the bounds")
        axes.legend(title="regime")
        print(save_figure(figure_of(axes), IMAGE))  # noqa: T201


if __name__ == "__main__":
    main()
