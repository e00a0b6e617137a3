"""The spaces of Gymnasium as sets of labels: what it samples is among them."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from everlearn.adapters.discretisers import uniform
from everlearn.adapters.spaces import actions_of, reading
from everlearn.errors import InputError
from everlearn.labels import is_label
from tests.refusal import refusal

BOX = spaces.Box(-1, 1, (2,))
SPACES = {
    "discrete": (spaces.Discrete(5, start=-2), 5),
    "multi-discrete": (spaces.MultiDiscrete([2, 3], start=[1, 0]), 6),
    "multi-discrete of two dimensions": (spaces.MultiDiscrete([[2, 2], [1, 3]]), 12),
    "multi-binary": (spaces.MultiBinary([2, 2]), 16),
    "box": (BOX, 9),
    "tuple": (spaces.Tuple((spaces.Discrete(2), BOX, spaces.Tuple((spaces.MultiBinary(1),)))), 36),
}


def grid(box):
    return uniform(box.low, box.high, 3)


@pytest.mark.parametrize("name", SPACES)
def test_every_point_has_one_of_the_labels(name):
    space, number = SPACES[name]
    found = reading(space, grid)
    assert len(set(found.labels)) == len(found.labels) == number
    space.seed(1)
    seen = {found.read(space.sample()) for _ in range(2000)}
    assert all(is_label(label) for label in found.labels)
    assert seen == set(found.labels)  # 36 labels at most, none of them rarer than 1 in 50


@pytest.mark.parametrize("space", [spaces.Dict({"a": spaces.Text(2)}), spaces.Text(3)])
def test_other_spaces_are_refused(space):
    with pytest.raises(InputError, check=refusal("observation space")):
        reading(space, grid)


def test_too_many_points_are_refused():
    with pytest.raises(InputError, check=refusal("observation space")):
        reading(spaces.MultiBinary(20), grid)
    with pytest.raises(InputError, check=refusal("observation space")):
        reading(spaces.Discrete(10**12), grid)
    with pytest.raises(InputError, check=refusal("observation space")):
        reading(spaces.MultiBinary(20_000), grid)


def test_actions_are_numbers_of_python():
    assert actions_of(spaces.Discrete(2, start=1)) == (1, 2)
    assert all(type(action) is int for action in actions_of(spaces.Discrete(np.int64(3))))


@pytest.mark.parametrize("space", [BOX, spaces.MultiDiscrete([2, 2])])
def test_other_actions_are_refused(space):
    with pytest.raises(InputError, check=refusal("action space")):
        actions_of(space)
