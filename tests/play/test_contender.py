"""One agent as a page names it."""

from __future__ import annotations

import pytest

from everlearn.agents.registry import AGENTS, DEFAULT_SCHEDULE, SCHEDULES
from everlearn.errors import InputError, UnknownName
from everlearn.play.contender import Contender, written
from everlearn.play.offer import DURATION, REGISTERED


def test_values_get_their_types_and_defaults_are_left_out():
    given = {"schedule.horizon_scale": "3", "schedule.horizon_power": "0.2"}
    assert Contender("growing-horizon", "smooth", given).checked().parameters == {"schedule.horizon_scale": 3.0}


def test_a_schedule_is_there_where_one_is_taken():
    assert Contender("growing-horizon", None).checked().schedule == DEFAULT_SCHEDULE
    assert Contender("always", None).checked().schedule is None
    with pytest.raises(InputError, match="takes no schedule"):
        Contender("always", "smooth").checked()


@pytest.mark.parametrize("name", ["os:system", "everlearn.agents.always:always", "gymnasium:FrozenLake-v1"])
@pytest.mark.parametrize("kind", ["agent", "schedule"])
def test_nothing_is_imported_that_has_no_name_here(kind, name):
    given = Contender(name, None) if kind == "agent" else Contender("growing-horizon", name)
    with pytest.raises(
        InputError, match=f"{kind}: '{name}'; the page offers registered names and what it was started with"
    ):
        given.checked()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"schedule.nothing": "1"}, "parameter: 'schedule.nothing'; known: schedule.horizon_power"),
        ({"schedule.horizon_scale": "wide"}, "schedule.horizon_scale: 'wide'; give a number"),
        ({"task.window": "3"}, "belongs to the task"),
        ({"horizon": "3"}, "write task.NAME, agent.NAME or schedule.NAME"),
        ({"agent.schedule": "smooth"}, "parameter: 'agent.schedule'; known: none"),
    ],
)
def test_what_is_unknown_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        Contender("growing-horizon", "smooth", given).checked()


def test_a_view_that_would_be_imported_is_refused():
    differing = REGISTERED.differing
    assert differing("task", "alternating", {"aleatoric": "window:2"}) == {"task.aleatoric": "window:2"}
    assert differing("task", "alternating", {"aleatoric": "natural"}) == {}
    with pytest.raises(InputError, match="the page takes natural, memory"):
        differing("task", "alternating", {"aleatoric": "os:getcwd"})


def test_every_task_can_be_seen_in_another_way():
    assert REGISTERED.settable("task", "alternating") == {"task.aleatoric": "natural"}
    assert "task.window" in REGISTERED.settable("task", "service-station")


def test_only_the_agent_of_the_paper_as_printed_is_the_papers():
    assert Contender("growing-horizon", "smooth").is_of_the_paper
    assert Contender("growing-horizon", "change-points").is_of_the_paper
    assert not Contender("growing-horizon", "practical").is_of_the_paper
    assert not Contender("growing-horizon", "smooth", {"schedule.horizon_scale": 3.0}).is_of_the_paper
    assert not Contender("discounted", None).is_of_the_paper


def test_labels_tell_apart_what_differs():
    plain, changed = Contender(), Contender("growing-horizon", "smooth", {"schedule.horizon_scale": 3.0})
    assert plain.label == "growing-horizon, practical"
    assert changed.label == "growing-horizon, smooth, horizon_scale 3"


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_can_be_made_and_is_told_a_duration_where_it_asks(name):
    design = Contender(name, None).checked().design()
    assert design.duration in (None, DURATION)
    assert ("agent.duration" in REGISTERED.settable("agent", name)) == (design.duration == DURATION)


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_is_shown_of_a_schedule_is_read_back(name):
    texts = {key: written(value) for key, value in REGISTERED.settable("schedule", name).items()}
    assert Contender("growing-horizon", name, texts).checked() == Contender("growing-horizon", name)


def test_an_unknown_name_comes_with_those_that_are_known():
    with pytest.raises(UnknownName, match="did you mean growing-horizon"):
        Contender("growing", None).checked()
