"""Grids: labels and numbers correspond, and no large grid is ever listed."""

from __future__ import annotations

from itertools import product

import pytest

from everlearn.errors import InputError
from everlearn.grids import Grid, Numbers
from tests.refusal import refusal


def test_labels_and_numbers_correspond():
    grid = Grid(Grid(range(2, 5), ("x", "y")), (7, "z"))
    labels = list(grid)
    assert set(labels) == {((i, j), k) for i, j, k in product(range(2, 5), ("x", "y"), (7, "z"))}
    assert [grid.number(label) for label in labels] == list(range(12))
    assert [Numbers(grid)[label] for label in labels] == [Numbers(labels)[label] for label in labels]
    assert grid[10:] == tuple(labels[10:])


@pytest.mark.parametrize("label", [0, "x", (), (0,), (3, 0), (-1, 0), (0, True), (0.0, 0), (0, 0, 0), None])
def test_what_is_no_label_is_refused(label):
    grid = Grid(range(3), range(2))
    assert label not in grid
    with pytest.raises(KeyError):
        grid.number(label)


def test_a_large_grid_is_a_set_that_nobody_lists():
    grid = Grid(*[range(1024)] * 6)
    assert len(grid) == 2**60
    assert grid.number(grid[2**59 + 12345]) == 2**59 + 12345
    with pytest.raises(InputError, check=refusal("number of labels", 1152921504606846976)):
        set(grid)
    with pytest.raises(IndexError):
        grid[2**60]
    with pytest.raises(InputError, check=refusal("number of labels", 1180591620717411303424)):
        Grid(*[range(1024)] * 7)


def test_equal_parts_make_equal_grids():
    assert Grid(range(3), ordered=[True]) == Grid(range(3), ordered=[True]) != Grid(range(3))
    assert len({Grid(range(3)), Grid(range(3)), Grid(range(4))}) == 2
