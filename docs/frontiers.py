"""Draw the frontier of each task that can be solved in seconds: ``python -m docs.frontiers`` writes the figure."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import everlearn as el
from everlearn.figures.frontier import frontier_figures
from everlearn.figures.saving import save_figure

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
