"""What is run for a board."""

from __future__ import annotations

import pytest

from everlearn.errors import UnknownName
from everlearn.leaderboard.lineup import Reference, lineup
from tests.leaderboard.small import PAPERS
from tests.refusal import refusal


def test_the_whole_board():
    whole = lineup()
    assert len(set(whole.tasks)) == len(whole.tasks) == 22
    assert [whole.kind(task) for task in whole.tasks] == ["training"] * 6 + ["set aside"] * 16
    assert len(set(whole.agents)) == len(whole.agents) == 11
    assert (whole.spec.steps, whole.spec.runs, whole.spec.seed) == (1_000_000, 20, 2)


def test_agents_and_tasks_are_named_by_label_or_by_what_they_are():
    chosen = lineup(["growing-horizon", "tsde"], ["garnet, seed 1", "t-maze", "riverswim"])
    assert chosen.agents == ["growing-horizon, practical", "growing-horizon, smooth", PAPERS, "tsde"]
    assert chosen.tasks == ["riverswim", "garnet, seed 1", "riverswim, 9 states", "t-maze"]
    assert chosen.ours == "growing-horizon, practical"


def test_an_agent_of_the_users_own_stands_beside_those_of_the_board():
    named = lineup(agents=["own_agent:r_learning", "growing-horizon, practical", "own_agent:r_learning"])
    assert named.agents == ["growing-horizon, practical", "own_agent:r_learning"]
    assert named.ours == "growing-horizon, practical"
    assert lineup(agents=["own_agent:r_learning"]).agents == ["own_agent:r_learning"]


def test_without_ours_the_first_is_what_others_are_compared_with():
    assert lineup(["tsde", "ucrl2"]).ours == "ucrl2"


def test_what_is_not_on_the_board_is_refused():
    with pytest.raises(UnknownName, check=refusal("--agent", "always")):
        lineup(["always"])
    with pytest.raises(UnknownName, check=refusal("--task", "t-mace")):
        lineup(tasks=["t-mace"])


@pytest.mark.soak
def test_references_are_exact():
    """The drifting arms: each is better half of the time, so that 0.7 can be had, and see tests/tasks for the rest."""
    known = lineup(tasks=["riverswim", "drifting", "alternating"]).references
    assert [known[task].hidden for task in known] == [False, False, True, False]
    assert known["alternating, last action"].optimum == pytest.approx(1.0)
    assert known["drifting"].optimum == pytest.approx(0.7)
    assert known["drifting"].best_aleatoric < 0.61


def test_what_is_lost_is_a_share_of_the_size_of_the_optimum():
    assert Reference(0.5, 0.4, hidden=True).lost == pytest.approx(0.2)
    assert Reference(-4.0, -5.0, hidden=True).lost == pytest.approx(0.25)
