"""Labels: which there are, and how they are written down and read back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.errors import LabelError
from everlearn.labels import as_label, check_label, check_labels, decode, encode, find, show

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
    with pytest.raises(LabelError) as caught:
        check_label(label, "memory")
    assert str(caught.value) == f"memory: {label!r}; {kind} is not supported, use an int, a str or a tuple of these"


def test_sets_of_labels_keep_their_order():
    assert check_labels(["b", "a", 0], "actions") == ("b", "a", 0)
    assert check_labels(range(3), "actions") == (0, 1, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("slow", "actions: 'slow'; give a list of labels, not one string"),
        ([], "actions: []; give at least one label"),
        ([1, 2, 1], "actions: 1 appears twice; labels must be unique"),
        ([1, 2.5], "actions: 2.5; float is not supported, use an int, a str or a tuple of these"),
    ],
)
def test_sets_of_labels_that_are_refused(given, message):
    with pytest.raises(LabelError) as caught:
        check_labels(given, "actions")
    assert str(caught.value) == message


def test_what_is_not_found_is_told_what_there_is():
    with pytest.raises(LabelError) as caught:
        find("busy", ["idle", (0, 1)], "observation")
    assert str(caught.value) == "observation: 'busy'; known: idle, [0,1]"
    with pytest.raises(LabelError, match=r"known: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, \.\.\.$"):
        find("busy", range(20), "observation")


def test_the_label_itself_is_found_before_what_looks_like_it():
    assert find(1, ["1", 1], "label") == 1
