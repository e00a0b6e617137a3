"""Who wrote a function or a class."""

from __future__ import annotations

import functools

import numpy as np

from everlearn.aleatoric.reward import Reward
from everlearn.ownership import is_ours, is_own, package, plain_function, qualified


class Mine:
    """A class of the user's."""


def test_whose_a_class_is():
    assert is_own(Mine)
    assert not is_own(Reward)
    assert not is_own(np.ndarray)


def test_whose_a_function_is():
    assert is_ours(is_ours)
    assert not is_ours(np.mean)
    assert not is_own(is_own)
    assert not is_own(functools.partial(round, 2.5))


def test_names():
    assert (package(functools.partial), package(np.ndarray)) == ("functools", "numpy")
    assert (qualified(len), qualified(3)) == ("builtins.len", "builtins.int")


def test_the_function_behind_wrappers():
    assert plain_function(functools.partial(functools.lru_cache(qualified), 3)) is qualified
