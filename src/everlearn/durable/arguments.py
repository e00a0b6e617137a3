"""Checks of what a user gives in Python, where any type may come."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

from everlearn.aleatoric.state import AleatoricState
from everlearn.errors import LiveError, require
from everlearn.files import as_path
from everlearn.tasks.registry import TASKS


def shown(value: object) -> object:
    """Return what an error shows of an argument of the wrong type: simple values as they are, others by their type.

    Examples
    --------
    >>> shown(3), shown(os)
    (3, 'module')

    """
    return value if value is None or isinstance(value, bool | int | float | str) else type(value).__name__


def is_object(key: str, value: object) -> bool:
    """Tell whether what is given under a key is a function or an object, which a document cannot hold."""
    if key in ("task", "agent", "schedule"):
        return not isinstance(value, str)  # what is none of these is refused by those who make them
    if key == "aleatoric":
        remedy = "a function alone has no state to begin in; give el.AleatoricState(start, function)"
        require(not callable(value), key, shown(value), remedy)
    return isinstance(value, AleatoricState) or (key == "reward" and callable(value))


def listed(given: object, argument: str) -> list[Any]:
    """Return labels as a list; a set would come in another order in every process."""
    fine = isinstance(given, Iterable) and not isinstance(given, str | Set | Mapping)
    require(fine, argument, given, "give a list of labels")
    return [*given]  # type: ignore[misc]  # iterable


def check_directory(directory: object, task: object) -> None:
    """Refuse what is no directory; most often directory and task have changed places."""
    remedy = "the directory comes first, and then the task: el.live(DIR, task)"
    path = isinstance(directory, str | os.PathLike) and str(directory) != ""
    require(path, "directory", shown(directory), f"is no path; {remedy}")
    named = isinstance(task, str) and (task in TASKS or ":" in task)
    swapped = directory in TASKS and isinstance(task, str | os.PathLike) and not named
    require(not swapped, "directory", directory, f"is a task; {remedy}")


@contextmanager
def file_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in one line what is wrong with a file."""
    as_path(path)
    try:
        yield
    except OSError as error:
        raise LiveError(f"{os.fspath(path)}: {error.strerror}") from None
