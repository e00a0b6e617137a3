"""Comparisons as one matrix: a row for each agent, a column for each task, and in each cell a difference and a mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from everlearn import notebook
from everlearn.analysis.comparison import Comparison
from everlearn.analysis.measures import LOSSES, MEASURES
from everlearn.analysis.sentences import cannot, rounded

MARKS = {"better": "▲", "worse": "▼", "unclear": "○"}
"""What stands beside a difference, by the verdict."""

WIDTH = 100
"""How many letters a line of a matrix has unless another number is asked for."""

NOTHING = "there is nothing to compare: no task has two agents with runs in common"


class Comparisons(list[Comparison]):
    """Comparisons that were made together; printed, they are a matrix.

    Parameters
    ----------
    found:
        what :func:`everlearn.analysis.comparison.comparisons` returned
    measure, confidence:
        what was compared, and the confidence of the intervals

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

    def __init__(self, found: Iterable[Comparison], measure: str, confidence: float) -> None:
        super().__init__(found)
        self.measure, self.confidence = measure, confidence

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dictionary for each comparison, as JSON can hold it."""
        return [asdict(one) for one in self]

    @property
    def sentences(self) -> list[str]:
        """A sentence for each comparison, which says how sure it is."""
        return [one.sentence for one in self]

    @property
    def baselines(self) -> list[str]:
        """The names of the agents that others were compared with."""
        return list(dict.fromkeys(one.against_name for one in self))

    def text(self, width: int = WIDTH) -> str:
        """Return the matrix as text; tasks for which a line has no room continue below."""
        if not self:
            return NOTHING
        names, tasks, cells = self._grid()
        columns = [[[task], *(cells[name][task] for name in names)] for task in tasks]
        heads: list[list[str]] = [[""], *([name, ""] for name in names)]
        parts = ["\n".join(_lines([heads, *part])) for part in _parts(columns, width - _size(heads))]
        return "\n\n".join([self._title(), *parts, "\n".join(self._notes())])

    def __repr__(self) -> str:
        return self.text()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        if not self:
            return notebook.table((), [[NOTHING]])
        names, tasks, cells = self._grid()
        rows = [[name, *("\n".join(cells[name][task]) for task in tasks)] for name in names]
        return notebook.table(["", *tasks], rows, self._title(), self._notes())

    def _grid(self) -> tuple[list[str], list[str], dict[str, dict[str, list[str]]]]:
        """Return the names of rows and of columns, and the two lines of each cell."""
        tasks = list(dict.fromkeys(one.task_name for one in self))
        cells: dict[str, dict[str, list[str]]] = {}
        for one in self:
            cells.setdefault(self._name(one), {task: ["-", ""] for task in tasks})[one.task_name] = _cell(one)
        return list(cells), tasks, cells

    def _name(self, one: Comparison) -> str:
        return one.agent_name if len(self.baselines) == 1 else f"{one.agent_name} minus {one.against_name}"

    def _title(self) -> str:
        minus = f"agent minus {self.baselines[0]}" if len(self.baselines) == 1 else "differences of two agents"
        return f"{MEASURES[self.measure].description}: {minus}"

    def _notes(self) -> list[str]:
        other = self.baselines[0] if len(self.baselines) == 1 else "the second"
        marks = f"{MARKS['better']} better than {other}, {MARKS['worse']} worse, {MARKS['unclear']} unclear"
        less = "; less is better" if self.measure in LOSSES else ""
        notes = [f"{marks}{less}; below each difference its {100 * self.confidence:g}% interval"]
        made = sum(one.adjusted is not None for one in self)
        if made > 1:
            notes.append(f"p-values are adjusted for {made} comparisons (Holm); pairs have the same random numbers")
        few = [one.units for one in self if cannot(one.units, max(made, 1), self.confidence)]
        if few:
            among = f" among {made} comparisons" if made > 1 else ""
            notes.append(f"{min(few)} pairs cannot show a difference{among}; run more, or compare fewer agents")
        return notes


def _cell(one: Comparison) -> list[str]:
    mark = MARKS[one.verdict]
    if one.low is None or one.high is None:
        return [f"{one.difference:+.4g} {mark}", "one pair"]
    low, high = (rounded(end, one.low, one.high) for end in (one.low, one.high))
    return [f"{rounded(one.difference, one.low, one.high, '+')} {mark}", f"{low}..{high}"]


def _parts(columns: Sequence[list[list[str]]], room: int) -> Iterator[list[list[list[str]]]]:
    """Yield as many columns at a time as there is room for, and at least one."""
    part: list[list[list[str]]] = []
    for column in columns:
        if part and sum(_size(each) + 2 for each in [*part, column]) > room:
            yield part
            part = []
        part.append(column)
    yield part


def _lines(columns: Sequence[list[list[str]]]) -> Iterator[str]:
    """Yield the lines of columns side by side, each a list of cells, each a list of lines."""
    sizes = [_size(column) for column in columns]
    for cells in zip(*columns, strict=True):
        for texts in zip(*cells, strict=True):
            yield "  ".join(text.ljust(size) for text, size in zip(texts, sizes, strict=True)).rstrip()


def _size(column: Sequence[Sequence[str]]) -> int:
    return max(len(text) for cell in column for text in cell)
