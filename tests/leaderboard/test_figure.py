"""The picture of a board: what is drawn is what was lost, and everything can be read."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from docs.variants import relative_regrets

from everlearn.errors import InputError
from everlearn.results.arm import Arm
from tests.analysis.arms import made
from tests.figures.clipping import check_readable
from tests.refusal import refusal

mpl.use("Agg")


def labels(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_curve_is_the_mean_relative_regret_from_the_hundredth_step_on():
    """Two runs at a negative optimum: regrets of 1 and 3 a step, of 4."""
    (axes,) = relative_regrets([made([-5.0, -7.0], optimum=-4.0)], "smooth").axes
    (curve,) = axes.get_lines()
    assert curve.get_ydata() == pytest.approx(0.5)
    assert (curve.get_xdata()[0], curve.get_xdata()[-1]) == (100, 1000)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_a_curve_has_a_gap_where_regret_is_not_positive():
    total = np.array([[60.0, 1100.0, 9000.0]])
    arm = Arm("shop", "smooth", {}, np.array([100, 1000, 10_000]), total, np.array([1.0]))
    (axes,) = relative_regrets([arm], "smooth").axes
    assert axes.get_lines()[0].get_ydata() == pytest.approx([0.4, np.nan, 0.1], nan_ok=True)


def test_ours_is_bold_and_looks_the_same_everywhere():
    arms = [made([0.5, 0.6], task=task, agent=agent) for task in "xy" for agent in ("other", "ours")]
    figure = relative_regrets(arms, "ours")
    for axes in figure.axes:
        other, ours = axes.get_lines()
        assert ours.get_linewidth() > other.get_linewidth()
        assert ours.get_color() != other.get_color()
    assert len({axes.get_lines()[1].get_color() for axes in figure.axes}) == 1
    assert labels(figure) == ["ours", "other"]


def test_every_task_has_a_panel():
    figure = relative_regrets([made([0.5, 0.6], task=task) for task in "xy"], "smooth")
    assert [axes.get_title() for axes in figure.axes] == ["x", "y"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [1, 1]
    assert labels(figure) == ["smooth"]


@pytest.mark.soak
@pytest.mark.parametrize("tasks", [1, 2, 7, 22])
def test_everything_can_be_read(tasks):
    arms = [made([0.5, 0.6], task=f"a task, number {t}", agent=f"agent {a}") for t in range(tasks) for a in range(10)]
    check_readable(relative_regrets(arms, "agent 0"))


@pytest.mark.parametrize("steps", [1, 50])
def test_short_runs(steps):
    check_readable(relative_regrets([made([0.5, 0.7], steps=steps)], "smooth"))


def test_nothing_to_draw():
    with pytest.raises(InputError, check=refusal("arms", [])):
        relative_regrets([], "smooth")
