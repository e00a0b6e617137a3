"""What the baselines need of a task: an action that serves slowly, and one that serves fast."""

from __future__ import annotations

import warnings

import pytest

import everlearn as el
from everlearn.agents.baseline import MeaningWarning
from tests.agents.baselines import PHASES


@pytest.mark.parametrize("name", PHASES)
def test_it_warns_on_a_task_without_the_actions_that_it_needs(name):
    with pytest.warns(MeaningWarning) as caught:
        el.Agent("riverswim", name)
    warning = caught[0].message
    assert (warning.agent, warning.task, warning.missing) == (name, "riverswim", ("slow", "fast"))


def test_it_names_only_what_is_missing():
    with pytest.warns(MeaningWarning) as caught:
        el.Agent("riverswim", "static", parameters={"agent.slow": "left"})
    assert [warning.message.missing for warning in caught] == [("fast",)]


@pytest.mark.parametrize("name", PHASES)
@pytest.mark.parametrize(
    ("task", "actions"), [("service-station", {}), ("riverswim", {"agent.slow": "left", "agent.fast": "right"})]
)
def test_it_does_not_warn_where_it_has_them(name, task, actions):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        el.Agent(task, name, parameters=actions)
