"""What objects hold: attributes and slots, without what is computed of them; and libraries stay closed."""

from __future__ import annotations

import functools
import logging
import types

import numpy as np
import pytest
from scipy.sparse import csr_array

from everlearn.aleatoric.reward import Reward
from everlearn.holding import held, is_own


class Base:
    __slots__ = ("base", "unset")


class Both(Base):
    __slots__ = ("__dict__", "own")

    @functools.cached_property
    def area(self):
        return self.base * self.own


def test_slots_and_attributes_are_told_in_order_without_what_is_computed():
    thing = Both()
    thing.own, thing.base, thing.free, thing.nothing = 2, 3, 4, None
    assert thing.area == 6
    assert held(thing) == {"base": 3, "free": 4, "own": 2}


def test_generators_come_and_go():
    assert held(types.SimpleNamespace(p=1, random=np.random.default_rng(1))) == {"p": 1}


@pytest.mark.parametrize("thing", [np, logging.getLogger("everlearn"), np.random.default_rng(1), object(), len, 3])
def test_what_holds_half_a_library_or_nothing_is_not_looked_into(thing):
    assert held(thing) is None


def test_data_of_libraries_are_told():
    assert set(held(csr_array(np.eye(2)))) >= {"data", "indices", "indptr"}
    assert held(Reward(max, 0, 1))["high"] == 1


def test_whose_a_class_is():
    assert is_own(Both)
    assert not is_own(Reward)
    assert not is_own(np.ndarray)
