"""What can be seen of an experiment before it is finished."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.errors import NoExperiment, StoreError
from everlearn.experiments.following import Follower
from everlearn.results.arm import standard_error
from everlearn.results.store import Cells
from tests.refusal import has


@pytest.fixture
def folder(tmp_path):
    el.experiment("riverswim", ["always", "growing-horizon"], steps=500, runs=30, seed=1, out=tmp_path / "shop")
    return tmp_path / "shop"


def test_a_finished_experiment_is_seen_as_its_tables_have_it(folder):
    table = {row["agent"]: row for row in el.Experiment(folder).table(["final"])}
    table["always at random"] = table.pop("always")
    for arm in Follower(folder).look():
        assert (arm.state, arm.runs_done, arm.steps_done) == ("finished", 30, 15_000)
        assert arm.times[-1] == 500
        assert arm.mean[-1] == pytest.approx(table[arm.agent]["mean"])
        assert arm.low[-1] <= arm.mean[-1] <= arm.high[-1]
        assert arm.lines["optimum over all policies"] == pytest.approx(0.4286, abs=1e-4)


def test_what_is_not_there_yet_is_waited_for(folder):
    follower = Follower(folder)
    cells = [[cell["name"] for cell in entry["cells"]] for entry in follower.manifest["variants"]]
    follower.directory.cells.path(cells[0][1]).unlink()
    for name in cells[1]:
        follower.directory.cells.path(name).unlink()
    first, second = follower.look()
    assert (first.state, first.runs_begun, first.runs_done, first.runs) == ("begun", 25, 25, 30)
    assert (second.state, second.runs_begun, second.times, second.steps_done) == ("waiting", 0, [], 0)


def test_only_what_has_changed_is_read_again(folder, monkeypatch):
    follower, read = Follower(folder), []
    monkeypatch.setattr(Cells, "glance", lambda self, name, real=Cells.glance: read.append(name) or real(self, name))
    before = follower.look()
    assert len(read) == 4
    assert follower.look() == before
    assert len(read) == 4
    path = follower.directory.cells.path(read[0])
    path.write_bytes(path.read_bytes())
    assert follower.look() == before
    assert read[4:] == read[:1]


def test_a_damaged_cell_is_named_and_the_others_are_seen(folder):
    follower = Follower(folder)
    path = follower.directory.cells.path(follower.manifest["variants"][0]["cells"][1]["name"])
    path.write_bytes(path.read_bytes()[:100])
    assert follower.look()[0].runs_done == 25
    assert [str(path) in message for message in follower.damaged] == [True]


def test_the_interval_of_a_family_is_over_its_members(tmp_path):
    task = {"name": "garnet", "family": {"seed": 4}}
    experiment = el.experiment(task, ["always"], steps=20, runs=3, seed=1, out=tmp_path / "family")
    [family] = experiment.arms
    [arm] = Follower(tmp_path / "family").look()
    mean, error = family.average_reward.mean(axis=0), standard_error(family.average_reward)
    assert arm.mean == pytest.approx(mean)
    assert arm.high == pytest.approx(mean + 3.182 * error, rel=1e-3)  # Student's, of four members
    assert (arm.runs, arm.runs_done) == (12, 12)


def test_a_manifest_that_cannot_be_read_is_an_error_in_one_line(folder):
    follower = Follower(folder)
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=folder / "manifest.json")):
        follower.look()


def test_nothing_is_written(folder):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    Follower(folder).look()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_directory_without_an_experiment_is_refused(tmp_path):
    with pytest.raises(NoExperiment, check=has(path=tmp_path)):
        Follower(tmp_path)
