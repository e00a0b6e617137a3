"""Portraits: how a task is shown to people.  It is data on the task; nothing that runs or computes reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from everlearn.protocol import Label


@dataclass(frozen=True)
class Board:
    """Draw the environment's memory as a place on a board: its row and column.

    ``rows`` is the board as text: ``#`` is a wall, ``.`` a place, other marks are goals, which ``goals`` names.
    ``places`` has the row and column of each memory that is not such a pair itself.
    """

    rows: tuple[str, ...]
    goals: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[Label, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Letters:
    """Draw the environment's memory, a text, as a square of letters; a dot is an empty place."""

    columns: int


@dataclass(frozen=True)
class Bars:
    """Draw the environment's memory, a tuple of numbers, as bars with these names, of at most this height."""

    names: tuple[str, ...]
    most: int


Drawing: TypeAlias = Board | Letters | Bars


@dataclass(frozen=True)
class Portrait:
    """What people are told about a task, and what they see of it.

    Parameters
    ----------
    dilemma:
        one sentence: what makes it hard to choose
    states:
        the name of an aleatoric state: a text with ``{}`` for each part of its label, or a text for each label; labels
        that have none are written as they are
    drawing:
        how it is drawn; None draws the aleatoric states and the ways between them
    preset:
        what to show it with, as an address of the page has it, such as ``{"agent": "learned"}``
    note:
        what to expect of those who watch it, if nothing can be seen to be learned within some twenty seconds

    Examples
    --------
    >>> Portrait(states="{} in stock, {} ordered").name((3, 2))
    '3 in stock, 2 ordered'
    >>> Portrait(states={0: "nobody"}).name(0), Portrait().name(("left", "corridor")), Portrait().name(())
    ('nobody', 'left, corridor', 'nothing yet')

    """

    dilemma: str = ""
    states: str | Mapping[Label, str] = ""
    drawing: Drawing | None = None
    preset: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def name(self, label: Label) -> str:
        """Return the name of an aleatoric state."""
        if isinstance(self.states, Mapping):
            return self.states.get(label) or words(label)
        parts = label if isinstance(label, tuple) else (label,)
        fits = self.states and self.states.count("{}") == len(parts) and not isinstance(label, str)
        return self.states.format(*map(words, parts)) if fits else words(label)


def words(label: Label) -> str:
    """Return a label in words: the parts of a tuple one after the other."""
    if isinstance(label, tuple):
        parts = [f"({words(part)})" if isinstance(part, tuple) else words(part) for part in label]
        return ", ".join(parts) or "nothing yet"
    return str(label)
