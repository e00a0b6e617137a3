"""An experiment that was done: tables, comparisons, figures, and what it takes to open it."""

from __future__ import annotations

import csv
import gc
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.engine.plan import Plan
from everlearn.engine.reference import ReferenceBatch
from everlearn.errors import Damaged, InputError, NoExperiment, StoreError, UnknownName
from everlearn.experiments import cells
from everlearn.experiments.execute import Shard, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.variants import MOST_RUNS
from everlearn.theory.optimum import optimum
from everlearn.theory.pairs import tabulate
from tests.experiments.small import RANDOM, SMOOTH, STATION, Counting, described, interrupted, world
from tests.refusal import has, refusal
from tests.worlds import corridor, pendulum, shop

MINE = """
import everlearn as el
from everlearn.agents.always import always

def task():
    return el.mdp([[[0.5, 0.5], [0.5, 0.5]]] * 2, [[0, 0], [1, 1]], reward_range=(0, 1))
"""


@pytest.fixture(scope="module")
def experiment(tmp_path_factory) -> Experiment:
    """Two agents on the station and on a world."""
    path = tmp_path_factory.mktemp("experiment")
    return Experiment(execute(described(task=[STATION, {"name": world}], name="two by two"), path).path)


@pytest.fixture(scope="module")
def family(tmp_path_factory) -> Experiment:
    """Two agents on three members of a family."""
    task = {"name": world, "family": {"instance": 3}}
    return Experiment(execute(described(task=task, runs=2), tmp_path_factory.mktemp("family")).path)


def test_a_row_for_each_task_agent_and_measure(experiment):
    rows = experiment.table(["final", "regret"])
    assert [(row["task"], row["agent"], row["measure"]) for row in rows] == [
        (task, agent, measure)
        for task in ("service-station", "world")
        for agent in ("smooth", "random")
        for measure in ("final", "regret")
    ]
    assert {row["units"] for row in rows} == {4}


def test_the_table_agrees_with_the_runs(experiment):
    alone = el.run("service-station", schedule="smooth", parameters={"task.window": 2}, steps=300, runs=4, seed=1)
    (row,) = [
        row for row in experiment.table(["final"]) if (row["task"], row["agent"]) == ("service-station", "smooth")
    ]
    assert row["mean"] == pytest.approx(alone.final["mean"])
    assert row["low"] <= row["mean"] <= row["high"]


def test_more_confidence_is_wider(experiment):
    narrow, wide = (experiment.table(["final"], confidence=confidence)[0] for confidence in (0.5, 0.99))
    assert wide["low"] <= narrow["low"] <= narrow["high"] <= wide["high"]


def test_a_table_prints_as_one(experiment):
    lines = str(experiment.table(["final"])).splitlines()
    assert lines[0].split()[:2] == ["task", "agent"]
    assert len(lines) == 5


def test_regret_over_time(experiment):
    rows = experiment.regret()
    assert {row["time"] for row in rows} >= {300}
    (last,) = [row for row in rows if (row["task"], row["agent"], row["time"]) == ("service-station", "smooth", 300)]
    rewards = experiment.arms[0].total_reward[:, -1]
    assert last["mean"] == pytest.approx(0.5 * 300 - rewards.mean())


def test_agents_are_compared_in_pairs(experiment):
    station, other = experiment.compare()
    assert (station.task, station.agent, station.against, station.units) == ("service-station", "random", "smooth", 4)
    smooth, random = (arm.average_reward[:, -1] for arm in experiment.arms[:2])
    assert station.difference == pytest.approx((random - smooth).mean())
    assert other.task == "world"
    assert [one.against for one in experiment.compare("regret", against="random")] == ["random", "random"]


def test_all_pairs_are_compared_on_request(experiment):
    assert [(one.agent, one.against) for one in experiment.compare(all_pairs=True)] == [("random", "smooth")] * 2
    with pytest.raises(InputError):
        experiment.compare(against="smooth", all_pairs=True)


def test_a_notebook_shows_the_table(experiment):
    html = experiment._repr_html_()
    assert html.count("<tr>") == 5
    assert "service-station: optimum over all policies 0.5, best over aleatoric states" in html


def test_what_the_best_policies_earn_is_known(experiment):
    station, world = experiment.results[0], experiment.results[2]
    assert station.references["optimum"] == 0.5
    assert station.references["best over aleatoric states"] == pytest.approx(0.5)
    assert world.references["best_aleatoric"] == pytest.approx(world.references["optimum"])


def test_comparisons_of_what_is_not_there(experiment):
    with pytest.raises(UnknownName):
        experiment.compare(against="smoth")
    with pytest.raises(InputError, check=refusal("measure", "best")):
        experiment.compare("best")


@pytest.mark.soak
def test_figures(experiment, tmp_path):
    paths = experiment.plot(tmp_path / "figures", formats=["svg"])
    assert [path.name for path in paths] == ["average-reward.svg", "regret.svg"]
    assert all(path.stat().st_size for path in paths)


@pytest.mark.soak
def test_figures_of_a_sweep_lie_beside_the_cells(tmp_path):
    agent = {"name": "growing-horizon", "schedule_parameters": {"horizon_scale": [1.5, 3]}}
    swept = el.experiment(world, agent, steps=50, runs=2, out=tmp_path)
    paths = swept.plot(formats=["png"])
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "figures/average-reward.png",
        "figures/regret.png",
        "figures/sweep-final.png",
    ]


def test_figures_of_a_kind_that_nobody_draws(experiment, tmp_path):
    with pytest.raises(InputError, check=refusal("format", "gif")):
        experiment.plot(tmp_path / "figures", formats=["png", "gif"])
    assert not (tmp_path / "figures").exists()


def test_export(experiment, tmp_path):
    assert experiment.export() == experiment.directory.path / "runs.parquet"
    assert not experiment.status["altered_tables"]
    path = experiment.export("csv", tmp_path / "deep" / "runs.csv")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == experiment.to_arrow().num_rows
    with pytest.raises(InputError, check=refusal("format", "xlsx")):
        experiment.export("xlsx")


def test_the_stored_table_is_what_arrow_gets(experiment):
    stored = pyarrow.parquet.read_table(experiment.directory.path / "runs.parquet")
    assert stored.equals(experiment.to_arrow())
    assert stored.num_rows == 4 * 4 * experiment.arms[0].times.size


def test_the_stored_summary_is_the_table(experiment):
    stored = pyarrow.parquet.read_table(experiment.directory.path / "summary.parquet").to_pylist()
    rows = [{key: value for key, value in row.items() if key != "settings"} for row in experiment.table()]
    assert stored == rows


def test_results_are_those_of_run(experiment):
    found = experiment.results[0]
    alone = el.run("service-station", schedule="smooth", parameters={"task.window": 2}, steps=300, runs=4, seed=1)
    assert found.total_reward.tolist() == alone.total_reward.tolist()
    assert found.policies.tolist() == alone.policies.tolist()
    measured = {"seconds", "steps_per_second", "pairs"}
    one, other = found.to_dict(), alone.to_dict()
    assert {key: one[key] for key in one.keys() - measured} == {key: other[key] for key in other.keys() - measured}
    assert len(experiment.results) == 4


def test_status(experiment):
    status = experiment.status
    assert (status["name"], status["complete"]) == ("two by two", True)
    assert (status["cells"], status["cells_done"], status["cells_begun"]) == (4, 4, 0)
    assert status["steps"] == status["steps_done"] == 4 * 4 * 300
    assert status["damaged"] == status["altered_tables"] == []
    assert json.loads(json.dumps(status)) == status


def test_status_of_what_is_under_way(tmp_path):
    watcher = interrupted(described(steps=4000), tmp_path, 1)
    status = Experiment(tmp_path).status
    assert (status["complete"], status["cells_done"]) == (False, 0)
    assert status["steps_done"] == watcher.taken > 0
    assert status["cells_begun"] > 0
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=tmp_path)):
        Experiment(tmp_path).table()


def test_a_damaged_cell_is_told_by_status_and_refused_by_the_table(tmp_path):
    execute(described(), tmp_path)
    victim = next((tmp_path / "cells").glob("*.npz"))
    victim.write_bytes(victim.read_bytes()[:-100])
    (message,) = Experiment(tmp_path).status["damaged"]
    assert message.startswith(f"{victim}: is damaged (")
    with pytest.raises(Damaged, check=has(path=victim)):
        Experiment(tmp_path).table()


def test_pairs_are_runs_with_the_same_random_numbers_though_some_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "BLOCK", 2)
    spec = described(agent=[SMOOTH, {**SMOOTH, "label": "points", "schedule": "change-points"}])
    execute(spec, tmp_path / "whole")
    execute(spec, tmp_path / "part", shard=Shard(1, 3))
    execute(spec, tmp_path / "part", shard=Shard(2, 3))
    part, whole = Experiment(tmp_path / "part"), Experiment(tmp_path / "whole")
    assert [arm.numbers.tolist() for arm in part.recorded] == [[0, 1, 2, 3], [2, 3]]
    smooth, points = (arm.average_reward[2:, -1] for arm in whole.arms)
    (found,) = part.compare()
    assert found.units == 2
    assert found.difference == pytest.approx((points - smooth).mean())


@pytest.mark.soak
def test_nothing_is_needed_to_open_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "gone_by_then.py"
    module.write_text(MINE)
    names = ("gone_by_then:task", "gone_by_then:always")
    before = el.experiment(*names, steps=50, runs=3, out=tmp_path / "out").table()
    module.unlink()
    sys.modules.pop("gone_by_then")
    again = el.Experiment(tmp_path / "out")
    assert again.table() == before
    assert again.status["complete"]
    assert again.plot(formats=["svg"])
    assert again.export("csv").exists()


@pytest.mark.parametrize("name", ["", "none"], ids=["empty", "missing"])
def test_there_is_no_experiment(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(NoExperiment, check=has(path=path)):
        el.Experiment(path)


def test_a_file_is_no_experiment(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=path)):
        el.Experiment(path)


def test_what_is_replicated_in_a_family_is_the_member(family):
    assert [(arm.agent, arm.unit, arm.units) for arm in family.arms] == [
        ("smooth", "member", 3),
        ("random", "member", 3),
    ]
    assert {row["units"] for row in family.table()} == {3}
    assert {one.units for one in family.compare()} == {3}


def by_hand(member: int) -> np.ndarray:
    """What the two runs of a member earned on average; each member has random numbers of its own."""
    plan = Plan(world(instance=member), make_design("growing-horizon", schedule="smooth"), 300, 2, 1)
    batch = ReferenceBatch(plan, [member * MOST_RUNS + run for run in range(2)])
    for _ in batch.advance():
        pass
    return batch.curves.total_reward.mean(axis=0)


def test_a_family_by_hand(family):
    best = [optimum(tabulate(world(instance=member))).average_reward for member in range(3)]
    totals = np.array([by_hand(member) for member in range(3)])
    arm = family.arms[0]
    assert arm.optimum == pytest.approx(best)
    assert arm.total_reward == pytest.approx(totals)
    assert arm.regret == pytest.approx(np.array(best)[:, None] * arm.times - totals)
    (row,) = [row for row in family.table(["regret"]) if row["agent"] == "smooth"]
    assert row["mean"] == pytest.approx((np.array(best) * 300 - totals[:, -1]).mean())


def test_members_of_a_family_see_random_numbers_of_their_own():
    task = {"name": world, "family": {"bonus": [0.0, 0.5]}}
    one, other = el.experiment(task, "always", steps=50, runs=2).recorded
    assert not np.allclose(one.total_reward + 0.5 * one.times, other.total_reward)


def test_members_stand_in_the_table_of_runs(family):
    found = family.to_arrow()
    assert found["member"].unique().to_pylist() == [0, 1, 2]
    assert found["run"].unique().to_pylist() == [0, 1]


@pytest.mark.parametrize(
    ("tasks", "agents", "labels"),
    [
        ("service-station", "always", [("service-station", "always")]),
        (STATION, [SMOOTH, RANDOM], [("service-station", "smooth"), ("service-station", "random")]),
        (world, make_design("always"), [("world", "always")]),
        ((corridor(), world()), RANDOM, [("corridor", "random"), ("world", "random")]),
        (
            {"name": corridor(), "label": "hall"},
            {"name": make_design("always"), "label": "x"},
            [("hall", "x")],
        ),
    ],
    ids=["names", "mappings", "factory and design", "tasks", "thing in a mapping"],
)
def test_compare_takes_whatever_there_is(interpreted, tasks, agents, labels):
    found = el.experiment(tasks, agents, steps=20, runs=2)
    assert [(arm.task, arm.agent) for arm in found.arms] == labels


def test_a_definition_is_called_by_its_name(interpreted):
    assert [arm.task for arm in el.experiment(shop(), "always", steps=20).arms] == ["serve"]
    assert [arm.task for arm in el.experiment(pendulum(), "always", steps=20).arms] == ["pendulum"]


def test_a_grid_of_things_is_as_many_arms():
    schedules = [el.Schedule(lambda t, h=h: h, lambda t: 0.1, lambda t: 0.0, lambda t: 1.0) for h in (3.0, 9.0)]
    found = el.experiment(world, {"name": "growing-horizon", "schedule": schedules}, steps=50, runs=2)
    assert len(found.arms) == 2


def test_compare_takes_the_keys_of_a_spec():
    found = el.experiment(world, "always", steps=100, name="mine", recording={"per_decade": 2}, engine="reference")
    assert found.manifest["name"] == "mine"
    assert found.arms[0].times.tolist() == [1, 3, 10, 32, 100]
    with pytest.raises(UnknownName, check=refusal("key", "step")):
        el.experiment(world, "always", step=100)


def test_compare_goes_on_where_it_was(tmp_path):
    el.experiment(world, RANDOM, steps=100, out=tmp_path)
    watcher = Counting()
    el.experiment(world, [RANDOM, SMOOTH], steps=100, out=tmp_path, watcher=watcher)
    assert (watcher.cells, watcher.finished) == (2, 1)


def test_what_is_kept_nowhere_is_removed_when_it_is_forgotten():
    found = el.experiment(world, "always", steps=20)
    path = Path(found.directory.path)
    assert path.is_dir()
    del found
    gc.collect()
    assert not path.exists()


def test_what_is_kept_nowhere_is_removed_when_it_fails(tmp_path, monkeypatch, recwarn):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError, check=refusal("agent[1], agent", "alway")):
        el.experiment(world, "alway", steps=20)
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert [str(warning.message) for warning in recwarn] == []


def test_threads_are_checked_before_anything_is_done(tmp_path):
    with pytest.raises(InputError, check=refusal("threads", 0)):
        el.experiment(world, "always", steps=20, threads=0, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
