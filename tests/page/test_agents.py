"""One agent of a page: checked, named, and made."""

from __future__ import annotations

import pytest

from everlearn.agents.registry import AGENTS, DEFAULT_SCHEDULE, SCHEDULES
from everlearn.agents.spec import AgentSpec, TaskSpec, read_specs
from everlearn.errors import InputError, UnknownName
from everlearn.page.configuration import is_papers, label, write
from everlearn.page.offer import DURATION, REGISTERED
from tests.refusal import has, refusal

check = REGISTERED.check_agent


def agent(name="growing-horizon", schedule=None, parameters=None) -> AgentSpec:
    return read_specs(None, name, schedule, parameters)[1]


def test_values_get_their_types_and_defaults_are_left_out():
    given = {"schedule.horizon_scale": "3", "schedule.horizon_power": "0.2"}
    assert check(agent("growing-horizon", "smooth", given)).settings == {"schedule.horizon_scale": 3.0}


def test_a_schedule_is_there_where_one_is_taken():
    assert check(agent("growing-horizon")).schedule == DEFAULT_SCHEDULE
    assert check(agent("always")).schedule is None
    with pytest.raises(InputError, check=refusal("schedule", "smooth")):
        check(agent("always", "smooth"))


@pytest.mark.parametrize("name", ["os:system", "everlearn.agents.always:always", "gymnasium:FrozenLake-v1"])
@pytest.mark.parametrize("kind", ["agent", "schedule"])
def test_nothing_is_imported_that_has_no_name_here(kind, name):
    given = agent(name, None) if kind == "agent" else agent("growing-horizon", name)
    with pytest.raises(InputError, check=has(__class__=InputError, argument=kind, value=name)):
        check(given)


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"schedule.nothing": "1"}, ("parameter", "schedule.nothing")),
        ({"schedule.horizon_scale": "wide"}, ("schedule.horizon_scale", "wide")),
        ({"horizon": "3"}, ("parameter", "horizon")),
        ({"agent.schedule": "smooth"}, ("parameter", "agent.schedule")),
    ],
)
def test_what_is_unknown_is_refused(given, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        check(agent("growing-horizon", "smooth", given))


def test_a_view_that_would_be_imported_is_refused():
    def check(view):
        return REGISTERED.check_task(TaskSpec("alternating", {"aleatoric": view})).parameters

    assert check("window:2") == {"aleatoric": "window:2"}
    assert check("natural") == {}
    with pytest.raises(InputError, check=refusal("task.aleatoric", "os:getcwd")):
        check("os:getcwd")


def test_every_task_can_be_seen_in_another_way():
    assert REGISTERED.defaults("task", "alternating") == {"aleatoric": "natural"}
    assert "window" in REGISTERED.defaults("task", "service-station")


def test_only_the_agent_of_the_paper_as_printed_is_the_papers():
    assert is_papers(agent("growing-horizon", "smooth"))
    assert is_papers(agent("growing-horizon", "change-points"))
    assert not is_papers(agent("growing-horizon", "practical"))
    assert not is_papers(agent("growing-horizon", "smooth", {"schedule.horizon_scale": 3.0}))
    assert not is_papers(agent("discounted", None))


def test_labels_tell_apart_what_differs():
    plain, changed = check(agent()), agent("growing-horizon", "smooth", {"schedule.horizon_scale": 3.0})
    assert label(plain) == "growing-horizon, practical"
    assert label(changed) == "growing-horizon, smooth, horizon_scale 3"


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_can_be_made_and_is_told_a_duration_where_it_asks(name):
    design = REGISTERED.agent(check(agent(name))).make(DURATION)
    assert design.duration in (None, DURATION)
    assert ("duration" in REGISTERED.defaults("agent", name)) == (design.duration == DURATION)


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_is_shown_of_a_schedule_is_read_back(name):
    texts = {f"schedule.{key}": write(value) for key, value in REGISTERED.defaults("schedule", name).items()}
    assert check(agent("growing-horizon", name, texts)) == agent("growing-horizon", name)


def test_an_unknown_name_comes_with_those_that_are_known():
    with pytest.raises(UnknownName, check=refusal("agent", "growing")):
        check(agent("growing"))


def test_values_are_written_as_a_person_types_them():
    assert [write(value) for value in (3.0, True, None, "slow", 0.25, 7)] == ["3", "yes", "none", "slow", "0.25", "7"]
