"""What a user says of boxes, typed or in Python."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box

from everlearn.adapters.boxes import Boxes
from everlearn.adapters.discretisers import quantile, tiles, uniform
from everlearn.errors import InputError
from tests.refusal import refusal

UNBOUNDED = Box(np.array([-1, -np.inf]), np.array([1, np.inf]), dtype=np.float64)


def discretiser(box=UNBOUNDED, kind="uniform", bins=2, low=None, high=None, tilings=2, points=list):
    return Boxes(kind, bins, low, high, tilings, points).discretiser(box)


def test_typed_is_as_given_in_python():
    typed = discretiser(bins="2,4", low="-1,-3", high="1,3")
    assert typed == discretiser(bins=[2, 4], low=[-1, -3], high=[1, 3]) == uniform([-1, -3], [1, 3], [2, 4])


def test_one_number_serves_all_coordinates():
    assert discretiser(bins="3", low=-2, high="2") == uniform([-2, -2], [2, 2], 3)


def test_a_bounded_box_tells_its_own_ends():
    assert discretiser(Box(-1, 3, (2,)), bins=4) == uniform([-1, -1], [3, 3], 4)


def test_tiles_and_quantiles():
    points = [np.array([0.0, 1.0]), np.array([2.0, 5.0]), np.array([4.0, 6.0])]
    assert discretiser(kind="quantile", points=lambda: points) == quantile(points, 2)
    assert discretiser(kind="tiles", low=-1, high=1, tilings=3) == tiles([-1, -1], [1, 1], 2, 3)


def test_one_of_ones_own():
    own = uniform([0, 0], [1, 1], 2)
    assert discretiser(kind=own) is own


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({}, ("coordinates of the observation", [1])),
        ({"kind": "fuzzy"}, ("task.discretiser", "fuzzy")),
        ({"kind": len}, ("task.discretiser", len)),
        (
            {"bins": "2.5"},
            ("task.bins", "2.5"),
        ),
        ({"bins": "1,2,3"}, ("task.bins", "1,2,3")),
        ({"bins": "many"}, ("task.bins", "many")),
        ({"bins": []}, ("task.bins", [])),
        ({"bins": 10**12, "low": 0, "high": 1}, ("number of labels", 1000000000000)),
        ({"kind": "quantile", "bins": 10**12, "points": lambda: [np.zeros(2)]}, ("number of labels", 1000000000000)),
        (
            {"kind": "tiles", "low": 0, "high": 1, "tilings": 10**12},
            ("task.tilings", 1000000000000),
        ),
        (
            {"kind": "tiles", "low": 0, "high": 1, "tilings": 100, "bins": 9},
            ("number of tiles", 81000000),
        ),
        ({"low": "1,2,3", "high": 1}, ("task.low", "1,2,3")),
        ({"low": "nan"}, ("task.low", "nan")),
        ({"high": 1e31}, ("task.high", 1e31)),
        ({"kind": "quantile", "low": "abc"}, ("task.low", "abc")),
        ({"kind": "quantile", "points": lambda: [(1, np.zeros(3))]}, ("task.discretiser", "quantile")),
    ],
)
def test_what_cannot_be_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        discretiser(**arguments)


def test_a_coordinate_with_one_bin_is_not_looked_at_and_needs_no_end():
    grid = discretiser(bins="4,1")
    assert grid == uniform([-1, 0], [1, 1], [4, 1])
    assert [grid([0.1, far]) for far in (-1e300, 1e300)] == [(2, 0)] * 2
    assert discretiser(kind="tiles", bins="4,1").grids[1].edges[1] == ()


def test_a_coordinate_without_width_has_one_bin():
    flat = Box(np.array([0.0, 5.0]), np.array([1.0, 5.0]), dtype=np.float64)
    assert discretiser(flat, bins=4) == uniform([0, 0], [1, 1], [4, 1])


def test_an_end_that_is_none_is_the_boxs_own():
    expected = uniform([-1, -3], [0.5, 3], 2)
    assert discretiser(low="none,-3", high="0.5,3") == discretiser(low=[None, -3], high=[0.5, 3]) == expected


def test_the_greatest_number_of_a_type_is_no_end():
    far = float(np.finfo(np.float32).max)
    with pytest.raises(InputError, check=refusal("coordinates of the observation", [0])):
        discretiser(Box(-far, far, (1,)))


@pytest.mark.parametrize("arguments", [{"kind": "fuzzy"}, {"bins": 0}, {"low": "x"}, {"tilings": 0}])
def test_what_no_box_asks_for_is_checked_all_the_same(arguments):
    with pytest.raises(InputError):
        Boxes(**{"kind": "uniform", "bins": 2, "low": None, "high": None, "tilings": 1, "points": list, **arguments})
