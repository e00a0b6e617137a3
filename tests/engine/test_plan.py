"""Plans: what is to be run."""

from __future__ import annotations

import pytest

from everlearn.agents.registry import make_design
from everlearn.engine.curves import recording_times
from everlearn.engine.plan import Plan
from everlearn.errors import InputError
from everlearn.tasks.registry import make_task
from tests.refusal import refusal
from tests.worlds import random_mdp


def plan(steps: int = 100, runs: int = 1, task=None) -> Plan:
    return Plan(task or make_task("service-station"), make_design("always"), steps, runs, 0)


def test_a_plan_knows_when_to_record():
    assert plan(steps=500).times.tolist() == recording_times(500).tolist()


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [({"steps": 0}, ("steps", 0)), ({"runs": 0}, ("runs", 0))],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        plan(**arguments)


def test_policies_are_recorded_where_they_are_small():
    assert plan(steps=10).blank_curves(3).policies.shape == (3, 10, 2, 2)
    assert plan(task=random_mdp(1, states=200)).blank_curves(3).policies is None
