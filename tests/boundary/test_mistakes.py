"""Every mistake in the table gets its answer: one line, from both engines, without a crash or a result."""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.boundary.answer import answered, raised, told
from tests.boundary.mistake import GROUPS, Mistake, all_mistakes
from tests.boundary.page import DOCS, pages
from tests.boundary.runner import Done, spawn

MISTAKES = all_mistakes()
APART = {
    (title, "compiled")
    for title in (
        "a policy of the wrong shape",
        "act divides by zero at a later step",
        "act raises an exception",
        "learn reads beyond an array at a later step",
        "learn writes NaN at a later step",
        "learn writes beyond an array at a later step",
    )
}
"""Left to the soak: agents that take two seconds to compile; tests/engine/test_guarded.py makes the same mistakes."""


BEFORE = ("tasks", "rewards", "states")
"""Groups of mistakes that are found before an engine begins: both engines answer them in the soak, one every time."""


LARGE = ("agents", "tasks", "command line", "live")
"""Groups of more than fifty mistakes: half of each is made every time, and all of them in the soak."""


def is_one_in(number: int, row: Mistake) -> bool:
    """Whether a row is one of a share that stays the same whichever rows are added."""
    return zlib.crc32(row.title.encode()) % number == 0


def is_apart(row: Mistake, engine: str) -> bool:
    """Whether a row is left to the soak with an engine.

    One in four is answered by both engines every time.  tests/engine/test_guarded.py makes each kind of mistake in an
    agent with both engines every time, too.
    """
    if engine == "compiled":
        return (row.title, engine) in APART or row.group in BEFORE or not is_one_in(4, row)
    return row.group in LARGE and not is_one_in(2, row)


def cases() -> list[Any]:
    """Return every row with each of its engines."""
    every = [(row, engine) for row in MISTAKES for engine in row.engines]
    assert {(row.title, engine) for row, engine in every} >= APART
    return [
        pytest.param(row, engine, id=f"{row.title}-{engine}", marks=[pytest.mark.soak] * is_apart(row, engine))
        for row, engine in every
    ]


SPAWNED = [next(row for row in MISTAKES if row.call.startswith(program)) for program in ("everlearn ", "python ")]


@pytest.mark.parametrize(("mistake", "engine"), cases())
def test_gets_one_line(mistake, engine, tmp_path, runner):
    for call in mistake.before:
        done = runner(filled(call, tmp_path, engine), tmp_path, mistake.files)
        assert done.status == 0, told(done)
    check(mistake, runner(filled(mistake.call, tmp_path, engine), tmp_path, mistake.files), tmp_path, engine)


@pytest.mark.parametrize("mistake", [pytest.param(row, id=row.title) for row in SPAWNED])
def test_forking_tells_the_truth(mistake, tmp_path, runner):
    engine = mistake.engines[-1]
    call = filled(mistake.call, tmp_path, engine)
    spawned, forked = (make(call, tmp_path, mistake.files) for make in (spawn, runner))
    assert spawned == forked
    check(mistake, spawned, tmp_path, engine)


def test_there_are_enough():
    assert len(MISTAKES) >= 60
    assert {row.group for row in MISTAKES} == set(GROUPS)


def test_titles_are_unique():
    assert [title for title, number in Counter(row.title for row in MISTAKES).items() if number > 1] == []


def test_the_page_is_current():
    names = ["mistakes.md", *(f"mistakes/{path.name}" for path in DOCS.glob("mistakes/*.md"))]
    found = {name: (DOCS / name).read_text() for name in names}
    assert found == pages(MISTAKES), "run python -m tests.boundary.page"


def filled(text: str, here: Path, engine: str) -> str:
    return text.replace("{here}", str(here)).replace("{engine}", engine)


def check(mistake: Mistake, done: Done, here: Path, engine: str) -> None:
    """Fail unless a call was answered as the table says."""
    answer = filled(mistake.answer, here, engine)
    if mistake.call.startswith("everlearn "):
        warnings = [f"everlearn: warning: {line}" for line in mistake.warnings]
        assert answered(done, here, len(warnings)) == [*warnings, f"everlearn: {answer}"]
    else:
        assert raised(done) == answer
