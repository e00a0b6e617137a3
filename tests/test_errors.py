"""Errors: one root, and messages that name argument, value and remedy."""

from __future__ import annotations

import inspect
import pickle

import pytest

from everlearn import errors
from everlearn.errors import (
    AgentError,
    Changed,
    Conflict,
    EverlearnError,
    InputError,
    ScheduleError,
    SnapshotError,
    UnknownName,
    UserCodeError,
    require,
)
from tests.refusal import refusal

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", CLASSES)
def test_there_is_one_root(kind):
    assert issubclass(kind, EverlearnError)
    assert kind.__doc__


@pytest.mark.parametrize("kind", CLASSES)
def test_the_hierarchy_is_the_one_drawn(kind):
    drawn = [line for line in errors.__doc__.splitlines() if kind.__name__ in line.split("(")[0].split()]
    assert len(drawn) == 1
    depth = (drawn[0].index(kind.__name__) - 4) // 4
    assert depth == len([parent for parent in kind.__mro__ if issubclass(parent, EverlearnError)]) - 1


def test_input_errors_are_value_errors():
    assert issubclass(InputError, ValueError)
    assert not issubclass(SnapshotError, ValueError)


def test_an_input_error_carries_its_data():
    error = InputError("steps", -5, "give a whole number")
    assert (error.argument, error.value, error.remedy) == ("steps", -5, "give a whole number")
    assert str(error) == "steps: -5; give a whole number"


def test_a_schedule_error_carries_its_step():
    error = ScheduleError("horizon", 0.5, "must be at least 1", 7)
    assert error.t == 7
    assert str(error) == "horizon at t = 7: 0.5; must be at least 1"


@pytest.mark.parametrize(
    ("value", "known", "message"),
    [
        ("growing", ["static", "growing-horizon"], "known: growing-horizon, static (did you mean growing-horizon?)"),
        ("Q-Learning", ["r-learning", "q-learning"], "known: q-learning, r-learning (did you mean q-learning?)"),
        ("zebra", ["static", "growing-horizon"], "known: growing-horizon, static"),
        ("zebra", [], "known: none"),
        ("zebra", ["best", "best, by search"], "known: 'best', 'best, by search'"),
    ],
)
def test_an_unknown_name_is_told_what_there_is(value, known, message):
    error = UnknownName("agent", value, known)
    assert str(error) == f"agent: {value!r}; {message}"
    assert error.known == sorted(known)


def test_require():
    require(True, "x", 1, "do better")
    with pytest.raises(InputError, check=refusal("x", 1)):
        require(False, "x", 1, "do better")


@pytest.mark.parametrize(
    "error",
    [
        InputError("a", 1, "b"),
        ScheduleError("a", 1, "b", 3),
        UnknownName("a", "x", ["y"]),
        SnapshotError("gone"),
        AgentError("mine", "act returned -1", step=1),
        UserCodeError("it raised", frames="line 1"),
        Changed("shop", ["a", "b"], "c"),
    ],
)
def test_errors_travel_between_processes(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_a_conflict_travels_with_what_is_recorded():
    error = pickle.loads(pickle.dumps(Conflict("step 3 is recorded", 4, {"observation": "busy"})))
    assert (str(error), error.expected, error.recorded) == ("step 3 is recorded", 4, {"observation": "busy"})
