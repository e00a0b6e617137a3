"""Aleatoric states: how they are updated, and how their set is found."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn as el
from everlearn.aleatoric import state as module
from everlearn.errors import AleatoricStateError, InputError, LabelError


def parity(**arguments) -> el.AleatoricState:
    return el.AleatoricState(0, lambda s, a, o: (s + o) % 2, **arguments)


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
    ("make", "error", "message"),
    [
        (
            lambda: parity(states=(1, 2)).enumerate(("go",), (0, 1)),
            AleatoricStateError,
            "start of the aleatoric state: 0; declared: 1, 2",
        ),
        (
            lambda: el.AleatoricState(0.5, lambda s, a, o: s).enumerate(("go",), (0,)),
            LabelError,
            "start of the aleatoric state: 0.5; float is not supported, use an int, a str or a tuple of these",
        ),
        (
            lambda: el.AleatoricState(0, lambda s, a, o: s / 2).enumerate(("go",), (0,)),
            LabelError,
            "aleatoric state after (0, 'go', 0): 0.0; float is not supported, use an int, a str or a tuple of these",
        ),
        (
            lambda: el.AleatoricState(0, lambda s, a, o: {}[o]).enumerate(("go",), (3,)),
            InputError,
            "f: (0, 'go', 3); raised KeyError(3); handle it, or list the aleatoric states with states=",
        ),
        (lambda: parity(states=()).enumerate(("go",), (0,)), LabelError, "states: []; give at least one label"),
        (
            lambda: parity(states=(0, 0)).enumerate(("go",), (0,)),
            LabelError,
            "states: 0 appears twice; labels must be unique",
        ),
        (lambda: el.window(0), InputError, "length of the window: 0; give at least 1"),
    ],
)
def test_what_is_refused(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_a_set_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_STATES", 50)
    with pytest.raises(AleatoricStateError) as caught:
        el.AleatoricState(0, lambda s, a, o: s + 1).enumerate(("go",), (0,))
    assert str(caught.value) == (
        "aleatoric state: 51; so many states were reached; keep less, such as a shorter window, or list them with "
        "states="
    )
