"""Errors about what is kept on disk: saved agents, directories of results, and durable agents with their journals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from everlearn.errors.arguments import EverlearnError


class SnapshotError(EverlearnError):
    """A saved agent state that cannot be read, or that belongs to something else.

    Parameters
    ----------
    message:
        what is wrong, in one line
    source:
        the file, or what else the state was read from, if it is known; the message then begins with it
    part:
        the part of the state that is wrong, such as ``clock`` or the name of an array, if it is only one

    """

    def __init__(self, message: str, source: str | None = None, *, part: str | None = None) -> None:
        self.source, self.part = source, part
        super().__init__(_placed(message, source))


class StoreError(EverlearnError):
    """A directory of results that cannot be read, written or added to.

    Parameters
    ----------
    problem:
        what is wrong, in one line
    path:
        the file or the directory, if it is about one; the message then begins with it

    Examples
    --------
    >>> raise StoreError("is a file; give a directory", "out")
    Traceback (most recent call last):
    ...
    everlearn.errors.StoreError: out: is a file; give a directory

    """

    def __init__(self, problem: str, path: str | os.PathLike[str] | None = None) -> None:
        self.problem, self.path = problem, None if path is None else Path(path)
        super().__init__(_placed(problem, path))


class Damaged(StoreError):  # noqa: N818 - reads as what it is
    """A file of results that is torn or was altered."""


class NoExperiment(StoreError):  # noqa: N818 - reads as what it is
    """A directory without an experiment."""


class Held(StoreError):  # noqa: N818 - reads as what it is
    """A directory that another process uses."""


class LiveError(EverlearnError):
    """A durable agent cannot do what was asked, or its directory cannot be used as it is.

    Parameters
    ----------
    problem:
        what is wrong, in one line
    path:
        the file or the directory, if it is about one; the message then begins with it
    agent:
        the name of the agent, if it is about one of several
    step:
        the step, if it is about one

    """

    def __init__(
        self,
        problem: str,
        path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        step: int | None = None,
    ) -> None:
        self.problem, self.path = problem, None if path is None else Path(path)
        self.agent, self.step = agent, step
        super().__init__(_placed(problem, path))


class OtherVersion(LiveError):  # noqa: N818 - reads as what it is
    """A directory that an earlier or a later everlearn wrote, and that this one cannot read."""


class Absent(LiveError):  # noqa: N818 - reads as what it is
    """There is no such agent, snapshot, file or directory."""


class Changed(LiveError):  # noqa: N818 - reads as what it is
    """Something that a durable agent depends on has changed since the agent was last open.

    Parameters
    ----------
    where:
        the directory
    changes:
        what changed, one clause per change
    remedy:
        what to do about it, in a clause
    keys:
        what changed, by name: a key of the setup, or a parameter, as in ``schedule.forgetting``

    Examples
    --------
    >>> raise Changed("shop", ["the reward range was 0 to 1 and is now 0 to 2"], "pass accept_changes=True")
    Traceback (most recent call last):
    ...
    everlearn.errors.Changed: shop: the reward range was 0 to 1 and is now 0 to 2; pass accept_changes=True

    """

    def __init__(self, where: str, changes: Sequence[str], remedy: str, keys: Sequence[str] = ()) -> None:
        self.where, self.changes, self.remedy, self.keys = where, list(changes), remedy, list(keys)
        super().__init__(f"{'; '.join(changes)}; {remedy}", where)


class Conflict(LiveError):  # noqa: N818 - reads as what it is
    """A step that is recorded with other content, or that is not due.

    Parameters
    ----------
    message:
        what is wrong, in one line
    expected:
        the number of the step that is due
    recorded:
        the record of the given step, by label, if it is past
    step:
        the number of the given step
    field:
        the name of what differs from the record, such as ``observation``, if something does

    """

    def __init__(
        self,
        message: str,
        expected: int,
        recorded: dict[str, Any] | None = None,
        *,
        step: int | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message, step=step)
        self.expected, self.recorded, self.field = expected, recorded, field


class Failed(LiveError):  # noqa: N818 - reads as what it is
    """A built-in design could not act or learn with what it knows.

    Parameters
    ----------
    message:
        the step, the design and what it raised, in one line
    seq:
        the number of the row of the journal from which it could not learn
    step:
        the number of the step, if it has just failed
    quarantined:
        whether it failed before, and is asked to act or learn again

    """

    def __init__(self, message: str, seq: int = 0, *, step: int | None = None, quarantined: bool = False) -> None:
        super().__init__(message, step=step)
        self.seq, self.quarantined = seq, quarantined


class Corrupt(LiveError):  # noqa: N818 - reads as what it is
    """A damaged file.

    Parameters
    ----------
    problem:
        what is damaged, in one line; the message is the place and the problem
    path:
        the file
    table:
        the table of the database, if the damage is in one
    number:
        the number of the agent in that table, if it concerns one
    row:
        the number of the row of the journal
    agent:
        the name of the agent, if it is known

    Examples
    --------
    >>> raise Corrupt("is missing", "shop/everlearn.db", table="journal", number=1, row=277)
    Traceback (most recent call last):
    ...
    everlearn.errors.Corrupt: shop/everlearn.db: table journal: agent 1: row 277: is missing

    """

    def __init__(
        self,
        problem: str,
        path: str | os.PathLike[str] | None = None,
        *,
        table: str | None = None,
        number: int | None = None,
        row: int | None = None,
        agent: str | None = None,
    ) -> None:
        places = {"table": table, "agent": number, "row": row}
        place = "".join(f"{name} {value}: " for name, value in places.items() if value is not None)
        super().__init__(place + problem, path, agent=agent)
        self.problem, self.table, self.number, self.row = problem, table, number, row


class StoreFull(LiveError):  # noqa: N818 - reads as what it is
    """The disk is full.  Nothing was changed, and the call can be repeated."""


class Unsynced(StoreFull):
    """The disk failed to synchronise what was written, so whether it was recorded is unknown.

    The agent resumes as it was before.  If the process ends before the next row is written, the row may be there when
    the agent is opened again: to be safe, repeat the call with its step number.
    """


def _placed(message: str, place: str | os.PathLike[str] | None) -> str:
    return message if place is None else f"{os.fspath(place)}: {message}"
