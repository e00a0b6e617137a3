"""The report of a shadow: agreement counted by hand, gains against the truth, and where the data cannot tell."""

from __future__ import annotations

import random

import pytest

import everlearn as el
from everlearn.durable.reader import Reader
from everlearn.durable.transitions import read_transitions
from everlearn.errors import InputError
from tests.memory import tmp_path, tmp_path_factory
from tests.refusal import refusal

__all__ = ["tmp_path", "tmp_path_factory"]

SETUP = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "start": "idle", "reward_range": (0, 1)}


def shadow(directory, steps: int, share: float = 0.5, **setup) -> el.Live:
    """An agent that shadows a controller: fast earns 0.75 and slow 0.25, and what follows is chance."""
    draw, agent = random.Random(1), el.live(directory, **SETUP, seed=1, **setup)
    agent.shadow()
    for _ in range(steps):
        agent.act()
        action, seen = "fast" if draw.random() < share else "slow", draw.choice(["idle", "busy"])
        agent.observe(seen, executed=action, reward=0.75 if action == "fast" else 0.25)
    return agent


def test_agreement_is_that_of_the_journal(tmp_path):
    with shadow(tmp_path, 1200) as agent:
        rows, report = [row for row in agent.journal() if row["kind"] == "observed"], agent.report()
    agreed = [row["proposed"] == row["executed"] for row in rows]
    assert report.agreement["overall"] == pytest.approx(sum(agreed) / 1200)
    assert report.agreement["recent"] == pytest.approx(sum(agreed[-1000:]) / 1000)
    assert (report.agreement["steps"], report.agreement["recent_steps"]) == (1200, 1000)
    for state in report.states:
        own = [row for row in rows if row["state"] == state["state"]]
        assert state["visits"] == len(own)
        assert state["executed"] == sum(row["executed"] == state["action"] for row in own)
        assert state["agreement"] == sum(row["proposed"] == row["executed"] for row in own) / len(own)
    assert el.shadow_report(tmp_path) == report


def test_the_gain_covers_the_truth_and_says_that_it_is_in_sample(tmp_path):
    with shadow(tmp_path, 800) as agent:
        report = el.shadow_report(tmp_path)
        assert report.gain["lower"] < 0.25 < report.gain["upper"]
        assert report.gain["policy_step"] == agent.step
        assert "the same steps" in report.warnings[-1]


def test_with_a_rule_the_candidate_is_judged_by_later_steps(tmp_path):
    with shadow(tmp_path, 500, promotion={"every": 300, "gain": 0.9}) as agent:
        report = agent.report()
    assert (report.gain["policy_step"], report.gain["steps"]) == (300, 200)
    assert report.promotion["candidate_step"] == 300
    assert not report.warnings
    assert sum(row["visits"] for row in report.states) == 500
    with Reader(tmp_path) as reader:
        data = read_transitions(reader, 1)
    for row in report.states:
        own = data.states == ["idle", "busy"].index(row["state"])
        assert row["executed"] == sum(data.actions[own] == ["slow", "fast"].index(row["action"]))


@pytest.mark.parametrize(
    ("bounds", "policy_step", "steps", "warned"),
    [({"first": 401}, 300, 100, False), ({"last": 300}, 500, 300, True), ({"last": 200}, 500, 200, True)],
)
def test_whatever_the_steps_a_policy_that_was_learned_from_them_is_called_so(
    tmp_path, bounds, policy_step, steps, warned
):
    with shadow(tmp_path, 500, promotion={"every": 300, "gain": 0.9}):
        report = el.shadow_report(tmp_path, **bounds)
    assert (report.gain["policy_step"], report.gain["steps"]) == (policy_step, steps)
    assert any("the same steps" in warning for warning in report.warnings) == warned


def test_a_candidate_that_was_just_fixed_has_no_later_steps_yet(tmp_path):
    with shadow(tmp_path, 300, promotion={"every": 300, "gain": 0.9}):
        report = el.shadow_report(tmp_path)
    assert report.promotion["candidate_step"] == report.gain["policy_step"] == 300
    assert "the same steps" in report.warnings[-1]


def test_rows_of_a_warm_start_are_not_what_the_controller_did(tmp_path):
    with shadow(tmp_path, 200) as agent:
        before = agent.report()
        agent.warm_start([("idle", "slow", 1.0)] * 500)
        agent.act()
        agent.observe("idle", executed="slow", reward=0.25)
        after = agent.report()
    assert (before.gain["steps"], after.gain["steps"]) == (200, 201)
    assert after.gain["controller"] == pytest.approx(before.gain["controller"], abs=0.01)


def test_where_the_data_cannot_tell_it_names_states_and_what_would_help(tmp_path):
    with shadow(tmp_path, 400, share=0.0):  # never fast, of which the agent still hopes
        report = el.shadow_report(tmp_path)
    assert not report.gain["supported"]
    assert report.gain["estimate"] is None
    assert {(row["state"], row["action"], row["needed"], row["steps"]) for row in report.missing} == {
        ("idle", "fast", 10, None),
        ("busy", "fast", 10, None),
    }


def test_a_period_without_proposals_has_no_agreement(tmp_path):
    with el.live(tmp_path, **SETUP) as agent:
        agent.observe("idle", executed="slow", reward=0.5)
        with pytest.raises(InputError, check=refusal("agent", "agent")):
            agent.report()
        agent.shadow()
        for _ in range(30):
            agent.observe("busy", executed="slow", reward=0.5)
        report = agent.report()
        assert (report.first, report.last, report.agreement["overall"]) == (2, 31, None)
        with pytest.raises(InputError, check=refusal("confidence", 2)):
            agent.report(confidence=2)
