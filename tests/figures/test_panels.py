"""Panels: as many as asked for, in a grid, with room for what is written."""

from __future__ import annotations

import pytest
from matplotlib import pyplot as plt

from everlearn.figures.panels import entitle, explain, name_axes, panels
from everlearn.figures.style import house_style
from tests.few import few
from tests.figures.clipping import check_readable


@pytest.mark.parametrize(("count", "shape"), [(1, (1, 1)), (2, (1, 2)), (5, (2, 3)), (9, (3, 3)), (30, (6, 5))])
def test_a_grid_as_square_as_may_be(count, shape):
    grid = panels(count, 3.0, 2.0)
    assert len(grid) == len(grid[0].figure.axes) == count
    assert grid[0].get_subplotspec().get_gridspec().get_geometry() == shape


def test_pyplot_knows_nothing_of_them():
    panels(4, 3.0, 2.0)
    assert plt.get_fignums() == []


def test_the_lowest_of_each_column_shows_the_shared_axis():
    grid = panels(5, 3.0, 2.0, shared=True)
    name_axes(grid, "time", "regret")
    shown = [any(label.get_visible() for label in axes.get_xticklabels()) for axes in grid]
    assert shown == [False, False, True, True, True]


@pytest.mark.parametrize("count", few([1, 7], [7]))
@pytest.mark.parametrize("length", few([5, 40, 150], (150,)))
def test_whatever_is_written_can_be_read(count, length):
    words = ("a name of many words " * 10)[:length]
    with house_style():
        grid = panels(count, 3.3, 2.5, shared=True)
        for axes in grid:
            entitle(axes, words)
        name_axes(grid, "time step", "realized regret")
        lines = [(f"{words} {number}", grid[0].plot([1, 2])[0]) for number in range(12)]
        explain(grid[0].figure, lines, f"a note, {words}")
    check_readable(grid[0].figure)
