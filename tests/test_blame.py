"""An exception inside a user's function is one line, with their frames alone."""

import pickle

import pytest

from everlearn.blame import blame, own_frames
from everlearn.errors import InputError, UserCodeError
from everlearn.registry import convert


def divide(by):
    return 1 / by


def test_an_exception_becomes_one_line_with_its_place():
    with pytest.raises(UserCodeError) as caught, blame("the reward of task 'shop'", "step 3"):
        divide(0)
    first, *others = str(caught.value).splitlines()
    assert not others
    assert first.startswith("the reward of task 'shop' raised ZeroDivisionError at step 3: division by zero (")
    assert first.endswith("test_blame.py, line 13)")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_frames_are_the_users_own():
    with pytest.raises(UserCodeError) as caught, blame("the table"):
        sorted([1, 2], key=lambda one: convert([], Broken, "x") or divide(0))
    assert "divide" in caught.value.frames
    assert "src/everlearn" not in caught.value.frames
    assert caught.value.frames.endswith("ZeroDivisionError: division by zero\n")


class Broken: ...


def test_an_error_of_ours_passes():
    with pytest.raises(InputError), blame("the reward"):
        raise InputError("steps", -1, "give more")


def test_an_interruption_passes():
    with pytest.raises(KeyboardInterrupt), blame("the reward"):
        raise KeyboardInterrupt


def test_a_call_that_cannot_be_made_has_no_frame_of_the_users():
    with pytest.raises(UserCodeError) as caught, blame("the reward"):
        len(1, 2)
    assert isinstance(caught.value.__cause__, TypeError)
    assert caught.value.function == "the reward"


def test_it_travels_between_processes():
    error = pickle.loads(pickle.dumps(UserCodeError("one line", "frames")))
    assert (str(error), error.frames) == ("one line", "frames")


def test_only_the_users_frames_are_kept():
    with pytest.raises(AttributeError) as caught:
        InputError("a", 1, "b").missing  # noqa: B018
    assert len(own_frames(caught.value.__traceback__)) == 1
