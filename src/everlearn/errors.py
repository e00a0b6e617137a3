"""Every error that everlearn raises on purpose, so that one ``except`` can catch them all.

::

    EverlearnError
    ├── InputError (ValueError)      an argument cannot be used: it names argument, value and remedy
    │   ├── UnknownName              a name that no registry knows, with those it does know
    │   │   └── UnknownKey           a key that a mapping does not have
    │   ├── ScheduleError            a schedule leaves its domain, at step ``t``
    │   └── TaskError                a task contradicts itself
    │       ├── LabelError           an action, observation, state or memory of an unsupported type
    │       ├── ProbabilityError     probabilities that are no distribution
    │       ├── ObservationError     an observation outside the declared set
    │       ├── AleatoricStateError  f leaves the set of aleatoric states
    │       └── RewardError          a reward that is not finite or outside its range
    ├── AgentError                   an agent does what no agent may do
    ├── UserCodeError                a function that the user wrote raised an exception
    ├── CompilationError             a design's functions cannot be compiled
    ├── TableFull                    more pairs were visited than may be expanded
    ├── SnapshotError                a saved agent state that cannot be read or does not fit
    ├── StoreError                   a directory of results that cannot be read, written or added to
    │   └── Held                     another process works there
    └── LiveError                    a durable agent cannot do what was asked
        ├── Changed                  what an agent depends on is not what it was when the agent was last open
        ├── Conflict                 a step that is recorded with other content, or is not the one that is due
        ├── Corrupt                  what is on disk is damaged: it names the file and the place
        └── StoreFull                the disk is full; nothing was changed, and the same can be tried again
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

LONGEST = 500
"""Characters of a value in a message: what was wrong with it is seen before."""


class EverlearnError(Exception):
    """The root of everything that everlearn raises on purpose.

    Examples
    --------
    >>> import everlearn as el
    >>> try:
    ...     el.run("no-such-task")
    ... except EverlearnError as error:
    ...     print(type(error).__name__)
    UnknownName

    """


class InputError(EverlearnError, ValueError):
    """An argument cannot be used.

    Parameters
    ----------
    argument:
        the name of what was wrong, as the caller knows it
    value:
        what was given
    remedy:
        what to do about it, in a clause
    joint:
        what stands between value and remedy

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes with the same message and data."""
        return _again, (type(self), str(self), vars(self))


def shown(value: object, write: Callable[[Any], str] = repr) -> str:
    """Return a value in one line, cut where it is long; its type if it cannot be written."""
    try:
        text = write(value)
    except Exception:  # whatever a user's own method raises, and a number of too many digits
        return f"<{type(value).__name__} that cannot be shown>"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


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
        remedy = f"known: {', '.join(self.known) or 'none'}"
        if near := get_close_matches(shown(value, str), self.known, n=1, cutoff=0.5):
            remedy += f" (did you mean {near[0]}?)"
        super().__init__(argument, value, remedy + hint)


class UnknownKey(UnknownName, KeyError):  # noqa: N818 - reads as what it is
    """A key that a mapping does not have."""

    __str__ = Exception.__str__  # that of KeyError puts the message in quotes


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
    """Probabilities that are no distribution."""


class ObservationError(TaskError):
    """An observation outside the declared set."""


class AleatoricStateError(TaskError):
    """The update function f leaves the set of aleatoric states."""


class RewardError(TaskError):
    """A reward that is not finite, or outside the range that the task declares."""


class AgentError(EverlearnError):
    """An agent does what no agent may do, such as returning an action that there is not.

    Parameters
    ----------
    agent:
        the name of the agent
    problem:
        which function did what, and what to do about it
    step:
        the step at which it happened, where there was one

    Examples
    --------
    >>> raise AgentError("mine:agent", "act returned -1 at step 1; return an index from 0 to 1", step=1)
    Traceback (most recent call last):
    ...
    everlearn.errors.AgentError: agent 'mine:agent': act returned -1 at step 1; return an index from 0 to 1

    """

    def __init__(self, agent: str, problem: str, step: int | None = None) -> None:
        self.agent, self.problem, self.step = agent, problem, step
        super().__init__(f"agent {agent!r}: {problem}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes with its data."""
        return type(self), (self.agent, self.problem, self.step)


class UserCodeError(EverlearnError):
    """A function that the user wrote raised an exception; ``frames`` is its traceback, without frames of ours.

    Examples
    --------
    >>> raise UserCodeError("the reward of task 'shop' raised KeyError: 'busy' (shop.py, line 12)")
    Traceback (most recent call last):
    ...
    everlearn.errors.UserCodeError: the reward of task 'shop' raised KeyError: 'busy' (shop.py, line 12)

    """

    def __init__(self, message: str, frames: str = "") -> None:
        self.frames = frames
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes with its data."""
        return type(self), (str(self), self.frames)


class CompilationError(EverlearnError):
    """A design's functions cannot be compiled; the message says where."""


class TableFull(EverlearnError):  # noqa: N818 - reads as what it is
    """More pairs of a memory and an aleatoric state were visited than may be expanded."""


class SnapshotError(EverlearnError):
    """A saved agent state that cannot be read, or that belongs to something else."""


class StoreError(EverlearnError):
    """A directory of results that cannot be read, written or added to; the message names the file."""


class Held(StoreError):  # noqa: N818 - reads as what it is
    """A directory in which another process works."""


class LiveError(EverlearnError):
    """A durable agent cannot do what was asked, or its directory cannot be used as it is."""


class Changed(LiveError):  # noqa: N818 - reads as what it is
    """What a durable agent depends on is not what it was when the agent was last open.

    Parameters
    ----------
    where:
        the directory
    changes:
        what changed, a clause each
    remedy:
        what to do about it, in a clause

    Examples
    --------
    >>> raise Changed("shop", ["the reward range was 0 to 1 and is now 0 to 2"], "pass accept_changes=True")
    Traceback (most recent call last):
    ...
    everlearn.errors.Changed: shop: the reward range was 0 to 1 and is now 0 to 2; pass accept_changes=True

    """

    def __init__(self, where: str, changes: Sequence[str], remedy: str) -> None:
        self.where, self.changes, self.remedy = where, list(changes), remedy
        super().__init__(f"{where}: {'; '.join(changes)}; {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes with its data."""
        return type(self), (self.where, self.changes, self.remedy)


class Conflict(LiveError):  # noqa: N818 - reads as what it is
    """A step that is recorded with other content, or that is not the one that is due.

    Parameters
    ----------
    message:
        what is wrong, in a line
    expected:
        the number of the step that is due
    recorded:
        what is recorded of the step that was named, by label, where it is past

    """

    def __init__(self, message: str, expected: int, recorded: dict[str, Any] | None = None) -> None:
        self.expected = expected
        self.recorded = recorded
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes with its data."""
        return type(self), (str(self), self.expected, self.recorded)


class Corrupt(LiveError):  # noqa: N818 - reads as what it is
    """What is on disk is damaged; the message names the file and the place in it."""


class StoreFull(LiveError):  # noqa: N818 - reads as what it is
    """The disk is full.  Nothing was changed, and the same can be tried again."""


def _again(kind: type[InputError], message: str, data: dict[str, Any]) -> InputError:
    error = kind.__new__(kind, message)
    Exception.__init__(error, message)
    vars(error).update(data)
    return error


def require(condition: bool, argument: str, value: object, remedy: str) -> None:
    """Raise :class:`InputError` unless the condition holds."""
    if not condition:
        raise InputError(argument, value, remedy)
