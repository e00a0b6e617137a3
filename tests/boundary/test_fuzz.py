"""Random agents with one planted mistake: none goes unnoticed, and both engines give the same answer."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from everlearn.engine.runner import TRIED
from tests.boundary.answer import answered, told
from tests.boundary.grammar import KINDS, NEVER, STEPS, Planted
from tests.boundary.mistake import ENGINES
from tests.boundary.runner import Done, Runner
from tests.few import few

RUN = f"everlearn run riverswim --agent mine:agent --steps {STEPS} --seed 1 --json"
MEASURED = ("engine", "pairs", "seconds", "steps_per_second")


def check(runner: Runner, planted: Planted, engines: tuple[str, ...]) -> None:
    """Fail unless every engine notices a mistake, and all say the same; where it is not made, all give one result."""

    def run(source: str, engine: str, when: int) -> Done:
        call = f"{RUN} --runs {planted.runs} --engine {engine} --set agent.when={when}"
        return runner(call, here, {"mine.py": source})

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        answers = {answered(run(planted.source, engine, planted.when), here)[0] for engine in engines}
        assert len(answers) == 1, answers
        check_line(answers.pop(), planted)
        if planted.when != NEVER:
            results = [unmeasured(run(planted.source, engine, NEVER)) for engine in engines]
            assert all(result == results[0] for result in results)


def check_line(line: str, planted: Planted) -> None:
    assert line.startswith(f"everlearn: agent 'mine:agent': {planted.function} "), line
    for part in planted.named:
        assert part in line, line
    if planted.when != NEVER:
        assert planted.step in line, line
        assert int(re.search(r"at step (\d+)", line)[1]) >= planted.when  # type: ignore[index]


def unmeasured(done: Done) -> dict[str, Any]:
    assert done.status == 0, told(done)
    assert done.stderr == "", told(done)
    return {key: value for key, value in json.loads(done.stdout).items() if key not in MEASURED}


def drawn(kind: str, number: int) -> list[Planted]:
    """Return so many agents with a mistake; the same every time."""
    agents: list[Planted] = []

    @settings(max_examples=number)
    @given(KINDS[kind])
    def draw(planted: Planted) -> None:
        agents.append(planted)

    draw()
    return agents


@pytest.mark.parametrize("kind", few(KINDS, ("index",)))
def test_a_mistake_is_noticed(kind, runner):
    """Two of each kind, interpreted; the mistake of one comes after the trial.  The soak runs both engines."""
    *interpreted, last = drawn(kind, 20)
    late = [planted for planted in interpreted if planted.when > 4 * TRIED]
    check(runner, interpreted[-1], ENGINES[:1])
    check(runner, late[-1] if late else last, ENGINES[:1])


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_no_mistake_goes_unnoticed(kind, runner):
    """100 of each kind, in both engines."""

    @settings(max_examples=100)
    @given(KINDS[kind])
    def draw(planted):
        check(runner, planted, ENGINES)

    draw()
