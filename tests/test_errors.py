"""Errors: one root, and messages that name argument, value and remedy."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path

import pytest

from everlearn import errors
from everlearn.errors import (
    AgentError,
    Changed,
    Conflict,
    Corrupt,
    EverlearnError,
    InputError,
    LiveError,
    ScheduleError,
    SnapshotError,
    StoreError,
    UnknownName,
    UserCodeError,
    require,
)
from tests.refusal import refusal

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]

TESTS = Path(__file__).parent
WORDING = re.compile(r"match=|str\(\w+\.(?:value|exception)\) (?:==|in)|in str\(\w+\.(?:value|exception)\)|\.args\[0\]")
"""How tests look at the wording of a message, except at whether it is one line."""


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


def test_wording_is_tested_by_the_table_of_mistakes_alone():
    """Elsewhere an error is told by its class and its data, so that a better wording changes one row."""
    files = [path for path in TESTS.rglob("*.py") if "boundary" not in path.parts and path != Path(__file__)]
    texts = {path: path.read_text(encoding="utf-8").replace('"\\n" not in str(', "") for path in files}
    worded = [path.relative_to(TESTS).as_posix() for path, text in texts.items() if WORDING.search(text)]
    assert worded == [], "see tests/refusal.py"


@pytest.mark.parametrize(
    ("error", "message", "data"),
    [
        (StoreError("is gone", "out"), "out: is gone", {"problem": "is gone", "path": Path("out")}),
        (StoreError("is gone"), "is gone", {"path": None}),
        (LiveError("is gone", Path("a") / "b", agent="c"), "a/b: is gone", {"path": Path("a/b"), "agent": "c"}),
        (SnapshotError("is gone", "bytes", part="clock"), "bytes: is gone", {"source": "bytes", "part": "clock"}),
        (
            Corrupt("is gone", "a.db", table="journal", number=1, row=5),
            "a.db: table journal: agent 1: row 5: is gone",
            {"path": Path("a.db"), "table": "journal", "number": 1, "row": 5, "agent": None},
        ),
        (Corrupt("is gone", row=5), "row 5: is gone", {"problem": "is gone", "row": 5}),
        (Changed("shop", ["x", "y"], "z", ["k", "l"]), "shop: x; y; z", {"path": Path("shop"), "keys": ["k", "l"]}),
    ],
)
def test_a_message_begins_with_the_place(error, message, data):
    assert str(error) == message
    assert {name: getattr(error, name) for name in data} == data
