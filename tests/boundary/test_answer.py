"""What is no proper answer is not taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.boundary.answer import answered, raised
from tests.boundary.runner import Done

HERE = Path("/work/of/a/user")
LINE = "everlearn: task: 'shop'; known: riverswim"
TRACE = 'Traceback (most recent call last):\n  File "{file}", line 3, in act\nKeyError: 0\n'


def test_one_line_is_an_answer():
    assert answered(Done(2, "", f"{LINE}\n"), HERE) == [LINE]
    assert answered(Done(2, "", f"everlearn: warning: slow\n{LINE}\n"), HERE, 1) == ["everlearn: warning: slow", LINE]


@pytest.mark.parametrize("file", ["mine.py", f"{HERE}/mine.py", f"{HERE}/parts/mine.py"])
def test_the_users_own_traceback_may_follow(file):
    assert answered(Done(2, "", f"{LINE}\n{TRACE.format(file=file)}"), HERE) == [LINE]


@pytest.mark.parametrize(
    "done",
    [
        Done(0, "", f"{LINE}\n"),
        Done(1, "", f"{LINE}\n"),
        Done(-11, "", f"{LINE}\n"),
        Done(2, "a result\n", f"{LINE}\n"),
        Done(2, "", ""),
        Done(2, "", f"{LINE}\nand another\n"),
        Done(2, "", LINE + "\n" + TRACE.format(file="/lib/everlearn/api.py")),
        Done(2, "", LINE + "\n" + TRACE.format(file="../../everlearn/api.py")),
        Done(2, "", LINE + "\nand another\n" + TRACE.format(file="mine.py")),
        Done(2, "", LINE + "\n" + TRACE.format(file="mine.py").partition("\n")[2]),
        Done(2, "", LINE + "\n" + TRACE.format(file="mine.py") + "and another\n"),
    ],
    ids=[
        "success",
        "another status",
        "a crash",
        "a result",
        "silence",
        "two lines",
        "a traceback of ours",
        "a way out",
        "two lines and a traceback",
        "half a traceback",
        "more after it",
    ],
)
def test_this_is_no_answer(done):
    with pytest.raises(AssertionError):
        answered(done, HERE)


def test_a_script_ends_with_an_error_of_ours():
    assert (
        raised(Done(1, "", "Traceback ...\neverlearn.errors.InputError: steps: -5; give more\n"))
        == "steps: -5; give more"
    )


@pytest.mark.parametrize(
    "done",
    [
        Done(0, "", ""),
        Done(1, "", "Traceback ...\nIndexError: list index out of range\n"),
        Done(1, "a result\n", "everlearn.errors.InputError: steps: -5\n"),
        Done(-6, "", "everlearn.errors.InputError: steps: -5\n"),
    ],
    ids=["success", "another error", "a result", "a crash"],
)
def test_this_is_no_error_of_ours(done):
    with pytest.raises(AssertionError):
        raised(done)
