"""Every mistake in the table gets its answer: one line, from both engines, without a crash or a result."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.boundary.mistake import Mistake, all_mistakes
from tests.boundary.runner import Done, spawn

MISTAKES = all_mistakes()
CASES = [pytest.param(row, engine, id=f"{row.title}-{engine}") for row in MISTAKES for engine in row.engines]
SPAWNED = [row for row in MISTAKES if row.files and "{engine}" in row.call][:1] + [
    row for row in MISTAKES if row.call.startswith("python ")
][:1]


@pytest.mark.parametrize(("mistake", "engine"), CASES)
def test_gets_one_line(mistake, engine, tmp_path, runner):
    for call in mistake.before:
        done = runner(call, tmp_path, mistake.files)
        assert done.status == 0, done.stderr
    check(mistake, runner(filled(mistake.call, tmp_path, engine), tmp_path, mistake.files), tmp_path, engine)


@pytest.mark.parametrize("mistake", [pytest.param(row, id=row.title) for row in SPAWNED])
def test_forking_tells_the_truth(mistake, tmp_path, runner):
    engine = mistake.engines[-1]
    spawned, forked = (
        make(filled(mistake.call, tmp_path, engine), tmp_path, mistake.files) for make in (spawn, runner)
    )
    assert spawned == forked
    check(mistake, spawned, tmp_path, engine)


def test_titles_are_unique():
    assert [title for title, number in Counter(row.title for row in MISTAKES).items() if number > 1] == []


def filled(text: str, here: Path, engine: str) -> str:
    return text.replace("{here}", str(here)).replace("{engine}", engine)


def check(mistake: Mistake, done: Done, here: Path, engine: str) -> None:
    """Fail unless a call was answered as the table says."""
    told = f"status {done.status}\nstdout:\n{done.stdout}\nstderr:\n{done.stderr}"
    answer = filled(mistake.answer, here, engine)
    assert done.signal is None, told
    assert done.stdout == "", told
    if mistake.call.startswith("everlearn "):
        assert done.status == 2, told
        lines = done.stderr.splitlines()
        expected = [*(f"everlearn: warning: {line}" for line in mistake.warnings), f"everlearn: {answer}"]
        assert lines[: len(expected)] == expected, told
        assert is_traceback_of(here, lines[len(expected) :]), told
    else:
        assert done.status == 1, told
        assert re.fullmatch(r"everlearn\.errors\.\w+: (.*)", last_line(done.stderr)), told
        assert last_line(done.stderr).partition(": ")[2] == answer, told


def is_traceback_of(here: Path, lines: list[str]) -> bool:
    """Whether what follows the one line is nothing, or a traceback through the user's own files only."""
    named = [match[1] for line in lines if (match := re.match(r'\s*File "([^"]+)", line \d+', line))]
    return not lines or (bool(named) and all((here / name).is_relative_to(here) for name in named))


def last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
