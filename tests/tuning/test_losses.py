"""Losses: relative regret where the optimum is known, and what stands for it where it is not."""

from __future__ import annotations

import numpy as np
import pytest

import everlearn as el
from everlearn.experiments.execute import execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.spec import read_spec
from everlearn.tuning.scores import Losses, add_losses, loss, rewards_by_task
from tests.experiments.small import world
from tests.worlds import pendulum

AVERAGE = np.array([0.25, 0.5])


@pytest.mark.parametrize(
    ("optimum", "expected"),
    [
        (0.5, [0.5, 0.0]),
        (-1.0, [-1.25 / 4, -1.5 / 4]),
        (0.0, [-0.25 / 4, -0.5 / 4]),
        (1e-12, [-0.25 / 4, -0.5 / 4]),
        (None, [1.75 / 4, 1.5 / 4]),
    ],
)
def test_by_hand(optimum, expected):
    assert loss(AVERAGE, optimum, el.Reward(lambda *_: 0.0, -2.0, 2.0)) == pytest.approx(expected, abs=1e-11)


def entered(out, **changes):
    document = {"steps": 300, "runs": 3, "seed": 5, "agent": [{"name": "always", "label": "random"}]}
    spec = read_spec({**document, **changes})
    losses = {"random": Losses()}
    add_losses(Experiment(execute(spec, out).path).recorded, rewards_by_task(spec), losses)
    return losses["random"]


def test_with_a_model_it_is_relative_regret_as_an_experiment_has_it(tmp_path):
    losses = entered(tmp_path, task=[{"name": world, "label": "w"}])
    (row,) = Experiment(tmp_path).table(["relative regret"])
    assert losses.units["w"].mean() == pytest.approx(row["mean"], rel=1e-12)
    assert losses.runs == 3


def test_without_a_model_it_is_what_is_short_of_the_highest_reward(tmp_path):
    task = pendulum()
    losses = entered(tmp_path, task=[task])
    reward = task.finish().reward
    result = el.run(task, "always", steps=300, runs=3, seed=5)
    expected = (reward.high - result.total_reward[:, -1] / 300) / (reward.high - reward.low)
    (units,) = losses.units.values()
    assert units.tolist() == expected.tolist()


def test_members_of_a_family_are_units_and_values_of_a_grid_are_tasks(tmp_path):
    task = {"name": world, "label": "w", "parameters": {"states": [3, 4]}, "family": {"instance": 5}}
    losses = entered(tmp_path, task=[task])
    assert {name: units.size for name, units in losses.units.items()} == {"w (states=3)": 5, "w (states=4)": 5}
    rows = Experiment(tmp_path).table(["relative regret"])
    means = [units.mean() for units in losses.units.values()]
    assert means == pytest.approx([row["mean"] for row in rows], rel=1e-12)
