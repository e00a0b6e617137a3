"""Let another thread stop a computation that takes long, where it evaluates the functions of a task.

The service makes tasks in threads, and some take long.  A thread cannot be ended from outside, so the functions of a
task ask from time to time whether to continue.  Nothing is asked in threads that are not :func:`stoppable`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_checks: dict[int, Callable[[], None]] = {}


class Stopped(BaseException):
    """The computation was stopped.  It is not an error, and no handler of errors may take it for one."""


@contextmanager
def stoppable(check: Callable[[], None]) -> Iterator[None]:
    """Let ``check`` be called from time to time by what this thread computes in the block; it raises to stop it.

    Examples
    --------
    >>> def stop(): raise Stopped
    >>> with stoppable(stop):
    ...     check_stop()
    Traceback (most recent call last):
    ...
    everlearn.stopping.Stopped
    >>> check_stop()

    """
    thread = threading.get_ident()
    _checks[thread] = check
    try:
        yield
    finally:
        del _checks[thread]


def check_stop() -> None:
    """Raise if this thread is stoppable, and is to stop."""
    if _checks and (check := _checks.get(threading.get_ident())) is not None:
        check()
