"""Every error that everlearn raises on purpose, so that one ``except`` can catch them all.

::

    EverlearnError
    ├── InputError (ValueError)      an argument cannot be used: it names the argument, the value and a remedy
    │   ├── UnknownName              a name that is in no registry, with the names that are
    │   │   └── UnknownKey           a key that a mapping does not have
    │   ├── ScheduleError            a schedule leaves its domain, at step ``t``
    │   └── TaskError                a task contradicts itself
    │       ├── LabelError           an action, observation, state or memory of an unsupported type
    │       ├── ProbabilityError     probabilities that do not form a distribution
    │       ├── ObservationError     an observation outside the declared set
    │       ├── AleatoricStateError  f leaves the set of aleatoric states
    │       └── RewardError          a reward that is not finite or outside its range
    ├── AgentError                   an agent returned or did something invalid
    ├── UserCodeError                a function of the user's raised an exception
    ├── CompilationError             a design's functions cannot be compiled
    ├── TableFull                    more pairs were visited than may be expanded
    ├── SnapshotError                a saved agent state that cannot be read or does not fit
    ├── StoreError                   a directory of results that cannot be read, written or added to
    │   ├── Damaged                  a file of results that is torn or was altered
    │   ├── NoExperiment             a directory without an experiment
    │   └── Held                     a directory that another process uses
    └── LiveError                    a durable agent cannot do what was asked
        ├── Absent                   there is no such agent, snapshot, file or directory
        ├── OtherVersion             a directory that this everlearn cannot read
        ├── Changed                  something that an agent depends on has changed since it was last open
        ├── Conflict                 a step that is recorded with other content, or that is not due
        ├── Failed                   a built-in design could not act or learn with what it knows
        ├── Corrupt                  a damaged file: it names the file and the place
        └── StoreFull                the disk is full; nothing was changed, and the call can be repeated
            └── Unsynced             the disk failed; whether the call was recorded is unknown
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

LONGEST_VALUE = 500
"""The largest number of characters of a value in a message."""

MOST_NAMES, FEW_NAMES = 60, 5
"""A message lists at most so many known names; of more than those, the few that are nearest to the value."""


class EverlearnError(Exception):
    """The base class of all errors that everlearn raises on purpose.

    Examples
    --------
    >>> import everlearn as el
    >>> try:
    ...     el.run("no-such-task")
    ... except EverlearnError as error:
    ...     print(type(error).__name__)
    UnknownName

    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the data, whatever the arguments of the constructor are."""
        return restored, (type(self), str(self), vars(self))


class InputError(EverlearnError, ValueError):
    """An argument cannot be used.

    Parameters
    ----------
    argument:
        the name of the argument, as the caller knows it
    value:
        its value
    remedy:
        what to do about it, in a clause
    joint:
        the text between value and remedy

    Examples
    --------
    >>> raise InputError("steps", -5, "give a whole number of at least 1")
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: steps: -5; give a whole number of at least 1

    """

    def __init__(self, argument: str, value: object, remedy: str, joint: str = "; ") -> None:
        self.argument = argument
        self.value = value
        self.remedy = remedy
        super().__init__(f"{argument}: {shown(value)}{joint}{remedy}")


def shown(value: object, write: Callable[[Any], str] = repr) -> str:
    """Return a value as one line, truncated if it is long; its type if it cannot be written."""
    try:
        text = write(value)
    except Exception:  # a user's method may raise anything, and so does a number with too many digits
        return f"<{type(value).__name__} that cannot be shown>"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 4]} ..."


class UnknownName(InputError):  # noqa: N818 - reads as what it is
    """A name that is in no registry.

    Examples
    --------
    >>> raise UnknownName("agent", "growing", ["growing-horizon", "static"])
    Traceback (most recent call last):
    ...
    everlearn.errors.UnknownName: agent: 'growing'; known: growing-horizon, static
    (did you mean growing-horizon?)

    """

    def __init__(self, argument: str, value: object, known: Iterable[str], hint: str = "") -> None:
        self.known = sorted(known)
        some = self.known
        if len(some) > MOST_NAMES:
            some = [*get_close_matches(shown(value, str), some, n=FEW_NAMES, cutoff=0), "..."]
        names = map(repr, some) if any("," in name for name in some) else some
        remedy = f"known: {', '.join(names) or 'none'}"
        written = {name.lower(): name for name in self.known}
        if near := get_close_matches(shown(value, str).lower(), written, n=1, cutoff=0.5):
            remedy += f" (did you mean {written[near[0]]}?)"
        super().__init__(argument, value, remedy + hint)


class UnknownKey(UnknownName, KeyError):  # noqa: N818 - reads as what it is
    """A key that a mapping does not have."""

    __str__ = Exception.__str__  # KeyError would put the message in quotes


class ScheduleError(InputError):
    """A schedule leaves its domain.  ``t`` is the first step at which it does."""

    def __init__(self, argument: str, value: object, remedy: str, t: int) -> None:
        self.t = t
        super().__init__(f"{argument} at t = {t}", value, remedy)


class TaskError(InputError):
    """A task contradicts itself."""


class LabelError(TaskError):
    """An action, observation, aleatoric state or memory of an unsupported type, or unknown to the task."""


class ProbabilityError(TaskError):
    """Probabilities that do not form a distribution."""


class ObservationError(TaskError):
    """An observation outside the declared set."""


class AleatoricStateError(TaskError):
    """The update function f leaves the set of aleatoric states."""


class RewardError(TaskError):
    """A reward that is not finite, or outside the range that the task declares."""


class AgentError(EverlearnError):
    """An agent returned or did something invalid, such as an action that does not exist.

    Parameters
    ----------
    agent:
        the name of the agent
    problem:
        what happened in which function, and what to do about it
    step:
        the step at which it happened, if any
    function:
        the name of the function that did it, such as ``act``, if it is known
    run:
        the number of the run in which it happened; 0 is the first
    value:
        what the function returned, left or used, in short, as in the message
    array:
        the name of the array that is wrong, if one is

    Examples
    --------
    >>> problem = "act returned -1 at step 1; return an index from 0 to 1"
    >>> raise AgentError("mine:agent", problem, step=1, function="act", value="-1")
    Traceback (most recent call last):
    ...
    everlearn.errors.AgentError: agent 'mine:agent': act returned -1 at step 1; return an index from 0 to 1

    """

    def __init__(
        self,
        agent: str,
        problem: str,
        step: int | None = None,
        *,
        function: str | None = None,
        run: int = 0,
        value: str | None = None,
        array: str | None = None,
    ) -> None:
        self.agent, self.problem, self.step = agent, problem, step
        self.function, self.run, self.value, self.array = function, run, value, array
        super().__init__(f"agent {agent!r}: {problem}")


class UserCodeError(EverlearnError):
    """A function of the user's raised an exception, which is the error's ``__cause__``.

    Parameters
    ----------
    message:
        which function raised what, and where, in one line
    frames:
        its traceback, without frames of this package
    function:
        the function and what it belongs to, as in ``agent 'mine': act``
    at:
        the call that raised, as in ``step 12``, if it is known

    Examples
    --------
    >>> raise UserCodeError("the reward of task 'shop' raised KeyError: 'busy' (shop.py, line 12)")
    Traceback (most recent call last):
    ...
    everlearn.errors.UserCodeError: the reward of task 'shop' raised KeyError: 'busy' (shop.py, line 12)

    """

    def __init__(self, message: str, frames: str = "", *, function: str = "", at: str = "") -> None:
        self.frames, self.function, self.at = frames, function, at
        super().__init__(message)


class CompilationError(EverlearnError):
    """A design's functions cannot be compiled; the message says where, and ``agent`` is the name of the design."""

    def __init__(self, message: str, agent: str = "") -> None:
        self.agent = agent
        super().__init__(message)


class TableFull(EverlearnError):  # noqa: N818 - reads as what it is
    """More than ``max_pairs`` pairs of a memory and an aleatoric state were visited."""

    def __init__(self, message: str, max_pairs: int) -> None:
        self.max_pairs = max_pairs
        super().__init__(message)


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


def restored(kind: type[Exception], message: str, data: dict[str, Any]) -> Exception:
    """Return a pickled error or warning, without the arguments of its constructor."""
    error = kind.__new__(kind, message)
    Exception.__init__(error, message)
    vars(error).update(data)
    return error


def require(condition: bool, argument: str, value: object, remedy: str) -> None:
    """Raise :class:`InputError` unless the condition holds."""
    if not condition:
        raise InputError(argument, value, remedy)
