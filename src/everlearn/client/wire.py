"""What a request may hold: Python's values as JSON, with the values of NumPy converted; anything else is refused here.

So what cannot be sent is refused by the call that it was passed to, and never waits in the queue of a client.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Set
from typing import Any

from everlearn.errors import InputError, require
from everlearn.factories import name_of

LABEL = "use an int, a str or a tuple of these"


def as_json(value: Any, argument: str = "") -> Any:
    """Return a value as JSON can write it; raise :class:`InputError`, which names the part that it cannot write.

    Examples
    --------
    >>> as_json({"reward_range": (0, 1)})
    {'reward_range': [0, 1]}
    >>> as_json({"seed": {1, 2}})
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: seed: {1, 2}; a set cannot be sent as JSON; give numbers, texts, lists or dicts of them

    """
    value = simple(value)
    if isinstance(value, Mapping):
        joined = f"{argument}." if argument else ""
        return {_key(key, argument): as_json(part, f"{joined}{key}") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part, argument) for part in value]
    if isinstance(value, float):
        require(math.isfinite(value), argument, value, "give a finite number")
    elif not (value is None or isinstance(value, bool | int | str)):
        what = f"a {type(value).__name__} cannot be sent as JSON"
        raise InputError(
            argument,
            name_of(value) if callable(value) else value,
            f"{what}; give numbers, texts, lists or dicts of them",
        )
    return value


def _key(key: object, argument: str) -> str:
    fine = isinstance(key, int | str) and not isinstance(key, bool)
    require(fine, argument, key, "is no key of JSON; give a text, or the table as a list of rows")
    return str(key)


def simple(value: Any) -> Any:
    """Return numbers and arrays of NumPy as those of Python, and a box as its document."""
    if isinstance(value, type):
        return value
    if callable(getattr(value, "document", None)):
        return value.document()
    return value.tolist() if hasattr(value, "tolist") else value


def is_number(value: object) -> bool:
    """Return whether a value is a number of Python; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_number(value: Any, argument: str) -> float | None:
    """Return a finite number, or None for none; a truth value is no number."""
    value = simple(value)
    if value is None:
        return None
    fine = isinstance(value, numbers.Real) and not isinstance(value, bool)
    require(fine, argument, value, "give a number")
    try:
        number = value if isinstance(value, int) else float(value)
        finite = math.isfinite(number)
    except OverflowError:
        finite = False
    require(finite, argument, value, "give a finite number")
    return number


def as_action(value: Any, argument: str) -> Any:
    """Return a label with the values of NumPy converted; raise if it is none."""
    value = simple(value)
    if isinstance(value, list | tuple):
        return tuple(as_action(part, argument) for part in value)
    fine = isinstance(value, int | str) and not isinstance(value, bool)
    require(fine, argument, value, f"{type(value).__name__} is not supported, {LABEL}")
    return value


def as_observation(value: Any, argument: str) -> Any:
    """Return a label, or a point of a box, with the values of NumPy converted; raise if it is neither."""
    value = simple(value)
    require(value is not None and not isinstance(value, bool), argument, value, LABEL)
    if isinstance(value, list | tuple):
        parts = [as_observation(part, argument) for part in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    as_json(value, argument)
    return value


def as_actions(value: Any, argument: str = "allowed") -> list[Any] | None:
    """Return the actions that are allowed as a list; a text is not read as its letters."""
    value = simple(value)
    if value is None:
        return None
    fine = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    require(fine, argument, value, "give a list of actions")
    actions = [as_action(part, argument) for part in value]
    require(bool(actions), argument, actions, "give at least one action")
    return sorted(actions, key=repr) if isinstance(value, Set) else actions
