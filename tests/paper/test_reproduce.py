"""The paper's experiment: every curve, and the same figure to the last byte."""

from __future__ import annotations

import pytest

from everlearn.experiments.execute import Watcher
from everlearn.paper.reproduce import CURVES, reproduce


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    return [reproduce(tmp_path_factory.mktemp("out") / "deeper", steps=500, runs=2) for _ in range(2)]


def test_every_curve_of_the_paper_is_run(twice):
    results, _ = twice[0]
    assert list(results) == list(CURVES)
    assert {(one.agent, one.schedule) for one in results.values()} == {
        ("growing-horizon", "smooth"),
        ("growing-horizon", "change-points"),
        ("always", None),
    }
    assert {(one.steps, one.runs, one.seed) for one in results.values()} == {(500, 2, 1)}


def test_the_figure_is_there_as_png_and_svg(twice):
    _, figures = twice[0]
    assert [figure.name for figure in figures] == ["agent-comparison.png", "agent-comparison.svg"]
    assert figures[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in figures[1].read_text()


def test_the_figure_is_the_same_to_the_last_byte(twice):
    for one, other in zip(twice[0][1], twice[1][1], strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_what_is_there_is_not_run_again(tmp_path):
    class Count(Watcher):
        taken = 0

        def steps(self, number):
            self.taken += number

    first, second = Count(), Count()
    for watcher in (first, second):
        reproduce(tmp_path, steps=40, runs=2, watcher=watcher)
    assert (first.taken, second.taken) == (240, 0)
