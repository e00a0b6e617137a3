"""Features by name, and what a hostile feature function is told."""

from __future__ import annotations

import math

import numpy as np
import pytest

import everlearn as el
from everlearn.aleatoric.features import factors, make_features
from everlearn.errors import InputError, TaskError, UserCodeError
from tests.refusal import has, refusal

QUEUES = [(i, j) for i in range(3) for j in range(4)]


def rows(given: object, states: list) -> list:
    return make_features(given, states).table(states).tolist()


def test_onehot_numbers_the_states():
    assert rows("onehot", QUEUES) == [[number] for number in range(12)]


def test_factors_share_what_is_equal():
    table = rows("factors", QUEUES)
    for (i, j), (first, second) in zip(QUEUES, table, strict=True):
        assert [row[0] == first for row in table] == [state[0] == i for state in QUEUES]
        assert [row[1] == second for row in table] == [state[1] == j for state in QUEUES]


def test_pairs_tell_all_pairs_apart():
    features = make_features("pairs", QUEUES)
    assert (features.active, features.size) == (3, 3 + 4 + 12)
    assert len({row[2] for row in features.table(QUEUES).tolist()}) == 12


def test_labels_of_different_lengths_have_equally_many_features():
    states = ["start", ("a", 1), (("a", "b"), 2)]
    assert [len(row) for row in rows("factors", states)] == [3, 3, 3]
    assert factors((("a", "b"), 2)) == ("a", "b", 2)


def test_hashes_are_the_same_in_every_process_and_in_range():
    assert rows("hashed:7", [(0, 1), (2, "x")]) == [[0, 6, 1], [3, 5, 0]]


@pytest.mark.parametrize(("states", "active"), [([0, 1], 1), (QUEUES, 3), ([tuple(range(9)), (1,) * 9], 9)])
def test_auto_takes_pairs_of_few_factors(states, active):
    assert make_features("auto", states).active == active


def test_a_task_declares_its_features():
    agent = el.Agent("access-control", "linear", parameters={"task.features": "factors"})
    assert agent.knowledge.parts.shape == (44, 2)
    agent = el.Agent("access-control", "linear", parameters={"task.features": "factors", "agent.features": "onehot"})
    assert agent.knowledge.parts.shape == (44, 1)


HOSTILE = {
    "NaN": (lambda s: [math.nan, 0],),
    "a fraction": (lambda s: np.array([0.5, 1]), 0.5),
    "too few": (lambda s: [1], [1]),
    "too many": (lambda s: (1, 2, 3), [1, 2, 3]),
    "negative": (lambda s: [0, -1], -1),
    "too large": (lambda s: [0, 10], 10),
    "twice": (lambda s: [4, 4], [4, 4]),
    "a number": (lambda s: 4, 4),
    "nothing": (lambda s: None, None),
}
"""Functions of features, and the values that are refused."""


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_function_gets_one_line(case):
    function, *value = HOSTILE[case]
    with pytest.raises(InputError, check=refusal("features of state 3", *value)):
        el.Features(function, active=2, size=10).table([3])


def test_a_function_that_raises_or_samples_is_refused():
    with pytest.raises(UserCodeError, check=has(function="features '<lambda>'")):
        el.Features(lambda s: [s["x"]], active=1, size=4).table([0])
    with pytest.raises(TaskError, check=has(value="np.random.randint")):
        el.Features(lambda s: [np.random.randint(4)], active=1, size=4).table([0])  # noqa: NPY002


@pytest.mark.parametrize("given", ["squares", "pairs:3", "hashed:", "hashed:2", 3, None])
def test_other_names_are_refused(given):
    with pytest.raises(InputError, check=refusal("features")):
        make_features(given, QUEUES)


@pytest.mark.parametrize(("active", "size"), [(0, 1), (1, 0), (1.5, 4), (True, 4), (5000, 4)])
def test_sizes_are_checked(active, size):
    name, value = ("size", size) if size == 0 else ("active", active)
    with pytest.raises(InputError, check=refusal(f"{name} of the features", value)):
        el.Features(lambda s: [], active=active, size=size)
