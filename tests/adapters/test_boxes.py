"""What a user says of boxes, typed or in Python."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box

from everlearn.adapters.boxes import Boxes
from everlearn.adapters.discretisers import quantile, tiles, uniform
from everlearn.errors import InputError

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
    ("arguments", "message"),
    [
        ({}, r"coordinates of the observation: \[1\]; the box has no end there; give task.low and task.high"),
        ({"kind": "fuzzy"}, "task.discretiser: 'fuzzy'; give one of uniform, quantile, tiles"),
        ({"kind": len}, "task.discretiser"),
        ({"bins": "2.5"}, "task.bins: '2.5'; give a whole number of at least 1, or 2 of them"),
        ({"bins": "1,2,3"}, "task.bins"),
        ({"bins": "many"}, "task.bins: 'many'; give numbers"),
        ({"low": "1,2,3", "high": 1}, "task.low: '1,2,3'; give one number, or 2"),
        ({"kind": "quantile", "points": lambda: [(1, np.zeros(3))]}, "where no quantiles are taken"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        discretiser(**arguments)
