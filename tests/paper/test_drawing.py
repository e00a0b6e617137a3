"""The drawings of the reproduction: kinds of runs, and names that do not cover each other."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from everlearn.paper.drawing import draw_curves, draw_runs, kinds_of_runs
from everlearn.results.arm import Arm


def arm(name: str, ends: list[float]) -> Arm:
    times = np.array([1, 10, 100, 1000])
    averages = np.array([[1.0, 0.5, end, end] for end in ends])
    return Arm("shop", name, {}, times, averages * times, np.full(len(ends), 0.5))


def test_runs_that_a_gap_separates_are_of_two_kinds():
    random = np.random.default_rng(1)
    both = np.concatenate([random.normal(0.067, 0.001, 152), random.normal(0.091, 0.001, 48)])
    (many, low), (few, high) = kinds_of_runs(both)
    assert (many, few) == (152, 48)
    assert (low, high) == pytest.approx((0.067, 0.091), abs=1e-3)


@pytest.mark.parametrize("deviation", [1e-6, 0.03])
def test_runs_without_a_gap_are_of_one_kind(deviation):
    assert len(kinds_of_runs(np.random.default_rng(2).normal(0.3, deviation, 200))) == 1


def test_names_stand_beside_the_axes_without_touching():
    axes = Figure(figsize=(7, 4)).add_subplot()
    close = {f"number {k}": arm(f"number {k}", [0.09 + 0.001 * k] * 3) for k in range(3)}
    draw_curves(axes, close, {"a line": 0.0915, "optimum": 0.5}, (0.0, 0.55))
    figure = axes.get_figure(root=True)
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the line to the curve
    assert {text.get_text() for text in axes.texts} == {*close, "a line", "optimum"}
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
    assert min(box.x0 for box in boxes) > axes.get_window_extent().x1
    assert axes.get_xlim()[0] == 10


def test_the_number_of_runs_of_each_kind_is_written():
    axes = Figure().add_subplot()
    draw_runs(axes, {"change points": arm("", [0.07] * 3 + [0.09] * 2)}, ["black"], (0.0, 0.55))
    assert [text.get_text() for text in axes.texts] == ["3 runs", "2 runs"]


def test_runs_of_one_step_are_drawn():
    axes = Figure().add_subplot()
    draw_curves(axes, {"short": Arm("shop", "", {}, np.array([1]), np.ones((2, 1)), np.ones(2))}, {}, (0.0, 1.0))
    assert axes.get_xlim()[0] == 1
