"""Write a board that was run into the documentation: ``python -m everlearn.leaderboard DIR DOCS``.

The tables go between two comments in ``DOCS/leaderboard.md``, the figure to ``DOCS/images/leaderboard.png``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from everlearn.errors import EverlearnError, require
from everlearn.experiments.experiment import Experiment
from everlearn.figures.style import house_style
from everlearn.files import replacing
from everlearn.leaderboard.board import Board
from everlearn.leaderboard.lineup import lineup
from everlearn.leaderboard.page import summary

DOTS = 80
"""Dots an inch: as many as a page can show."""

BEGIN, END = "<!-- the board begins -->", "<!-- the board ends -->"


def embedded(text: str, tables: str) -> str:
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
    require(bool(begun and ended), "leaderboard.md", "no comments", f"put {BEGIN} and {END} where the tables should be")
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def document(directory: str, docs: str) -> list[Path]:
    """Write the board of a directory into the documentation; return what was written."""
    experiment = Experiment(directory)
    whole = lineup(runs=experiment.manifest["runs"], steps=experiment.manifest["steps"])
    chosen = whole.among(*({getattr(arm, key) for arm in experiment.arms} for key in ("agent", "task")))
    board, file = Board(chosen, experiment), Path(docs) / "leaderboard.md"
    text = embedded(file.read_text(encoding="utf-8"), summary(board, level=3))
    with replacing(file) as target:
        target.write(text.encode())
    picture = Path(docs) / "images" / "leaderboard.png"
    with house_style(), replacing(picture) as target:
        board.figure().savefig(target, format="png", dpi=DOTS)
    return [file, picture]


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
