"""Names: what is the same is not said, and what differs is."""

from __future__ import annotations

from everlearn.analysis.names import agent_names, described, task_names, varying
from tests.analysis.arms import made


def test_labels_alone_where_they_suffice():
    arms = [made([1], agent="a", settings={"agent.phase": 1}), made([1], agent="b", settings={"agent.phase": 2})]
    assert agent_names(arms) == ["a", "b"]
    assert task_names(arms) == ["shop", "shop"]


def test_settings_are_told_apart_by_whom_they_belong_to():
    arms = [made([1], settings={"agent.phase": phase, "task.window": 5 - phase}) for phase in (1, 2)]
    assert agent_names(arms) == ["smooth (phase=1)", "smooth (phase=2)"]
    assert task_names(arms) == ["shop (window=4)", "shop (window=3)"]


def test_a_setting_that_only_some_have():
    arms = [made([1]), made([1], settings={"schedule.horizon_scale": 0.5})]
    assert agent_names(arms) == ["smooth", "smooth (horizon_scale=0.5)"]


def test_prefixes_are_kept_where_names_would_clash():
    settings = {"agent.scale": 1, "schedule.scale": 2}
    assert described(settings, settings) == "agent.scale=1, schedule.scale=2"


def test_values_that_cannot_be_hashed():
    assert varying([{"weights": [1, 2]}, {"weights": [1, 3]}]) == ["weights"]
    assert varying([{"weights": [1, 2]}, {"weights": [1, 2]}]) == []


def test_no_arms_have_no_names():
    assert agent_names([]) == task_names([]) == varying([]) == []
