"""Aleatoric states: how they are updated, and how their set is found."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn as el
from everlearn.aleatoric import state as module
from everlearn.errors import AleatoricStateError, InputError, LabelError, UserCodeError
from tests.refusal import has, refusal


def parity(**arguments) -> el.AleatoricState:
    return el.AleatoricState(0, lambda s, a, o: (s + o) % 2, **arguments)


AFTER = "aleatoric state after (0, 'go', 0)"


def found(aleatoric: el.AleatoricState) -> el.AleatoricState:
    return aleatoric.enumerate(("go",), (0,))


def test_the_set_is_found_by_following_f():
    assert parity().enumerate(("go",), (0, 1)).states == (0, 1)
    assert parity().enumerate(("go",), (0, 2)).states == (0,)


def test_the_set_may_be_listed_and_keeps_its_order():
    assert parity(states=(1, 0, 7)).enumerate(("go",), (0, 1)).states == (1, 0, 7)


def test_the_set_may_follow_from_actions_and_observations():
    states = parity(states=lambda actions, observations: range(len(list(observations))))
    assert states.enumerate(("go",), (5, 6, 7)).states == (0, 1, 2)


histories = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([0, 1, 2])), max_size=30)


@given(history=histories)
def test_phi_is_f_step_by_step(history):
    expected = 0
    for _, observation in history:
        expected = (expected + observation) % 2
    assert parity().of(history) == expected


@given(history=histories)
def test_last_observation(history):
    assert el.last_observation().of(history) == (history[-1][1] if history else "start")


def test_last_observation_has_a_state_for_none_yet():
    assert el.last_observation().enumerate(("a",), ("x", "y")).states == ("start", "x", "y")
    assert el.last_observation("y").enumerate(("a",), ("x", "y")).states == ("y", "x")


@given(history=histories, length=st.integers(1, 5))
def test_a_window_keeps_the_last_observations(history, length):
    assert el.window(length).of(history) == tuple(observation for _, observation in history)[-length:]
    assert el.window(length, actions=True).of(history) == tuple(history)[-length:]


def test_a_window_has_all_sequences_up_to_its_length():
    found = el.window(2).enumerate(("a",), ("x", "y")).states
    assert set(found) == {(), ("x",), ("y",), *product("xy", repeat=2)}
    assert all(len(one) <= len(other) for one, other in pairwise(found))


@pytest.mark.parametrize(
    ("make", "error", "argument", "value"),
    [
        (lambda: found(parity(states=(1, 2))), AleatoricStateError, "start of the aleatoric state", 0),
        (lambda: el.AleatoricState(0.5, lambda s, a, o: s), LabelError, "start of the aleatoric state", 0.5),
        (lambda: el.AleatoricState(0, "parity"), InputError, "update", "parity"),
        (lambda: found(el.AleatoricState(0, lambda s, a, o: s / 2)), LabelError, AFTER, 0.0),
        (lambda: found(el.AleatoricState(0, lambda s, a, o: None)), AleatoricStateError, AFTER, None),
        (lambda: found(parity(states=())), LabelError, "states", []),
        (lambda: found(parity(states=3)), LabelError, "states", 3),
        (lambda: found(parity(states=(0, 0))), LabelError, "states", 0),
        *((lambda n=n: el.window(n), InputError, "length of the window", n) for n in (0, "3", 2.5, None, True)),
    ],
)
def test_what_is_refused(make, error, argument, value):
    with pytest.raises(error) as caught:
        make()
    assert (caught.value.argument, caught.value.value) == (argument, value)


def test_an_exception_inside_f_is_reported_as_the_users():
    with pytest.raises(UserCodeError, check=has(function="update function '<lambda>'")) as caught:
        found(el.AleatoricState(0, lambda s, a, o: {}[o]))
    assert isinstance(caught.value.__cause__, KeyError)
    assert "{}[o]" in caught.value.frames


def test_states_of_numpy_are_converted():
    count = el.AleatoricState(np.int64(0), lambda s, a, o: (np.int64(s) + 1) % 3)
    assert [type(state) for state in (count.start, *found(count).states, count.of([("go", 0)]))] == [int] * 5
    assert el.window(np.int64(1)).of([("go", 0)]) == (0,)


def test_it_is_shown_in_a_line():
    assert repr(found(el.last_observation())) == "AleatoricState(_observation from 'start': 2 states)"
    assert repr(el.window(2)) == "AleatoricState(update from ())"


def test_a_set_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_STATES", 50)
    with pytest.raises(AleatoricStateError, check=refusal("aleatoric state", 51)):
        el.AleatoricState(0, lambda s, a, o: s + 1).enumerate(("go",), (0,))
