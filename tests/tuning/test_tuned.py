"""What a search leaves behind: the agent, ready to be used; everything tried; a picture."""

from __future__ import annotations

import gc
import tomllib
from pathlib import Path

import numpy as np
import pytest

import everlearn as el
from everlearn.errors import Held, InputError
from everlearn.experiments.spec import read_spec
from everlearn.locks import working
from everlearn.tuning.snippet import toml
from tests.experiments.small import world
from tests.refusal import has, refusal

DOCUMENT = {
    "steps": 200,
    "runs": 2,
    "candidates": 5,
    "final_runs": 4,
    "seed": 1,
    "task": [{"name": world, "label": "one"}, {"name": world, "parameters": {"instance": 3}, "label": "other"}],
    "agent": {"name": "growing-horizon", "schedule": "smooth", "schedule_parameters": {"horizon_power": 0.3}},
    "search": {"schedule": {"horizon_scale": {"low": 1, "high": 9, "scale": "log"}, "optimism_scale": [0.01, 0.02]}},
}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    return el.tune(DOCUMENT, out=tmp_path_factory.mktemp("tuned"))


def test_the_snippet_is_an_agent_of_a_spec(tuned):
    document = tomllib.loads((tuned.path / "tuned.toml").read_text())
    (entry,) = read_spec({"steps": 10, "task": "riverswim", **document}).agents
    assert (entry.given, entry.label, entry.schedules) == ("growing-horizon", "tuned", ["smooth"])
    expected = {"schedule.horizon_power": 0.3, **tuned.best.settings}
    assert {f"schedule.{name}": values[0] for name, values in entry.schedule_parameters.items()} == expected


def test_the_agent_can_be_compared(tuned):
    experiment = el.experiment(world(), ["growing-horizon", tuned.agent], steps=50, runs=2)
    assert [arm.agent for arm in experiment.arms] == ["growing-horizon, practical", "tuned"]


@pytest.mark.parametrize("value", ['a "b" \\ c\n', 1e-05, 3, True, [1, ["x", 2.5]], {"a b": {"c": 1}}, -0.0])
def test_toml_gives_back_what_was_written(value):
    assert tomllib.loads(f"x = {toml(value)}") == {"x": value}


def test_everything_tried_is_in_the_table(tuned):
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(tuned.path / "tried.parquet").to_pylist()
    assert len(rows) == len(tuned.tried()) == 3 * len(tuned.standings)
    first = [row for row in rows if row["rung"] == 1 and row["task"] == "all tasks"]
    assert sorted(row["candidate"] for row in first) == [1, 2, 3, 4, 5, 6]
    assert [row["score"] for row in first] == sorted(row["score"] for row in first)
    assert [row["kept"] for row in first] == [True, True, False, False, False, False]
    assert {"schedule.horizon_scale", "schedule.optimism_scale", "runs", "low", "high"} < set(rows[0])
    for row in first:
        each = [one["score"] for one in rows if (one["candidate"], one["rung"]) == (row["candidate"], 1)][:2]
        assert row["score"] == pytest.approx(np.mean(each))


def test_the_chosen_one_is_the_first_of_the_last_rung(tuned):
    last = [row for row in tuned.tried() if row["rung"] == tuned.rungs and row["task"] == "all tasks"]
    assert tuned.best.number == min(last, key=lambda row: row["score"])["candidate"]
    assert tuned.table()[0]["settings"] == tuned.best.settings
    assert tuned.improvement.mean == pytest.approx(tuned.default_score.mean - tuned.score.mean)


@pytest.mark.soak
def test_a_worst_task_may_choose_another(tuned, tmp_path):
    worst = el.tune({**DOCUMENT, "objective": "worst"}, out=tmp_path)
    first = [row for row in worst.tried() if row["rung"] == 1]
    for candidate in range(1, 7):
        *each, whole = [row["score"] for row in first if row["candidate"] == candidate]
        assert whole == max(each)


def test_the_picture_is_drawn_where_it_is_wanted(tuned, tmp_path):
    assert {path.name for path in tuned.path.glob("tried.*")} == {"tried.parquet", "tried.png", "tried.svg"}
    assert tuned.plot(tmp_path, formats=["pdf"]) == [tmp_path / "tried.pdf"]
    with pytest.raises(InputError, check=refusal("format", "gif")):
        tuned.plot(tmp_path, formats=["gif"])


@pytest.mark.soak
def test_without_a_directory_it_lives_as_long_as_the_object():
    found = el.tune({**DOCUMENT, "candidates": 1})
    path = Path(found.path)
    assert (path / "tuned.toml").exists()
    del found
    gc.collect()
    assert not path.exists()


def test_what_is_refused_leaves_nothing_behind(tmp_path):
    with pytest.raises(InputError):
        el.tune({**DOCUMENT, "search": {"schedule.horizon_scale": [0.1]}}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_do_not_search_in_one_directory(tmp_path):
    with working(tmp_path), pytest.raises(Held, check=has(path=tmp_path)):
        el.tune(DOCUMENT, out=tmp_path)
