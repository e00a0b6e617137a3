"""An entry of the journal: one thing that changed an agent, in indices, so that replay never calls f or r."""

from __future__ import annotations

from typing import NamedTuple

OBSERVED, WARM, MODE, ROLLBACK, IMPORT = range(5)
KINDS = ("observed", "warm", "mode", "rollback", "import")

LEARN, FROZEN, SHADOW = range(3)
MODES = ("learn", "frozen", "shadow")


class Entry(NamedTuple):
    """One row of the journal; indices are those of the task.

    An observation has everything; other kinds have a payload, and what was pending when they came.
    """

    seq: int
    """Its number among all rows of its agent."""
    kind: int
    step: int
    """How many observations there were after it."""
    mode: int
    """The mode in which it was made."""
    at: float
    """When, in seconds since 1970."""
    state: int
    """The aleatoric state before it."""
    allowed: bytes | None
    """The mask given with the call of ``act``, least significant byte first."""
    proposed: int | None
    """What ``act`` had answered, if it was asked."""
    executed: int | None
    observation: int | None
    reward: float | None
    """In the units of the task."""
    following: int
    """The aleatoric state after it."""
    payload: bytes | None
    """The state of the agent after a rollback or an import, the name of a mode."""
