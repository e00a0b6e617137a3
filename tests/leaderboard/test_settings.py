"""Who is on the board, and that what is set is what could have been found."""

from __future__ import annotations

from everlearn.agents.registry import AGENTS
from everlearn.experiments.variants import make_variants
from everlearn.leaderboard.lineup import OURS, contenders, lineup, resource
from tests.leaderboard.small import PAPERS


def test_every_registered_agent_is_on_the_board_or_is_left_out_for_a_reason():
    on_board, left_out = {entry.given for entry in contenders()}, resource("settings.toml")["left_out"]
    assert on_board | set(left_out) == set(AGENTS)
    assert not on_board & set(left_out)
    assert all(left_out.values())


def test_agents_are_called_what_they_are():
    for entry in contenders():
        if entry.label == PAPERS:
            continue
        schedule = entry.schedules[0]
        assert entry.label.split(", ")[0] == entry.given
        assert schedule is None or entry.label == f"{entry.given}, {schedule}"
    assert OURS in [entry.label for entry in contenders()]


def test_the_papers_agent_is_as_the_paper_has_it():
    (entry,) = [entry for entry in contenders() if entry.label == PAPERS]
    assert (entry.given, entry.schedules, entry.parameters, entry.schedule_parameters) == (
        "growing-horizon",
        ["smooth"],
        {},
        {},
    )


def test_limits_are_those_of_agents_on_the_board():
    assert set(resource("settings.toml")["limit"]) <= {entry.label for entry in contenders()}


def test_every_agent_has_a_label_and_one_value_of_everything_that_is_set():
    for entry in contenders():
        assert entry.label
        values = [entry.schedules, *entry.parameters.values(), *entry.schedule_parameters.values()]
        assert all(len(each) == 1 for each in values), entry.label


def test_every_setting_is_a_parameter_of_its_agent():
    assert len(make_variants(lineup(tasks=["t-maze, short window"], afresh=True).spec)) == len(contenders())
