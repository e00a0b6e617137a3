"""Results: curves, their uncertainty, and what JSON keeps of them."""

from __future__ import annotations

import dataclasses
import json
import math
import sys

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import InputError

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


def test_results_are_equal_by_what_they_hold():
    one, other = result(), result()
    assert one == other
    assert one == dataclasses.replace(other, seconds=9.0, references={"optimum": 3.0})
    assert one != "result"
    changes = {
        "times": np.array([1, 2, 9]),
        "total_reward": TOTALS + 1e-15,
        "policies": None,
        "seed": 1,
        "parameters": {"agent.policy": "fast"},
        "schedule": "smooth",
        "pairs": 3,
        "version": "0.0.0",
    }
    for name, value in changes.items():
        assert one != dataclasses.replace(other, **{name: value}), name


def test_what_is_not_a_number_is_equal_to_itself():
    assert result(total_reward=TOTALS * math.nan) == result(total_reward=TOTALS * math.nan)
    assert result(total_reward=TOTALS * math.nan) != result()


def test_the_same_run_is_equal_and_another_is_not():
    runs = [el.run("riverswim", steps=30, seed=seed, engine="reference") for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_a_data_frame_has_a_row_for_each_run_and_time():
    frame = result().to_pandas()
    assert list(frame.columns) == [
        "task",
        "agent",
        "run",
        "t",
        "total_reward",
        "average_reward",
        "regret",
        "regret_upper",
    ]
    assert frame[frame.run == 1].total_reward.tolist() == TOTALS[1].tolist()
    assert frame[frame.t == 8].average_reward.tolist() == [1, 0.5, 1.5]
    assert frame[frame.run == 0].regret.tolist() == [-0.5, -1, -4]
    assert frame.regret_upper.isna().all()  # the optimum is known exactly
    assert result(references={}).to_pandas().regret.isna().all()


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError):
        result().to_pandas()


def test_a_notebook_shows_a_table_and_a_picture():
    html = result(task="<b>shop</b>", references={"<i>": 0.5})._repr_html_()
    assert "&lt;b&gt;shop" in html
    assert "<b>" not in html
    assert "<td>&lt;i&gt;</td><td>0.5000</td>" in html
    assert "<td>1.0000</td><td>0.2887</td><td>0.5000</td><td>1.5000</td>" in html
    assert '<img src="data:image/png;base64,' in html


def test_a_result_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        result().seed = 3
