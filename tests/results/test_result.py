"""Results: curves, their uncertainty, and what JSON keeps of them."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

import everlearn as el

TOTALS = np.array([[1.0, 2.0, 8.0], [0.0, 4.0, 4.0], [1.0, 0.0, 12.0]])


def result(**changes) -> el.Result:
    base = el.run("service-station", "always", steps=1, engine="reference")
    given = {"times": np.array([1, 2, 8]), "total_reward": TOTALS, "runs": 3, "steps": 8, "seconds": 0.5} | changes
    return dataclasses.replace(base, **given)


def test_curves_by_hand():
    found = result()
    assert found.per_run.tolist() == [[1, 1, 1], [0, 2, 0.5], [1, 0, 1.5]]
    assert found.average_reward.tolist() == pytest.approx([2 / 3, 1, 1])
    assert found.standard_error.tolist() == pytest.approx([1 / 3, 1 / math.sqrt(3), 0.5 / math.sqrt(3)])


def test_the_end_by_hand():
    assert result().final == pytest.approx({"mean": 1, "standard_error": 0.5 / math.sqrt(3), "min": 0.5, "max": 1.5})


def test_speed_by_hand():
    assert result().steps_per_second == 48


def test_one_run_has_no_standard_error():
    one = result(total_reward=TOTALS[:1], runs=1)
    assert np.isnan(one.standard_error).all()
    assert one.to_dict()["standard_error"] == [None, None, None]
    assert one.to_dict()["final"]["standard_error"] is None


def test_json_keeps_everything():
    document = json.loads(json.dumps(result().to_dict(), allow_nan=False))
    assert document["times"] == [1, 2, 8]
    assert document["average_reward"] == result().average_reward.tolist()
    assert document["final"] == result().final
    assert document["steps_per_second"] == 48


def test_a_result_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        result().seed = 3
