"""The figures of an experiment: a name, a function that draws the arms, and when it applies.

To add a figure, write its function in a new file and add one line to ``FIGURES``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from everlearn.figures.multiples import average_rewards, regrets
from everlearn.figures.sweep import heat_maps, swept
from everlearn.results.arm import Arm


class ExperimentFigure(NamedTuple):
    """A figure of an experiment."""

    name: str
    """The name of its file; ``{measure}`` stands for the measure."""
    draw: Callable[[Sequence[Arm], str], Figure]
    applies: Callable[[Sequence[Arm]], bool] = lambda _arms: True


FIGURES = (
    ExperimentFigure("average-reward", lambda arms, _measure: average_rewards(arms)),
    ExperimentFigure(
        "regret", lambda arms, _measure: regrets(arms), lambda arms: any(arm.optimum is not None for arm in arms)
    ),
    ExperimentFigure("sweep-{measure}", heat_maps, lambda arms: bool(swept(arms))),
)


def draw_figures(arms: Sequence[Arm], measure: str) -> dict[str, Figure]:
    """Return every figure that applies to an experiment, by its name."""
    slug = measure.replace(" ", "-")
    return {figure.name.format(measure=slug): figure.draw(arms, measure) for figure in FIGURES if figure.applies(arms)}
