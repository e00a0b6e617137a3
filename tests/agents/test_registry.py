"""Agents and schedules by name, by factory, or themselves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

import everlearn as el
from everlearn.agents.design import UNNAMED
from everlearn.agents.registry import make_design, make_schedule
from everlearn.agents.schedule import smooth
from everlearn.errors import InputError, UnknownName
from tests.refusal import refusal


def test_a_schedule_by_name_carries_its_name_and_parameters():
    schedule = make_schedule("change-points", {"first": "10"})
    assert schedule.name == "change-points"
    assert schedule.parameters["first"] == 10
    assert schedule.parameters["growth"] == 2.0
    assert schedule.count_scale(10) == 0


def test_a_schedule_itself_or_its_factory():
    own = smooth()
    assert make_schedule(own) is own
    assert make_schedule(smooth, {"horizon_scale": 2}).horizon(1) == 2.0


def test_parameters_reach_the_design():
    design = make_design("static", {"phase": "2e3", "fast_cost": 0.25})
    assert design.name == "static"
    assert design.parameters["phase"] == 2000
    assert design.parameters["fast_cost"] == 0.25


def test_the_schedule_reaches_the_design():
    design = make_design("growing-horizon", schedule="fixed", schedule_chosen={"horizon": 3})
    assert design.schedule.name == "fixed"
    assert design.schedule.horizon(1) == 3.0
    assert make_design("growing-horizon").schedule.name == "practical"
    assert make_design("growing-horizon", {"schedule": "fixed"}).schedule.name == "fixed"


def test_the_duration_reaches_those_who_must_be_told():
    assert make_design("discounted", duration=50).duration == 50
    assert make_design("discounted", {"duration": 60}, duration=50).duration == 60
    assert make_design("growing-horizon", duration=50).duration is None


def test_a_design_itself_is_taken_as_it_is():
    design = make_design("always")
    assert make_design(design) is design


def seven() -> int:
    return 7


@pytest.mark.parametrize(
    ("make", "error", "refused"),
    [
        (
            lambda: make_schedule("smoth"),
            UnknownName,
            ("schedule", "smoth"),
        ),
        (
            lambda: make_schedule("smooth", {"horizon": 3}),  # known, but not to this schedule
            InputError,
            ("parameter", "schedule.horizon"),
        ),
        (
            lambda: make_schedule("smooth", {"horizon_scale": "far"}),
            InputError,
            ("schedule.horizon_scale", "far"),
        ),
        (lambda: make_schedule(smooth(), {"x": 1}), UnknownName, ("parameter", "schedule.x")),
        (lambda: make_schedule(5), InputError, ("schedule", 5)),
        (
            lambda: make_schedule("math:pi"),
            InputError,
            ("schedule", "math:pi"),
        ),
        (
            lambda: make_design(make_design("always"), {"x": 1}),
            InputError,
            ("parameter", "agent.x"),
        ),
        (
            lambda: make_design(5),
            InputError,
            ("agent", 5),
        ),
        (
            lambda: make_design("always", schedule="smooth"),
            InputError,
            ("schedule", "smooth"),
        ),
        (
            lambda: make_design("always", schedule_chosen={"horizon_scale": 2}),
            InputError,
            ("schedule", "schedule.horizon_scale"),
        ),
    ],
)
def test_what_is_refused(make, error, refused):
    with pytest.raises(error, check=refusal(*refused)):
        make()


def test_an_unknown_agent_is_told_those_there_are():
    with pytest.raises(UnknownName, check=refusal("agent", "growing-horizons")) as caught:
        make_design("growing-horizons")
    assert caught.value.known == sorted(el.AGENTS)


@pytest.mark.parametrize(("make", "argument"), [(make_schedule, "schedule"), (make_design, "agent")])
def test_a_function_that_makes_something_else(make, argument):
    with pytest.raises(InputError, check=refusal(argument, "seven")):
        make(seven)


def always_first() -> el.Design:
    return replace(make_design("always"), name=UNNAMED)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (always_first, "always_first"),
        (partial(always_first), "always_first"),
        (lambda: make_design("always"), "always"),
        (lambda: always_first(), UNNAMED),
    ],
)
def test_a_design_without_a_name_is_called_after_its_function(given, name):
    assert make_design(given).name == name


def test_two_functions_make_two_agents_of_an_experiment():
    def other() -> el.Design:
        return always_first()

    river = el.experiment("riverswim", [always_first, other], steps=10)
    assert [row["agent"] for row in river.table(["final"])] == ["always_first", "other"]
