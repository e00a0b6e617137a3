"""The frontier drawn: one task, and several in panels of the same form."""

from __future__ import annotations

import numpy as np
import pytest
from docs.frontiers import COLUMNS, frontier_figures

import everlearn as el
from everlearn.figures.frontier import frontier_figure


@pytest.fixture(scope="module")
def alternating() -> el.Theory:
    return el.Theory("alternating")


def test_the_bracket_is_above_and_the_distortion_below(alternating):
    top, bottom = frontier_figure(alternating).axes
    lower, upper, *_ = (line.get_ydata() for line in top.get_lines())
    assert (np.nan_to_num(lower, nan=-np.inf) <= upper).all()
    assert lower[-1] == pytest.approx(0.5)
    assert np.asarray(bottom.get_lines()[0].get_ydata()) == pytest.approx(1.0)
    assert top.get_xscale() == bottom.get_xscale() == "log"
    assert top.get_xlim() == bottom.get_xlim()


def test_every_task_has_its_panels(alternating):
    number = COLUMNS + 1
    figure = frontier_figures([alternating] * number)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["alternating"] * number
    assert sum(bool(axes.get_lines()) for axes in figure.axes) == 2 * number
    assert len(figure.legends[0].get_texts()) == 4
