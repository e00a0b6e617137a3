"""The paper's experiment on the service station (Section 1.4.5 and Section 4.3), as data and as a figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from everlearn.api import run
from everlearn.engine.plan import Progress
from everlearn.figures.curves import learning_curves
from everlearn.figures.style import house_style
from everlearn.files import replacing
from everlearn.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE = "agent-comparison"


class Curve(NamedTuple):
    """One curve of the figure: its label, and what is run for it."""

    label: str
    agent: str
    schedule: str | None
    parameters: dict[str, Any]


CURVES = (
    Curve("optimistic Q-learning, smooth schedule", "growing-horizon", "smooth", {}),
    Curve("optimistic Q-learning, change points", "growing-horizon", "change-points", {}),
    Curve("always slow", "always", None, {"agent.policy": "slow"}),
)

SEED = 1


def reproduce(
    out: Path, *, steps: int, runs: int, progress: Callable[[str], Progress] | None = None
) -> tuple[dict[str, Result], list[Path]]:
    """Run every curve, draw the figure, and return the results and where the figure is.

    ``progress`` makes, from a label, what is called with steps done.
    """
    out.mkdir(parents=True, exist_ok=True)
    results = {
        curve.label: run(
            "service-station",
            curve.agent,
            schedule=curve.schedule,
            parameters=curve.parameters,
            steps=steps,
            runs=runs,
            seed=SEED,
            progress=None if progress is None else progress(curve.label),
        )
        for curve in CURVES
    }
    return results, draw(results, out)


def draw(results: dict[str, Result], out: Path) -> list[Path]:
    """Draw the figure as PNG and SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    first = next(iter(results.values()))
    with house_style():
        axes = learning_curves(results, {"optimum": first.references["optimum"]})
        axes.set_xlim(min(10, first.steps / 2), first.steps * 1.05)
        axes.set_ylim(0, 0.55)
        axes.set_title(f"The service station of the paper, {first.runs} runs")
        paths = [save(axes, out / f"{FIGURE}.{suffix}") for suffix in ("png", "svg")]
    plt.close("all")
    return paths


def save(axes: Axes, path: Path) -> Path:
    """Write a figure, the same bytes for the same data."""
    metadata = {"Date": None} if path.suffix == ".svg" else None
    with replacing(path) as file:
        axes.figure.savefig(file, format=path.suffix[1:], metadata=metadata)  # type: ignore[union-attr]
    return path
