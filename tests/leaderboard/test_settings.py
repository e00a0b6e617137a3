"""Who is on the board, and that what is set is what could have been found."""

from __future__ import annotations

import pytest

from everlearn.agents.registry import AGENTS
from everlearn.errors import InputError
from everlearn.leaderboard.settings import LEFT_OUT, OURS, PAPERS, contenders, read_settings


def test_every_registered_agent_is_on_the_board_or_is_left_out_for_a_reason():
    on_board = {entry.given for entry in contenders()}
    assert on_board | set(LEFT_OUT) == set(AGENTS)
    assert not on_board & set(LEFT_OUT)


def test_agents_are_called_what_they_are():
    for entry in contenders():
        if entry.label == PAPERS:
            continue
        schedule = entry.schedules[0]
        assert entry.label == (entry.given if schedule is None else f"{entry.given}, {schedule}")
    assert contenders()[0].label == OURS


def test_the_papers_agent_is_as_the_paper_has_it():
    (entry,) = [entry for entry in contenders() if entry.label == PAPERS]
    assert (entry.given, entry.schedules, entry.parameters, entry.schedule_parameters) == (
        "growing-horizon",
        ["smooth"],
        {},
        {},
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"agents": []}, r"key: 'agents'; known: agent"),
        ({"agent": [{"name": "tsde"}]}, r"agent\[1\].label: None; is missing"),
        ({"agent": [{"name": "always", "label": "a"}]}, r"agent\[1\].name: 'always'; does not learn; leave it out"),
        (
            {"agent": [{"name": "tsde", "label": "a", "parameters": {"prior": [0.1, 1.0]}}]},
            r"agent\[1\].parameters.prior: \[0.1, 1.0\]; is a grid",
        ),
        (
            {"agent": [{"name": "tsde", "label": "a", "parameters": {"prio": 0.1}}]},
            r"agent\[1\], parameter: 'agent.prio'; known: .*did you mean agent.prior",
        ),
        ({"agent": [{"name": name, "label": "a"} for name in ("tsde", "ucrl2")]}, r"agent\[2\].label: 'a'; is the"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(document, message):
    with pytest.raises(InputError, match=message):
        read_settings(document)
