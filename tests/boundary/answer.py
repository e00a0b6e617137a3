"""What must be true of every answer to a mistake, whatever it says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.boundary.runner import Done


def answered(done: Done, here: Path, warnings: int = 0) -> list[str]:
    """Return the lines that a command answered with, so many warnings included; fail unless it did so properly.

    Nothing crashed, there is no result, and after the one line there is nothing but the user's own traceback.
    """
    assert done.signal is None, told(done)
    assert done.stdout == "", told(done)
    assert done.status == 2, told(done)
    lines = done.stderr.splitlines()
    assert len(lines) > warnings, told(done)
    assert is_traceback_of(here, lines[warnings + 1 :]), told(done)
    return lines[: warnings + 1]


def raised(done: Done) -> str:
    """Return the text of the error that ended a script; fail unless it is one of everlearn's."""
    assert done.signal is None, told(done)
    assert done.stdout == "", told(done)
    assert done.status == 1, told(done)
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    error = re.fullmatch(r"everlearn\.errors\.\w+: (.*)", last)
    assert error is not None, told(done)
    return error[1]


def is_traceback_of(here: Path, lines: list[str]) -> bool:
    """Tell whether there are no lines, or those of one traceback through files of this directory alone."""
    if not lines:
        return True
    frames, last = lines, ""
    if not lines[-1].startswith("  "):  # an error of ours, which the first line says, has frames alone
        *frames, last = lines
    if frames[:1] == ["Traceback (most recent call last):"]:
        del frames[0]
    elif not re.match(r"(Syntax|Indentation|Tab)Error: ", last):  # which says itself where it is
        return False
    named = [match[1] for line in frames if (match := re.fullmatch(r'  File "([^"]+)", line \d+(, in .+)?', line))]
    inside = all((here / name).resolve().is_relative_to(here.resolve()) for name in named)
    others = [line for line in frames if not re.match(r'  File "|    |  \[Previous line repeated ', line)]
    return bool(named) and inside and not others and re.match(r"([\w.]+(: |$)|$)", last) is not None


def told(done: Done) -> str:
    """Return all that is known of a call, for whoever reads the failure."""
    return f"status {done.status}\nstdout:\n{done.stdout}\nstderr:\n{done.stderr}"
