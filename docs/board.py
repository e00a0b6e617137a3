"""Write an experiment into the documentation: ``python -m docs.board DIR``.

The tables of a board (``everlearn leaderboard --out DIR``) go between two comments in ``leaderboard.md``, the figure to
``images/leaderboard.png``.  Those of ``examples/practical.toml``, the variants of the practical schedule, go to
``practical.md`` and ``images/practical.png``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from everlearn.errors import EverlearnError, require
from everlearn.experiments.experiment import Experiment
from everlearn.figures.style import house_style
from everlearn.files import replacing
from everlearn.leaderboard.board import Board
from everlearn.leaderboard.figure import relative_regrets
from everlearn.leaderboard.lineup import lineup
from everlearn.leaderboard.tables import Grid, summary
from everlearn.results.arm import Arm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).parent

DOTS = 80
"""Dots per inch: as many as a page can show."""

BEGIN, END = "<!-- the board begins -->", "<!-- the board ends -->"

WHOLE = "practical"
"""The label of the schedule as it is; every other variant differs from it in what its label says."""

DRAWN = (
    *(WHOLE, "the paper's", "other constants alone", "no action is held", "ten times the optimism"),
    *("a horizon of 24 throughout", "a horizon that grows faster"),
)
"""The variants that are drawn: all of them in one panel could not be told apart."""


def document(directory: Path, docs: Path) -> list[Path]:
    """Write the tables and the figure of an experiment into the documentation, and return the paths."""
    experiment = Experiment(directory)
    variants = any(arm.agent == WHOLE for arm in experiment.arms)
    name, (text, figure) = ("practical", _variants(experiment)) if variants else ("leaderboard", _board(experiment))
    page, picture = docs / f"{name}.md", docs / "images" / f"{name}.png"
    updated = embed(page.read_text(encoding="utf-8"), text, page.name)
    with replacing(page) as target:
        target.write(updated.encode())
    with house_style(), replacing(picture) as target:
        figure.savefig(target, format="png", dpi=DOTS)
    return [page, picture]


def embed(page: str, tables: str, name: str) -> str:
    """Return a page with tables put between its two comments, in place of what was there."""
    before, begun, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    require(bool(begun and ended), name, "no comments", f"put {BEGIN} and {END} where the tables should be")
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def _board(experiment: Experiment) -> tuple[str, Figure]:
    agents, tasks = (list({getattr(arm, key) for arm in experiment.arms}) for key in ("agent", "task"))
    size = {key: experiment.manifest[key] for key in ("runs", "steps")}
    board = Board(lineup(agents, tasks, **size), experiment)
    return summary(board, level=3), board.figure()


def _variants(experiment: Experiment) -> tuple[str, Figure]:
    drawn = [arm for arm in experiment.arms if arm.agent in DRAWN]
    return variants_table(experiment.arms).markdown(level=3), relative_regrets(drawn, WHOLE)


def variants_table(arms: Sequence[Arm]) -> Grid:
    """Return the relative regret of every variant on every task at the end: its mean, and that of the worst run."""
    tasks, variants = (list(dict.fromkeys(getattr(arm, key) for arm in arms)) for key in ("task", "agent"))
    cells = {}
    for arm in arms:
        lost = np.asarray(arm.regret)[:, -1] / (arm.times[-1] * np.abs(np.asarray(arm.optimum)))
        cells[arm.agent, arm.task] = f"{lost.mean():.3f} ({lost.max():.3f})"
    steps, runs = int(arms[0].times[-1]), arms[0].units
    title = f"Relative regret after {steps:,} steps, mean of {runs:,} runs (the worst of them)"
    rows = [[variant, *(cells[variant, task] for task in tasks)] for variant in variants]
    return Grid(title, ["variant", *tasks], rows)


def main(arguments: list[str]) -> int:
    """Write, and say what was written; an error is one line and exit code 2."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m docs.board DIR\n")
        return 2
    try:
        sys.stdout.write("".join(f"written: {path}\n" for path in document(Path(arguments[0]), DOCS)))
    except EverlearnError as error:
        sys.stderr.write(f"everlearn: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
