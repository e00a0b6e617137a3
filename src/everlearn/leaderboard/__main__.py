"""Write an experiment that was run into the documentation: ``python -m everlearn.leaderboard DIR DOCS``.

The tables of a board go between two comments in ``DOCS/leaderboard.md``, the figure to ``DOCS/images/leaderboard.png``.
Those of ``examples/practical.toml``, the variants of the practical schedule, go to ``DOCS/practical.md`` and to
``DOCS/images/practical.png``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from everlearn.errors import EverlearnError, require
from everlearn.experiments.experiment import Experiment
from everlearn.figures.style import house_style
from everlearn.files import replacing
from everlearn.leaderboard.board import Board
from everlearn.leaderboard.lineup import lineup
from everlearn.leaderboard.page import markdown, summary
from everlearn.leaderboard.parts import WHOLE, parts_figure, parts_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 80
"""Dots an inch: as many as a page can show."""

BEGIN, END = "<!-- the board begins -->", "<!-- the board ends -->"


def embedded(text: str, tables: str, page: str = "the page") -> str:
    """Return a page with tables put between its two comments, in place of what was there.

    Examples
    --------
    >>> print(embedded(f"before {BEGIN} old {END} after", "new"))
    before <!-- the board begins -->
    <BLANKLINE>
    new
    <!-- the board ends --> after

    """
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    require(bool(begun and ended), page, "no comments", f"put {BEGIN} and {END} where the tables should be")
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def document(directory: str, docs: str) -> list[Path]:
    """Write what a directory holds into the documentation; return what was written."""
    experiment = Experiment(directory)
    variants = any(arm.agent == WHOLE for arm in experiment.arms)
    tables, draw = _parts(experiment) if variants else _board(experiment)
    called = "practical" if variants else "leaderboard"
    file, picture = Path(docs) / f"{called}.md", Path(docs) / "images" / f"{called}.png"
    text = embedded(file.read_text(encoding="utf-8"), tables, file.name)
    with replacing(file) as target:
        target.write(text.encode())
    with house_style(), replacing(picture) as target:
        draw().savefig(target, format="png", dpi=DOTS)
    return [file, picture]


def _parts(experiment: Experiment) -> tuple[str, Callable[[], Figure]]:
    return markdown(parts_table(experiment.arms), level=3), lambda: parts_figure(experiment.arms)


def _board(experiment: Experiment) -> tuple[str, Callable[[], Figure]]:
    whole = lineup(runs=experiment.manifest["runs"], steps=experiment.manifest["steps"])
    chosen = whole.among(*({getattr(arm, key) for arm in experiment.arms} for key in ("agent", "task")))
    board = Board(chosen, experiment)
    return summary(board, level=3), board.figure


def main(arguments: list[str]) -> int:
    """Write, and say what was written; an error is one line and exit code 2."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m everlearn.leaderboard DIR DOCS\n")
        return 2
    try:
        sys.stdout.write("".join(f"written: {path}\n" for path in document(*arguments)))
    except EverlearnError as error:
        sys.stderr.write(f"everlearn: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
