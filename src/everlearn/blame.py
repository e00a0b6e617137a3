"""Report an exception inside a user's own function as one line, with the traceback of the user's own frames."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from everlearn.errors import EverlearnError, UserCodeError, shown

PACKAGE = str(Path(__file__).parent) + os.sep
"""The directory of this package."""

LIBRARIES = tuple(
    {str(Path(sysconfig.get_path(kind))) + os.sep for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
)
"""The directories of other libraries."""

CAUGHT = (Exception, SystemExit)
"""Exceptions for which a user's function is blamed; Ctrl-C is not its fault."""


class blame:  # noqa: N801 - a context manager
    """Turn an exception inside the block, which calls a user's function, into a :exc:`UserCodeError`.

    ``what`` names the function, as in ``the reward of task 'shop'``, and ``at`` the call, as in ``step 12``.
    """

    def __init__(self, what: str, at: str = "") -> None:
        self._what, self._at = what, at

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, _kind: type | None, error: BaseException | None, _trace: TracebackType | None) -> None:
        """Report an exception of the block; errors of this package pass unchanged."""
        if isinstance(error, CAUGHT) and not isinstance(error, EverlearnError):
            raise blamed(error, self._what, self._at) from own(error)


def blamed(error: BaseException, what: str, at: str = "") -> UserCodeError:
    """Return the error that reports an exception raised by a user's function."""
    frames = own_frames(error.__traceback__)
    place = f" ({shown_path(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    raised = f"raised {type(error).__name__}" + (f" at {at}" if at else "")
    text = " ".join(shown(error, str).split()) + _known_attributes(error)
    message = f"{what} {raised}" + (f": {text}" if text else "") + place
    return UserCodeError(message, "".join(traced(error)), function=what, at=at)


def _known_attributes(error: BaseException) -> str:
    """Return which attributes there are, if an error is about one that a NamedTuple or an object of ours lacks."""
    thing = error.obj if isinstance(error, AttributeError) else None
    if isinstance(thing, tuple):
        names = [*getattr(thing, "_fields", ())]
    else:
        ours = type(thing).__module__.startswith("everlearn.")
        names = [name for name in getattr(thing, "__dict__", ()) if not name.startswith("_")] if ours else []
    return f"; it has {', '.join(names)}" if names else ""


def traced(error: BaseException) -> list[str]:
    """Return the lines of a traceback with only the user's frames; none if there are no such frames."""
    frames = own_frames(error.__traceback__)
    last = traceback.format_exception_only(error)
    if not frames:
        return last if isinstance(error, SyntaxError) else []  # it contains its own place
    return ["Traceback (most recent call last):\n", *frames.format(), *last]


def own(error: BaseException) -> BaseException:
    """Return the exception with a traceback that begins at the first frame of the user's, if there is one."""
    trace = error.__traceback__
    while trace is not None and not _is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return error.with_traceback(trace) if trace is not None else error


def own_frames(trace: TracebackType | None) -> traceback.StackSummary:
    """Return the frames of a traceback that belong neither to this package nor to a library."""
    return traceback.StackSummary.from_list([frame for frame in traceback.extract_tb(trace) if _is_own(frame.filename)])


def _is_own(filename: str) -> bool:
    if filename.startswith((PACKAGE, "<frozen ")):
        return False
    return not filename.startswith(LIBRARIES) or os.sep + "ipykernel_" in filename


def shown_path(filename: str) -> str:
    """Return a file name as a user would type it: relative if it is below the current directory."""
    here = str(Path.cwd()) + os.sep
    return filename.removeprefix(here) if sys.platform != "win32" else filename
