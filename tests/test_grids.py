"""Grids: labels and numbers correspond, and no large grid is ever listed."""

from __future__ import annotations

import json
import math
import sys
from itertools import product

import numpy as np
import pytest

from everlearn.errors import InputError
from everlearn.grids import Box, Grid, Interval, Numbers, Unread, read_grid
from everlearn.labels import is_label
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
    with pytest.raises(InputError, check=refusal("coordinates", 257)):
        Grid(*[range(2)] * 257)


def test_a_wide_grid_has_more_labels_than_python_counts():
    grid = Grid(*[range(1024)] * 7)
    assert (grid.size, len(grid), grid.is_wide) == (2**70, sys.maxsize, True)
    number = 2**69 + 12345
    assert grid.number(grid[number]) == number
    assert grid.places(number) == [12345 % 1024, 12345 // 1024, 0, 0, 0, 0, 512]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1.2, 0.6), (1e6, 1e6 + 1e-3), (-3e-9, 2e-9), (-1e12, 5e13)])
def test_every_label_of_an_interval_is_read_as_itself(low, high):
    for levels in (64, 1024):
        interval = Interval(low, high, levels)
        assert [interval.place(label) for label in interval] == list(range(levels))
        assert [interval.place(low), interval.place(high)] == [0, levels - 1]
        assert all(abs(interval.place(low + (high - low) * k / levels) - k) <= 1 for k in range(levels))


BOX = Box([10, -1], [30, 1])


@pytest.mark.parametrize("point", [[21.3, 0.2], (21.3, 0.2), np.array([21.3, 0.2]), np.array([21.3, 0.2], np.float32)])
def test_a_point_may_be_a_list_a_tuple_or_an_array(point):
    number = BOX.number(point)
    assert BOX[number] == (21.299, 0.2002)
    assert BOX.number(BOX[number]) == number
    assert is_label(BOX[number])


@pytest.mark.parametrize(
    "point",
    [
        *([math.nan, 0], [20, np.float64("nan")], [20, math.inf], [20, 1.01], [9.9, 0]),
        *(["20", 0], [True, 0], [None, 0], [[20], 0], [20], [20, 0, 0]),
        *([10**400, 0], [np.complex128(20 + 3j), 0], [np.bool_(True), 0], [np.array([20.0]), 0]),
        *("ab", {"low": 3}, 20.0, None, np.array(20.0), np.array([[20.0, 0.0]])),
    ],
    ids=repr,
)
def test_what_is_no_point_of_a_box(point):
    assert point not in BOX
    with pytest.raises(Unread):
        BOX.number(point)


def test_bounds_of_a_trial_clip_and_nothing_is_no_number():
    interval = Interval(0, 1, 8, clips=True)
    assert [interval.place(value) for value in (-math.inf, -3, 3, math.inf)] == [0, 0, 7, 7]
    with pytest.raises(Unread):
        interval.place(math.nan)


def test_rounding_errors_at_the_bounds_are_no_error():
    assert BOX.places(BOX.number([30.0000001, -1.0000001])) == [1023, 0]


def test_bounds_may_be_numbers_of_numpy():
    assert Box([np.float32(10), np.int64(-1)], np.array([30, 1])) == BOX


@pytest.mark.parametrize(
    ("argument", "low", "high"),
    [
        ("low", [], []),
        ("low", [0] * 257, [1] * 257),
        ("low", 0, [1]),
        ("low", "0", [1]),
        ("low", [math.nan], [1]),
        ("low", [True], [2]),
        ("high", [0], [math.inf]),
        ("high", [0], [1, 2]),
        ("high", [1], [1]),
        ("high", [1], [0]),
        ("high", [1e16], [1e16 + 4]),
        ("high", [-1e300], ["1"]),
    ],
)
def test_bounds_that_are_no_box_are_refused(argument, low, high):
    with pytest.raises(InputError, check=refusal(argument)):
        Box(low, high)


@pytest.mark.parametrize(
    "grid",
    [BOX, Grid(range(3), ("a", 2), BOX), Grid(Interval(0, 1, 8, clips=True), range(2, 5), ordered=[True, False])],
)
def test_a_grid_is_read_from_its_document(grid):
    document = json.loads(json.dumps(grid.document()))
    assert read_grid(document) == grid
    assert read_grid(document).document() == grid.document()


def test_equal_parts_make_equal_grids():
    assert Grid(range(3), ordered=[True]) == Grid(range(3), ordered=[True]) != Grid(range(3))
    assert len({Grid(range(3)), Grid(range(3)), Grid(range(4))}) == 2
