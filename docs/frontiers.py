"""Draw the frontier of each task that can be solved in seconds: ``python -m docs.frontiers`` writes the figure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import everlearn as el
from everlearn.figures.frontier import draw
from everlearn.figures.saving import save_figure
from everlearn.figures.style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS: dict[str, dict[str, Any]] = {
    "riverswim": {},
    "access-control": {},
    "garnet": {},
    "inventory": {},
    "service-station": {"cap": 3},
    "queueing-network": {},
    "maintenance": {},
    "alternating": {},
    "aggregation": {},
    "shuttle": {},
    "tiger": {},
    "t-maze": {},
}
IMAGE = Path(__file__).parent / "images" / "frontiers.png"

COLUMNS = 4


def frontier_figures(theories: Sequence[el.Theory]) -> Figure:
    """Return one figure with the frontier of each task, in panels of the same form."""
    from matplotlib.figure import Figure

    rows = -(-len(theories) // COLUMNS)
    with house_style():
        figure = Figure(figsize=(3.2 * COLUMNS, 3.3 * rows))
        grid = figure.subplots(2 * rows, COLUMNS, sharex=False, height_ratios=(2, 1) * rows, squeeze=False)
        for place in range(rows * COLUMNS):
            row, column = divmod(place, COLUMNS)
            top, bottom = grid[2 * row, column], grid[2 * row + 1, column]
            if place >= len(theories):
                top.set_axis_off()
                bottom.set_axis_off()
                continue
            draw(theories[place], top, bottom)
            top.set_title(theories[place].task.name, fontsize=11)
            top.tick_params(labelbottom=False)
            if column == 0:
                top.set_ylabel("average reward", fontsize=9)
                bottom.set_ylabel("distortion", fontsize=9)
            if row == rows - 1:
                bottom.set_xlabel("averaging time", fontsize=9)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
    return figure


def main() -> None:
    """Compute, print the ends of each frontier, and draw."""
    theories = []
    for name, parameters in TASKS.items():
        began, theory = time.process_time(), el.Theory(name, parameters)
        last = max((point.averaging_time + point.error for point in theory.frontier.points), default=1.0)
        lower, upper = theory.frontier.at(last)
        seconds = time.process_time() - began
        print(f"{name}: {lower:.4f} to {upper:.4f} at {last:.4g}, {seconds:.1f} s", flush=True)  # noqa: T201
        theories.append(theory)
    print(save_figure(frontier_figures(theories), IMAGE))  # noqa: T201


if __name__ == "__main__":
    main()
