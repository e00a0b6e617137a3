"""The audit: every row of a journal by labels, from a directory that may be in use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from everlearn.durable.database import errors
from everlearn.durable.entry import Entry, checked
from everlearn.durable.reader import Reader
from everlearn.durable.reopening import stored_setup
from everlearn.durable.views import described
from everlearn.errors import Corrupt
from everlearn.tasks.task import Task

PAGE = 1000
"""How many rows are read at a time, so that no reader stands in the way of the log for long."""


def export(
    directory: str | os.PathLike[str], name: str = "agent", first: int | None = None, last: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of an agent's journal whose step lies between ``first`` and ``last``, by labels.

    Every row is checked against the one before it.

    Examples
    --------
    >>> import tempfile
    >>> from everlearn.durable.live import live
    >>> directory = tempfile.mkdtemp()
    >>> with live(directory, task="service-station", seed=1) as agent:
    ...     _ = agent.act(), agent.observe("arrival")
    >>> [(row["step"], row["proposed"], row["observation"]) for row in export(directory)]
    [(1, 'fast', 'arrival')]

    """
    with Reader(directory) as reader:
        found = reader.enrolled(name)
        task = stored_setup(found.setup, found.face).task
        after = -1
        while True:
            listed = page(reader, (found.number, task), (first or 0, last), after, PAGE)
            yield from listed
            if len(listed) < PAGE:
                return
            after = listed[-1]["seq"]


def page(
    reader: Reader, agent: tuple[int, Task], steps: tuple[int, int | None], after: int, limit: int
) -> list[dict[str, Any]]:
    """Return up to ``limit`` rows of an agent by labels, those after row ``after``, with steps from one to another.

    Of the agent its number and its task are enough: nothing is learned again.
    """
    (number, task), (first, last) = agent, steps
    begin = max(after + 1, first)  # rows are numbered no lower than steps
    found: list[dict[str, Any]] = []
    check: int | None = None
    with errors(reader.path):
        for entry in reader.rows(number, begin):
            check = _follows(reader, number, entry, check)
            if last is not None and entry.step > last:
                break
            if entry.step >= first:
                found.append(described(task, entry))
            if len(found) == limit:
                break
    return found


def _follows(reader: Reader, number: int, entry: Entry, check: int | None) -> int:
    """See that a row follows on the one before it; return its check."""
    if check is not None and entry.check != checked(check, entry[:-1]):
        raise Corrupt(f"{reader.path}: table journal: agent {number}: row {entry.seq} is damaged")
    return entry.check
