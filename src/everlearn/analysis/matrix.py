"""A matrix of comparisons: a row for each agent, a column for each task, and in each cell a difference and a mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from everlearn import notebook
from everlearn.analysis.measures import MEASURES
from everlearn.analysis.sentences import Comparison, rounded, too_few

MARKS = {"better": "▲", "worse": "▼", "unclear": "○"}
"""The mark beside a difference, by verdict."""

WIDTH = 100
"""The default number of letters per line."""

_Column = list[list[str]]
"""Cells from top to bottom, each a list of lines."""

NOTHING = "there is nothing to compare: no task has two agents with runs in common"


class Comparisons(list[Comparison]):
    """Comparisons that were made together, printed as a matrix.

    Parameters
    ----------
    comparisons:
        what :func:`everlearn.analysis.comparison.comparisons` returned
    measure:
        what was compared
    confidence:
        the confidence of the intervals

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn.analysis.comparison import comparisons
    >>> from everlearn.results.arm import Arm
    >>> earned = {"slow": np.arange(8.0), "fast": np.arange(8.0) + [0.4, 0.6] * 4}
    >>> arms = [Arm("shop", name, {}, np.array([1]), total.reshape(8, 1)) for name, total in earned.items()]
    >>> print(Comparisons(comparisons(arms), "final", 0.95))
    average reward over all steps: agent minus slow
    <BLANKLINE>
          shop
    fast  +0.50 ▲
          0.43..0.57
    <BLANKLINE>
    ▲ better than slow, ▼ worse, ○ unclear; below each difference its 95% interval

    """

    def __init__(self, comparisons: Iterable[Comparison], measure: str, confidence: float) -> None:
        super().__init__(comparisons)
        self.measure, self.confidence = measure, confidence

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The comparisons as a JSON document, one dict each."""
        return [asdict(comparison) for comparison in self]

    @property
    def sentences(self) -> list[str]:
        """One sentence per comparison, which says how sure it is."""
        return [comparison.sentence for comparison in self]

    @property
    def baselines(self) -> list[str]:
        """The names of the agents that others were compared with."""
        return list(dict.fromkeys(comparison.against_name for comparison in self))

    def text(self, width: int = WIDTH) -> str:
        """Return the matrix as text; tasks that do not fit into the width continue below."""
        if not self:
            return NOTHING
        tasks, cells = self._grid()
        columns: list[_Column] = [[[task], *(row[task] for row in cells.values())] for task in tasks]
        heads: _Column = [[""], *([name, ""] for name in cells)]
        parts = ["\n".join(_lines([heads, *part])) for part in _parts(columns, width - _size(heads))]
        return "\n\n".join([self._title(), *parts, "\n".join(self._notes())])

    def __repr__(self) -> str:
        return self.text()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        if not self:
            return notebook.table((), [[NOTHING]])
        tasks, cells = self._grid()
        rows = [[name, *("\n".join(row[task]) for task in tasks)] for name, row in cells.items()]
        return notebook.table(["", *tasks], rows, self._title(), self._notes())

    def _grid(self) -> tuple[list[str], dict[str, dict[str, list[str]]]]:
        """Return the names of the columns, and the two lines of each cell by row and column."""
        tasks = list(dict.fromkeys(comparison.task_name for comparison in self))
        several = len(self.baselines) > 1
        cells: dict[str, dict[str, list[str]]] = {}
        for comparison in self:
            name = comparison.agent_name + (f" minus {comparison.against_name}" if several else "")
            row = cells.setdefault(name, {task: ["-", ""] for task in tasks})
            row[comparison.task_name] = _cell(comparison)
        return tasks, cells

    def _title(self) -> str:
        minus = f"agent minus {self.baselines[0]}" if len(self.baselines) == 1 else "differences of two agents"
        return f"{MEASURES[self.measure].description}: {minus}"

    def _notes(self) -> list[str]:
        other = self.baselines[0] if len(self.baselines) == 1 else "the second"
        marks = f"{MARKS['better']} better than {other}, {MARKS['worse']} worse, {MARKS['unclear']} unclear"
        less = "; less is better" if MEASURES[self.measure].less_is_better else ""
        notes = [f"{marks}{less}; below each difference its {100 * self.confidence:g}% interval"]
        made = sum(comparison.adjusted is not None for comparison in self)
        if made > 1:
            notes.append(f"p-values are adjusted for {made} comparisons (Holm); pairs have the same random numbers")
        few = [comparison.units for comparison in self if too_few(comparison.units, max(made, 1), self.confidence)]
        if few:
            among = f" among {made} comparisons" if made > 1 else ""
            notes.append(f"{min(few)} pairs cannot show a difference{among}; run more, or compare fewer agents")
        return notes


def _cell(comparison: Comparison) -> list[str]:
    difference, low, high, mark = comparison.difference, comparison.low, comparison.high, MARKS[comparison.verdict]
    if low is None or high is None:
        return [f"{difference:+.4g} {mark}", "one pair"]
    return [f"{rounded(difference, low, high, '+')} {mark}", f"{rounded(low, low, high)}..{rounded(high, low, high)}"]


def _parts(columns: Sequence[_Column], room: int) -> Iterator[list[_Column]]:
    """Yield as many columns at a time as fit, and at least one."""
    part: list[_Column] = []
    for column in columns:
        if part and sum(_size(each) + 2 for each in [*part, column]) > room:
            yield part
            part = []
        part.append(column)
    yield part


def _lines(columns: Sequence[_Column]) -> Iterator[str]:
    sizes = [_size(column) for column in columns]
    for cells in zip(*columns, strict=True):
        for texts in zip(*cells, strict=True):
            yield "  ".join(text.ljust(size) for text, size in zip(texts, sizes, strict=True)).rstrip()


def _size(column: _Column) -> int:
    return max(len(text) for cell in column for text in cell)
