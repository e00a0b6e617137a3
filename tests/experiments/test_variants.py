"""What a spec stands for, in its order."""

from __future__ import annotations

import pytest

from everlearn.errors import InputError
from everlearn.experiments.variants import make_variants
from tests.experiments.small import RANDOM, SMOOTH, STATION, described, world
from tests.refusal import refusal
from tests.worlds import corridor, shop


def listed(**changes) -> list[tuple]:
    return [(one.task.label, one.agent.label, one.settings) for one in make_variants(described(**changes))]


def test_task_by_task_and_agent_by_agent():
    tasks = [STATION, {"name": world}]
    assert [one[:2] for one in listed(task=tasks)] == [
        ("service-station", "smooth"),
        ("service-station", "random"),
        ("world", "smooth"),
        ("world", "random"),
    ]


def test_the_last_parameter_of_a_grid_changes_fastest():
    task = {"name": world, "parameters": {"states": [2, 3], "bonus": [0, 1]}}
    assert [one[2] for one in listed(task=task, agent=[RANDOM])] == [
        {"task.states": states, "task.bonus": bonus} for states in (2, 3) for bonus in (0, 1)
    ]


def test_parameters_then_schedules_then_their_parameters():
    agent = {
        "name": "growing-horizon",
        "schedule": ["smooth", "change-points"],
        "schedule_parameters": {"horizon_scale": [2, 3]},
    }
    assert listed(agent=agent) == [
        ("service-station", "growing-horizon", {"schedule": schedule, "schedule.horizon_scale": scale})
        for schedule in ("smooth", "change-points")
        for scale in (2, 3)
    ]


def test_what_does_not_vary_is_no_setting():
    task = {"name": world, "parameters": {"states": 2, "bonus": [0.5]}}
    assert listed(task=task, agent=SMOOTH) == [("world", "smooth", {})]


def test_members_of_a_family_are_counted_and_are_no_setting():
    task = {"name": world, "parameters": {"states": [2, 3]}, "family": {"instance": 3, "bonus": [0, 1]}}
    found = make_variants(described(task=task, agent=RANDOM))
    assert [one.task.member for one in found] == [0, 1, 2, 3, 4, 5] * 2
    assert {one.task.members for one in found} == {6}
    assert [one.settings["task.states"] for one in found] == [2] * 6 + [3] * 6
    assert [(one.plan.task.parameters["instance"], one.plan.task.parameters["bonus"]) for one in found[:3]] == [
        (0, 0.0),
        (0, 1.0),
        (1, 0.0),
    ]


@pytest.mark.parametrize(
    ("agent", "label"),
    [
        ("growing-horizon", "growing-horizon, practical"),
        ({"name": "growing-horizon", "schedule": "fixed"}, "growing-horizon, fixed"),
        ({"name": "growing-horizon", "label": "ours"}, "ours"),
        ("always", "always"),
        ({"name": "everlearn.agents.always:always"}, "everlearn.agents.always:always"),
    ],
    ids=["schedule of its own", "schedule", "label", "no schedule", "module"],
)
def test_what_an_agent_is_called(agent, label):
    assert listed(agent=agent)[0][1] == label


def test_things_are_called_by_their_names():
    tasks = [corridor(), shop(), world]
    assert [one[0] for one in listed(task=tasks, agent="always")] == ["corridor", "serve", "world"]


def test_every_variant_has_the_plan_of_the_spec():
    for one in make_variants(described(steps=70, runs=3, seed=9, recording={"per_decade": 4})):
        plan = one.plan
        assert (plan.steps, plan.runs, plan.seed, plan.per_decade) == (70, 3, 9, 4)


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("discounted", True),
        ({"name": "discounted-subroutine", "parameters": {"optimism": 1.0}}, True),
        ("growing-horizon", False),
        ("static", False),
        ({"name": "discounted", "parameters": {"duration": 50}}, True),
    ],
    ids=["discounted", "subroutine", "growing horizon", "static", "duration of its own"],
)
def test_who_is_told_the_duration(agent, told):
    assert make_variants(described(agent=agent))[0].knows_duration is told


def test_one_task_is_made_for_all_agents():
    one, other = make_variants(described())
    assert one.plan.task is other.plan.task


def test_a_grid_of_agents_is_no_twin_of_itself():
    agent = {"name": "always", "parameters": {"policy": ["fast", "slow"]}}
    assert [one[1] for one in listed(agent=agent)] == ["always", "always"]


def test_a_grid_and_another_agent_of_its_name_are_refused():
    grid = {"name": "always", "parameters": {"policy": ["fast", "slow"]}}
    with pytest.raises(InputError, check=refusal("agent[2].label", "always")):
        listed(agent=[grid, "always"])
