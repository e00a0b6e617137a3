"""Listing what there is."""

from __future__ import annotations

import inspect

import pytest

import everlearn as el
from everlearn.registry import locate

LISTS = {"tasks": el.TASKS, "agents": el.AGENTS, "schedules": el.SCHEDULES}


@pytest.mark.parametrize("kind", LISTS)
def test_json_has_a_name_and_a_summary_for_each(call_json, kind):
    rows = call_json(kind)
    assert [row["name"] for row in rows] == list(LISTS[kind])
    assert all(row["summary"] for row in rows)


@pytest.mark.parametrize("kind", LISTS)
def test_json_has_every_parameter_with_its_default(call_json, kind):
    for row in call_json(kind):
        factory = locate(row["name"], LISTS[kind], kind)
        settable = {name: given.default for name, given in inspect.signature(factory).parameters.items()}
        settable.pop("schedule", None)
        assert row["parameters"] == {f"{kind[:-1]}.{name}": default for name, default in settable.items()}


@pytest.mark.parametrize("kind", LISTS)
def test_people_see_every_name(call, kind):
    text = call(kind)
    assert all(name in text for name in LISTS[kind])


def test_people_see_parameters(call):
    assert "task.window=12" in call("tasks").replace("\n", "")
    assert "agent.phase=200000" in call("agents").replace("\n", "")


def test_the_command_prints_the_same(command, call):
    assert command("tasks", "--json").stdout == call("tasks", "--json")


def test_the_default_is_what_a_run_uses(call, call_json):
    result = el.run("riverswim", steps=1, engine="reference")
    scheduled = el.run("riverswim", "growing-horizon", steps=1, engine="reference")
    marked = [row["name"] for kind in ("agents", "schedules") for row in call_json(kind) if row["default"]]
    assert marked == [result.agent, scheduled.schedule]
    assert [call(kind).count("The default.") for kind in LISTS] == [0, 1, 1]
