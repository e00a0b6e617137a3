"""Labels: which there are, and how they are written down and read back."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import LabelError
from everlearn.labels import as_label, check_label, check_labels, counted, decode, encode, few, find, kind_of, show
from tests.refusal import refusal

labels = st.recursive(st.one_of(st.integers(), st.text()), lambda inner: st.lists(inner, max_size=4).map(tuple))


@given(label=labels)
def test_a_label_is_read_back_as_it_was_written(label):
    assert check_label(label, "label") is label
    assert decode(encode(label)) == label
    assert as_label(json.loads(json.dumps(label))) == label


@given(one=labels, other=labels)
def test_different_labels_are_written_differently(one, other):
    assert (encode(one) == encode(other)) == (one == other)


@given(label=labels)
def test_a_label_is_found_by_what_is_shown_of_it(label):
    assert find(show(label), [("nothing", "of", "the", "kind"), label], "label") == label


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        (1.5, "float"),
        (None, "NoneType"),
        (True, "bool"),
        ([1], "list"),
        ((1, (2, [3])), "list"),
        ((1, b"x"), "bytes"),
        ((1, 2.5), "float"),
        ((1, (True,)), "bool"),
        ({1}, "set"),
    ],
)
def test_what_is_no_label(label, kind):
    with pytest.raises(LabelError, check=refusal("memory")) as caught:
        check_label(label, "memory")
    assert (caught.value.argument, caught.value.value) == ("memory", label)


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (np.int64(3), 3),
        (np.uint8(200), 200),
        (np.str_("busy"), "busy"),
        ((np.int32(-1), ("a", np.str_("b"))), (-1, ("a", "b"))),
    ],
)
def test_what_is_numpys_is_converted(given, label):
    converted = check_label(given, "memory")
    assert converted == label
    assert encode(converted) == encode(label)  # which knows neither np.int64 nor np.str_


@pytest.mark.parametrize("label", [np.float64(1.0), np.bool_(True), np.array(1), np.array([1]), (1, np.float32(2))])
def test_other_things_of_numpy_are_no_labels(label):
    with pytest.raises(LabelError):
        check_label(label, "memory")


def test_sets_of_labels_keep_their_order():
    assert check_labels(["b", "a", 0], "actions") == ("b", "a", 0)
    assert check_labels(range(3), "actions") == (0, 1, 2)


@pytest.mark.parametrize(
    ("given", "value"),
    [("slow", "slow"), (2, 2), (None, None), ([], []), ({1}, {1}), ([1, 2, np.int64(1)], 1), ([1, 2.5], 2.5)],
)
def test_sets_of_labels_that_are_refused(given, value):
    with pytest.raises(LabelError) as caught:
        check_labels(given, "actions")
    assert (caught.value.argument, caught.value.value) == ("actions", value)


def test_what_is_not_found_is_told_what_there_is():
    with pytest.raises(LabelError, check=refusal("observation", "busy")) as caught:
        find("busy", ["idle", (0, 1)], "observation")
    assert "idle, [0,1]" in caught.value.remedy
    with pytest.raises(LabelError, check=refusal("observation", "busy")):
        find("busy", range(20), "observation")


def test_the_label_itself_is_found_before_what_looks_like_it():
    assert find(1, ["1", 1], "label") == 1


def test_labels_and_types_in_messages():
    assert few(["idle", 1]) == "idle, 1"
    assert few(range(100), most=2) == "0, 1, ..."
    assert [counted(1, "action"), counted(2000, "observation")] == ["1 action", "2,000 observations"]
    assert [kind_of(value) for value in (None, 0.5, 1, (1, 2))] == ["None", "a float", "an int", "a tuple"]


def test_a_label_that_appears_twice_is_found_in_linear_time():
    """Within seconds of processor time, however busy the machine is: comparing each with each takes minutes."""
    before = signal.signal(signal.SIGVTALRM, lambda *_: pytest.fail("it takes too long"))
    signal.setitimer(signal.ITIMER_VIRTUAL, 5)
    try:
        with pytest.raises(LabelError, check=refusal("states")):
            check_labels([*range(100_000), 99_999], "states")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
