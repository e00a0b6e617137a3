"""Names for things: locating them, and reading the parameters of a factory."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from everlearn.errors import InputError, UnknownName
from everlearn.registry import Parameter, convert, locate, parameters, plain, settings, settings_text, summary, whole
from tests.refusal import has, refusal


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current directory, and an import path that is put back afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_a_name_in_the_registry():
    assert locate("root", {"root": "math:sqrt"}, "function")(9) == 3


def test_a_module_in_the_current_directory(here):
    (here / "belongs_to_a_user.py").write_text("answer = 42\n")
    assert locate("belongs_to_a_user:answer", {}, "task") == 42


def test_a_module_that_fails_to_import_what_it_needs_says_so(here):
    (here / "needs_something.py").write_text("import not_installed_anywhere\n")
    with pytest.raises(InputError, check=refusal("task", "needs_something:answer")):
        locate("needs_something:answer", {}, "task")


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("zebra", ("task", "zebra")),
        (
            "no_such_module:x",
            ("task", "no_such_module:x"),
        ),
        (
            "math.deeper:x",
            ("task", "math.deeper:x"),
        ),
    ],
)
def test_names_that_are_not_found(here, name, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        locate(name, {"here": "math:pi"}, "task")


def test_an_attribute_that_is_not_found(here):
    (here / "has_little.py").write_text("shop = 1\n_hidden = 2\n")
    with pytest.raises(UnknownName) as caught:
        locate("has_little:shops", {}, "task")
    assert caught.value.known == ["shop"]


@pytest.mark.parametrize("name", [":attribute", "math:", ".relative:x", ":"])
def test_half_a_name_is_refused(here, name):
    with pytest.raises(InputError, check=refusal("task")):
        locate(name, {}, "task")


def factory(positional=1, *, price: float = 2.5, count: int | None = None, anything="x"):
    """Make something.

    In several lines.
    """


def test_parameters_are_the_keyword_only_arguments():
    assert list(parameters(factory)) == ["price", "count", "anything"]
    assert parameters(factory)["price"] == Parameter("price", 2.5, float)


def test_a_summary_is_the_first_line():
    assert summary(factory) == "Make something."
    assert summary(lambda: None) == ""


def test_settings_are_defaults_and_what_was_given():
    assert settings(factory, {"count": "1e3"}, "task") == {"price": 2.5, "count": 1000, "anything": "x"}


def test_unknown_parameters_are_refused_by_their_full_name():
    known = ["task.anything", "task.count", "task.price"]
    with pytest.raises(UnknownName, check=has(argument="parameter", value="task.prize", known=known)):
        settings(factory, {"prize": 1}, "task")


def test_annotations_that_cannot_be_resolved_are_no_obstacle():
    def mine(*, price: "Undefined" = 2): ...  # noqa: F821, UP037

    assert settings(mine, {"price": 3}, "task") == {"price": 3}


@pytest.mark.parametrize(
    ("value", "kind", "converted"),
    [
        ("2e5", int, 200_000),
        (3.0, int, 3),
        (np.int64(3), int, 3),
        (str(2**60 + 1), int, 2**60 + 1),
        ("0.5", float, 0.5),
        (1, float, 1.0),
        ("yes", bool, True),
        ("False", bool, False),
        ("none", int | None, None),
        ("NONE", float | None, None),
        (None, int | None, None),
        ("7", int | None, 7),
        ("none", str, "none"),
        ("none", str | None, None),
        ("0=slow", str | None, "0=slow"),
        ([1, 2], object, [1, 2]),
    ],
)
def test_conversion(value, kind, converted):
    found = convert(value, kind, "x")
    assert found == converted
    assert type(found) is type(converted)


@pytest.mark.parametrize(
    ("value", "kind", "refused"),
    [
        ("1.5", int, ("x", "1.5")),
        ("six", int | None, ("x", "six")),
        ("six", float, ("x", "six")),
        (True, int, ("x", True)),
        (True, float, ("x", True)),
        ("maybe", bool, ("x", "maybe")),
        (2, bool, ("x", 2)),
        ([1], float, ("x", [1])),
    ],
)
def test_what_cannot_be_converted(value, kind, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        convert(value, kind, "x")


def test_whole_numbers_may_be_written_as_floats():
    assert [whole(1e6, "steps"), whole("2e3", "steps")] == [1_000_000, 2000]


def test_parameters_are_shown_as_json_would_hold_them():
    assert plain({"policy": (0.5, 0.5), "phase": 10}) == {"policy": [0.5, 0.5], "phase": 10}
    assert settings_text({"phase": 10, "policy": (0.5, 0.5)}) == "phase=10, policy=[0.5, 0.5]"
    assert settings_text({"policy": range(100)}, most=10) == "policy=ran..."


@pytest.mark.parametrize(("text", "own"), [("def cafe():\n    pass\n", "cafe:cafe"), ("shop = 1\n", "cafe:NAME")])
def test_the_name_of_a_file_that_is_here_is_completed(tmp_path, monkeypatch, text, own):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cafe.py").write_text(text)
    with pytest.raises(InputError, check=refusal("task", "cafe")) as caught:
        locate("cafe", {"known": "somewhere:known"}, "task")
    assert own in caught.value.remedy
