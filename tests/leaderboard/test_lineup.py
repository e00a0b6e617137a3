"""What is run for a board."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from docs.board import encoded

from everlearn.errors import InputError, UnknownName
from everlearn.leaderboard import lineup as lineup_module
from everlearn.leaderboard.board import make_board
from everlearn.leaderboard.lineup import Reference, contenders, lineup, reference
from everlearn.leaderboard.shipped import decoded, references, shipped
from everlearn.results.arm import Arm
from everlearn.theory.report import Theory
from tests.leaderboard.small import PAPERS
from tests.refusal import refusal


def test_the_whole_board():
    whole = lineup()
    assert len(set(whole.tasks)) == len(whole.tasks) == 53
    assert [whole.kind(task) for task in whole.tasks] == ["training"] * 15 + ["set aside"] * 38
    assert whole.agents == [entry.label for entry in contenders() if entry.label in shipped().speeds]
    assert len(set(lineup(afresh=True).agents)) == len(contenders())
    assert (whole.spec.steps, whole.spec.runs, whole.spec.seed) == (1_000_000, 10, 2)


def test_the_fresh_tasks_are_run_instead_of_those_of_the_board():
    fresh = lineup(["discounted", "tsde"], fresh=True)
    assert not set(fresh.tasks) & set(lineup().tasks)
    assert {fresh.kind(task) for task in fresh.tasks} == {"set aside"}
    assert (fresh.shipped_arms, fresh.spec.seed) == ([], 4)
    two = lineup(["discounted", "tsde"], ["maze, 64 places", "garnet, 20 actions"], fresh=True)
    assert {folder: len(spec.tasks) for folder, spec in two.parts.items()} == {"": 2, "30-states": 1}
    assert two.references["garnet, 20 actions"] is references()["garnet, 20 actions"]
    with pytest.raises(UnknownName, check=refusal("--task", "kuhn-poker")):
        lineup(tasks=["kuhn-poker"], fresh=True)


def test_agents_and_tasks_are_named_by_label_or_by_what_they_are():
    chosen = lineup(["growing-horizon", "tsde"], ["garnet, seed 1", "t-maze", "riverswim"])
    assert chosen.agents == ["growing-horizon, practical", "growing-horizon, smooth", PAPERS, "tsde"]
    assert chosen.tasks == ["riverswim", "garnet, seed 1", "t-maze, short window", "riverswim, 9 states", "t-maze"]
    assert chosen.kinds["riverswim, 9 states"] == "riverswim"
    assert chosen.ours == "growing-horizon, practical"


def test_an_agent_of_the_users_own_stands_beside_the_whole_board_or_beside_those_named():
    alone = lineup(agents=["own_agent:r_learning"])
    assert alone.agents == [*lineup().agents, "own_agent:r_learning"]
    assert alone.ours == "own_agent:r_learning"
    named = lineup(agents=["own_agent:r_learning", "growing-horizon, practical", "own_agent:r_learning"])
    assert named.agents == ["growing-horizon, practical", "own_agent:r_learning"]


def test_without_ours_the_first_is_what_others_are_compared_with():
    assert lineup(["tsde", "ucrl2"]).ours == "ucrl2"


def test_slow_agents_are_run_on_small_tasks_and_for_fewer_steps():
    parts = lineup(["discounted", "tsde", "imed-rl"], ["riverswim", "garnet"], afresh=True).parts
    assert {folder: [entry.label for entry in spec.agents] for folder, spec in parts.items()} == {
        "": ["discounted"],
        "30-states": ["tsde"],
        "12-states-10000-steps": ["imed-rl"],
    }
    assert [spec.steps for spec in parts.values()] == [1_000_000, 1_000_000, 10_000]
    small = {entry.label for entry in parts["30-states"].tasks}
    assert {entry.label for entry in parts[""].tasks} - small == {"garnet, 50 states", "garnet, 200 states"}


def test_only_agents_without_shipped_results_are_run():
    (part,) = lineup(["own_agent:r_learning"]).parts.values()
    assert [entry.label for entry in part.agents] == ["own_agent:r_learning"]
    assert not lineup().parts
    for other in ({"afresh": True}, {"steps": 1000}, {"runs": 2}):
        assert "discounted" in {entry.label for entry in lineup(**other).parts[""].agents}


def test_a_named_agent_is_run_on_the_tasks_on_which_no_result_is_shipped(monkeypatch):
    known = shipped()._replace(arms=[arm for arm in shipped().arms if (arm.agent, arm.task) != ("psrl", "tiger")])
    monkeypatch.setattr(lineup_module, "shipped", lambda: known)
    named = lineup(["psrl", "q-learning"], ["tiger", "riverswim"])
    assert {folder: [entry.label for entry in spec.tasks] for folder, spec in named.parts.items()} == {
        "psrl": ["tiger"]
    }
    assert {arm.task for arm in named.shipped_arms if arm.agent == "psrl"} >= {"riverswim", "tiger, two observations"}
    assert not lineup(tasks=["tiger", "riverswim"]).parts


def test_shipped_results_are_read_as_they_were_written():
    arm = Arm("tiger", "always", {}, np.array([10]), np.array([[4.0], [5.0]]))
    contents = decoded(encoded([arm], {"always": 1e6}, 10, seed=2, identities={"tiger": {"task": "tiger"}}))
    assert contents.arms[0].total_reward.tolist() == [[4.0], [5.0]]
    assert (contents.runs, contents.steps, contents.seed, contents.speeds) == (2, 10, 2, {"always": 1e6})
    assert contents.fits("tiger", {"task": "tiger"})
    assert not contents.fits("tiger", {"task": "maze"})


def test_a_result_that_ends_too_early_is_run_again_and_replaced(interpreted, monkeypatch, tmp_path):
    monkeypatch.setattr(lineup_module, "RUNS", 2)
    monkeypatch.setattr(lineup_module, "STEPS", 300)
    arms = [
        Arm("riverswim", "always on the board", {}, np.array([300]), np.zeros((2, 1))),
        Arm("riverswim", "r-learning", {}, np.array([100]), np.zeros((2, 1))),
    ]
    known = decoded(encoded(arms, {"r-learning": 1e6}, 300, seed=2))
    monkeypatch.setattr(lineup_module, "shipped", lambda: known)
    named = lineup(["r-learning"], ["riverswim"])
    named = replace(named, spec=replace(named.spec, tasks=named.spec.tasks[:1]))
    assert [arm.times[-1] for arm in named.shipped_arms] == [100]
    (arm,) = make_board(named, tmp_path).arms
    assert arm.times[-1] == 300


def test_with_the_steps_of_an_earlier_time_only_agents_that_depend_on_them_are_run_again():
    earlier = lineup(["own_agent:r_learning"], steps=100_000)
    assert earlier.known
    assert {entry.label for entry in earlier.parts[""].agents} == {
        "own_agent:r_learning",
        "discounted",
        "optimistic-q",
        "ucb-h",
    }
    assert not lineup(["own_agent:r_learning"], steps=20_000).known


def test_shipped_results_of_other_parameters_are_not_used(monkeypatch):
    """The value of an agent and that of a task, both changed after the results were shipped."""
    given = lineup_module.resource

    def changed(name):
        contents = given(name)
        for entry in contents.get("agent", []):
            entry.get("parameters", {}).pop("step_size", None)
        for entry in contents["task"] if name == "set_aside.toml" else ():
            entry.get("parameters", {}).pop("states", None)
        return contents

    agents, tasks = ["q-learning", "psrl"], ["riverswim, 9 states", "tiger", "riverswim"]
    monkeypatch.setattr(lineup_module, "resource", changed)
    now = lineup(agents, tasks)
    used = {(arm.agent, arm.task) for arm in now.shipped_arms}
    assert used == {("psrl", task) for task in now.tasks if task != "riverswim, 9 states"}
    assert {entry.label for entry in now.parts[""].agents} == {"q-learning"}
    assert [entry.label for entry in now.parts["psrl"].tasks] == ["riverswim, 9 states"]
    assert now.references["riverswim, 9 states"] == pytest.approx(references()["riverswim"])


def test_a_quick_try_is_beside_the_same_agents():
    assert lineup(["own_agent:r_learning"], runs=2).agents == lineup(["own_agent:r_learning"]).agents


def test_tasks_that_are_too_large_for_all_agents_are_refused(tmp_path):
    with pytest.raises(InputError, check=refusal("--task", "garnet, 50 states")):
        make_board(lineup(["ucrl2b"], ["garnet, 50 states"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_not_on_the_board_is_refused():
    with pytest.raises(UnknownName, check=refusal("--agent", "always")):
        lineup(["always"])
    with pytest.raises(UnknownName, check=refusal("--task", "t-mace")):
        lineup(tasks=["t-mace"])


@pytest.mark.soak
def test_references_are_exact():
    """Those that are shipped are those that are computed again."""
    for entry in lineup().spec.tasks:
        found = reference(entry)
        assert references()[entry.label] == pytest.approx(found, abs=1e-6), entry.label


@pytest.mark.soak
def test_optima_of_the_fresh_tasks_are_exact():
    """The best policies over aleatoric states take minutes to find."""
    for entry in lineup(fresh=True).spec.tasks:
        theory = Theory(entry.given, {name: values[0] for name, values in entry.parameters.items()})
        assert references()[entry.label].optimum == pytest.approx(theory.optimal_average_reward, abs=1e-6), entry.label


def test_every_task_has_a_shipped_reference():
    known = references()
    assert set(known) == {*lineup().tasks, *lineup(fresh=True).tasks}
    assert known["drifting"].optimum == pytest.approx(0.7)
    assert known["drifting"].best_aleatoric < 0.61
    assert known["riverswim"] == pytest.approx(reference(lineup(tasks=["riverswim"]).spec.tasks[0]))


def test_what_is_lost_is_a_share_of_the_size_of_the_optimum():
    assert Reference(0.5, 0.4, hidden=True).lost == pytest.approx(0.2)
    assert Reference(-4.0, -5.0, hidden=True).lost == pytest.approx(0.25)
