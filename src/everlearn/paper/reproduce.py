"""The paper's experiment on the service station (Section 1.4.5 and Section 4.3), as data and as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from everlearn.experiments.execute import Watcher, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.spec import read_spec
from everlearn.figures.curves import learning_curves
from everlearn.figures.saving import save_figure
from everlearn.figures.style import house_style
from everlearn.results.result import Result

FIGURE, EXPERIMENT = "agent-comparison", "experiment"


SPEC: dict[str, Any] = {
    "name": "the service station",
    "seed": 1,
    "task": [{"name": "service-station"}],
    "agent": [
        {"name": "growing-horizon", "schedule": "smooth", "label": "optimistic Q-learning, smooth schedule"},
        {"name": "growing-horizon", "schedule": "change-points", "label": "optimistic Q-learning, change points"},
        {"name": "always", "parameters": {"policy": "slow"}, "label": "always slow"},
    ],
}
"""What is run: an experiment like any other."""

CURVES = tuple(agent["label"] for agent in SPEC["agent"])


def reproduce(
    out: Path, *, steps: int, runs: int, watcher: Watcher | None = None
) -> tuple[dict[str, Result], list[Path]]:
    """Run every curve, draw the figure, and return the results and where the figure is.

    Interrupted or killed, it goes on where it was.
    """
    spec = read_spec({**SPEC, "steps": steps, "runs": runs})
    experiment = Experiment(execute(spec, out / EXPERIMENT, watcher=watcher).path)
    results = dict(zip(CURVES, experiment.results, strict=True))
    return results, draw(results, out)


def draw(results: dict[str, Result], out: Path) -> list[Path]:
    """Draw the figure as PNG and SVG."""
    from matplotlib import pyplot as plt

    first = next(iter(results.values()))
    with house_style():
        axes = learning_curves(results, {"optimum": first.references["optimum"]})
        axes.set_xlim(min(10, first.steps / 2), first.steps * 1.05)
        axes.set_ylim(0, 0.55)
        axes.set_title(f"The service station of the paper, {first.runs} runs")
        figure: Any = axes.figure
        paths = [save_figure(figure, out / f"{FIGURE}.{suffix}") for suffix in ("png", "svg")]
        plt.close(figure)
    return paths
