"""The root of all errors, and the errors about arguments: each names the argument, its value and a remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
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
