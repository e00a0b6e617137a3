"""Policies as text: what is written is read back, whatever the labels are called."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everlearn as el
from everlearn.agents.policies import policy_table, policy_text
from everlearn.errors import InputError

LABELS = st.recursive(
    st.integers(-3, 12) | st.text('ab ,=:+[]"\\\\é1.-', max_size=4),
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)


@st.composite
def policies(draw):
    """A task with labels of any kind, and a policy over it."""
    actions = draw(st.lists(LABELS, min_size=1, max_size=3, unique=True))
    states = draw(st.lists(LABELS, min_size=1, max_size=3, unique=True))
    weights = st.lists(st.sampled_from([0, 0, 1, 2, 5]), min_size=len(actions), max_size=len(actions)).filter(any)
    table = np.array([draw(weights) for _ in states], dtype=float)
    aleatoric = el.AleatoricState(states[0], lambda s, a, o: s, states)
    task = el.Task(tuple(actions), (0,), aleatoric, el.Reward(lambda s, a, o: 0.0))
    return task, table / table.sum(axis=1, keepdims=True)


@pytest.mark.soak
@given(policies())
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read_back(made):
    task, table = made
    read = policy_table(task, policy_text(task, table))
    np.testing.assert_allclose(read, table, rtol=0, atol=1e-11)
    assert ((read == 0) == (table == 0)).all()


@pytest.mark.parametrize("actions", [(1, "1"), ("1", 1), ("[0]", (0,)), ('"1"', "1")])
def test_labels_that_are_shown_alike_are_told_apart(actions):
    for place in range(2):
        table = np.eye(2)[[place]]
        assert policy_table(task(*actions), policy_text(task(*actions), table)).tolist() == table.tolist()


def task(*actions: object) -> el.Task:
    number = len(actions)
    return el.mdp([[[1.0]]] * number, [[0] * number], actions=list(actions), reward_range=(0, 1))


@pytest.mark.parametrize(
    ("actions", "text", "row"),
    [
        (["a", "b", "c"], "0=a:0.5+c:0.25", [0.5, 0.25, 0.25]),
        (["a", "b", "c"], "0=a:0.5+c:0.5", [0.5, 0, 0.5]),
        (["a", "b"], "0=a:0.3333333333+b:0.6666666667", [1 / 3, 2 / 3]),
        (["a", "b+c"], "0=b+c", [0, 1]),
        (["a", "b+c"], "0=b+c:0.25", [0.75, 0.25]),
        (["a,b", "c"], '"a,b"', [1, 0]),
        (["a=b", "c"], '0="a=b":0.5', [0.5, 0.5]),
        (["1", 1], '0="1"', [1, 0]),
        (["1", 1], "0=1", [0, 1]),
        ([(0, "x,y"), "c"], '0=[0,"x,y"]', [1, 0]),
    ],
)
def test_ways_to_write_one(actions, text, row):
    np.testing.assert_allclose(policy_table(task(*actions), text), [row], atol=1e-9)


@pytest.mark.parametrize(
    "text", ["0=a:0.5+b:0.7", "0=a:0.5+b:0.4", "0=a:0.5+a:0.5", "0=a+b:0.5", "0=a:0.5+", "0=a:x+b:1", "0=a,0=b"]
)
def test_what_is_refused(text):
    with pytest.raises(InputError):
        policy_table(task("a", "b"), text)
