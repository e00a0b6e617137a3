"""What a row of the table of mistakes says."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

GROUPS = ("agents", "schedules", "tasks", "rewards", "states", "specs", "command line", "live")
"""In the order of the documentation."""

ENGINES = ("reference", "compiled")


@dataclass(frozen=True)
class Mistake:
    """Something that a user gets wrong, and the one line that they are told.

    In the call and in the answer ``{here}`` stands for the working directory, where that cannot be avoided.

    Parameters
    ----------
    group:
        one of :data:`GROUPS`
    title:
        the mistake in a clause, unique in the table
    files:
        what the user has in the working directory, by path
    call:
        ``everlearn ...`` or ``python FILE ...``; one with ``{engine}`` is made with both engines
    answer:
        the exact line, without the ``everlearn: `` or ``everlearn.errors.X: `` before it
    before:
        calls that succeed, made first
    warnings:
        lines that come before the answer, without ``everlearn: warning: ``
    shown:
        what the documentation shows: the name of a file, or lines that are part of one; all files unless it is given

    """

    group: str
    title: str
    files: Mapping[str, str]
    call: str
    answer: str
    before: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    shown: str | None = None
    engines: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise ValueError(f"{self.title}: there is no group {self.group!r}; the groups are {', '.join(GROUPS)}")
        texts = [*self.files, *self.files.values()]
        if self.shown is not None and not any(self.shown in text for text in texts):
            raise ValueError(f"{self.title}: what is shown is in none of the files")
        object.__setattr__(self, "engines", ENGINES if "{engine}" in self.call else ("",))


def all_mistakes() -> list[Mistake]:
    """Return the rows of every ``mistakes_*.py`` beside this file, by group."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("mistakes_*.py"))
    rows = [row for name in names for row in importlib.import_module(f"tests.boundary.{name}").MISTAKES]
    return sorted(rows, key=lambda row: GROUPS.index(row.group))
