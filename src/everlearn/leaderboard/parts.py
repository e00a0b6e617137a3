"""What each part of the practical schedule brings: a table of an experiment that leaves them out, and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from everlearn.leaderboard.figure import relative_regrets
from everlearn.leaderboard.tables import Grid
from everlearn.results.arm import Arm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHOLE = "practical"
"""The label of the schedule as it is; every other variant differs from it in what its label says."""

DRAWN = (
    *(WHOLE, "the paper's", "other constants alone", "no action is held", "ten times the optimism"),
    *("a horizon of 24 throughout", "a horizon that grows faster"),
)
"""The variants of which curves are drawn: all of them in one panel could not be told apart."""


def parts_table(arms: Sequence[Arm]) -> Grid:
    """Return the relative regret of every variant on every task at the end: its mean, and that of the worst run.

    Examples
    --------
    >>> arm = Arm("shop", "practical", {}, np.array([10]), np.array([[9.0], [8.0]]), np.array([1.0, 1.0]))
    >>> parts_table([arm]).rows
    [['practical', '0.150 (0.200)']]

    """
    tasks = list(dict.fromkeys(arm.task for arm in arms))
    found = {(arm.agent, arm.task): _cell(arm) for arm in arms}
    variants = dict.fromkeys(arm.agent for arm in arms)
    rows = [[variant, *(found[variant, task] for task in tasks)] for variant in variants]
    steps, runs = int(arms[0].times[-1]), arms[0].units
    title = f"Relative regret after {steps:,} steps, mean of {runs:,} runs (the worst of them)"
    return Grid(title, ["variant", *tasks], rows)


def parts_figure(arms: Sequence[Arm]) -> Figure:
    """Draw the regret over time of some of the variants, a panel for each task."""
    return relative_regrets([arm for arm in arms if arm.agent in DRAWN], WHOLE)


def _cell(arm: Arm) -> str:
    lost = np.asarray(arm.regret)[:, -1] / (arm.times[-1] * np.abs(np.asarray(arm.optimum)))
    return f"{lost.mean():.3f} ({lost.max():.3f})"
