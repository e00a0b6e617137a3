"""Bringing together what was done apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from everlearn.errors import Held, NoExperiment, StoreError
from everlearn.experiments import cells
from everlearn.experiments.directory import Directory
from everlearn.experiments.execute import Shard, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.merge import merge
from everlearn.locks import working
from everlearn.results.store import DamageWarning
from tests.experiments.small import RANDOM, described, interrupted, made, tables
from tests.refusal import has


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(cells, "BLOCK", 2)


@pytest.fixture
def parts(tmp_path) -> list[Path]:
    """Two halves of an experiment."""
    found = [tmp_path / "first", tmp_path / "second"]
    for number, path in enumerate(found, start=1):
        execute(described(), path, shard=Shard(number, 2))
    return found


@pytest.fixture
def whole(tmp_path) -> dict[str, bytes]:
    return made(described(), tmp_path / "whole")


def cell_files(path: Path) -> list[Path]:
    return sorted((path / "cells").glob("*.npz"))


def test_into_another_directory(parts, whole, tmp_path):
    before = [len(cell_files(part)) for part in parts]
    assert tables(merge(parts, tmp_path / "out").path) == whole
    assert [len(cell_files(part)) for part in parts] == before == [2, 2]
    assert Experiment(tmp_path / "out").status["complete"]


def test_into_the_first(parts, whole):
    assert merge(parts).path == parts[0]
    assert tables(parts[0]) == whole


def test_the_same_again(parts, whole, tmp_path):
    for _ in range(2):
        merge([*parts, parts[0]], tmp_path / "out")
    assert tables(tmp_path / "out") == whole


def test_one_by_one(parts, whole, tmp_path):
    for part in parts:
        merge([part], tmp_path / "out")
    assert tables(tmp_path / "out") == whole


def test_of_one_directory(parts, tmp_path):
    merge(parts[:1], tmp_path / "out")
    assert Experiment(tmp_path / "out").status["cells_done"] == 2


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("steps", {"steps": 301}),
        pytest.param("runs", {"runs": 3}, marks=pytest.mark.soak),
        ("seed", {"seed": 5}),
        pytest.param("per_decade", {"recording": {"per_decade": 3}}, marks=pytest.mark.soak),
        ("spec", {"agent": [RANDOM]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_experiment_is_refused(parts, tmp_path, key, changes):
    other = tmp_path / "other"
    execute(described(**changes), other)
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=other)) as caught:
        merge([parts[0], other], tmp_path / "out")
    assert f"its {key} " in caught.value.problem
    assert not (tmp_path / "out").exists()


def test_into_another_experiment_is_refused(parts, tmp_path):
    execute(described(seed=5), tmp_path / "out")
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=tmp_path / "out")):
        merge(parts, tmp_path / "out")


def test_other_arithmetic_is_refused(parts):
    manifest = Directory(parts[1]).read_manifest()
    Directory(parts[1]).write_manifest({**manifest, "provenance": {**manifest["provenance"], "arithmetic": "other"}})
    with pytest.raises(StoreError, check=has(__class__=StoreError, path=parts[1])) as caught:
        merge(parts)
    assert "arithmetic" in caught.value.problem


def test_what_is_no_experiment_is_refused(parts, tmp_path):
    with pytest.raises(NoExperiment, check=has(path=tmp_path / "nowhere")):
        merge([*parts, tmp_path / "nowhere"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("order", [1, -1], ids=["further last", "further first"])
def test_of_two_cells_the_one_that_came_further_is_kept(tmp_path, order):
    spec, paths = described(steps=4000), [tmp_path / "begun", tmp_path / "further"]
    interrupted(spec, paths[0], 1)
    expected = made(spec, paths[1])
    assert tables(merge(paths[::order], tmp_path / "out").path) == expected
    assert tables(merge(paths).path) == expected


def test_what_was_begun_apart_is_gone_on_with(tmp_path):
    spec = described(steps=4000)
    interrupted(spec, tmp_path / "begun", 1)
    merge([tmp_path / "begun"], tmp_path / "out")
    assert 0 < Experiment(tmp_path / "out").status["steps_done"] < 8 * 4000
    assert made(spec, tmp_path / "out") == made(spec, tmp_path / "whole")


def test_a_damaged_cell_is_named_and_left_out(parts, tmp_path):
    victim = cell_files(parts[1])[0]
    victim.write_bytes(b"torn")
    with pytest.warns(DamageWarning) as caught:
        merge(parts, tmp_path / "out")
    assert {warning.message.path for warning in caught} == {victim}
    assert Experiment(tmp_path / "out").status["cells_done"] == 3


def test_a_damaged_cell_is_replaced_by_a_whole_one(parts, whole, tmp_path):
    merge(parts, tmp_path / "out")
    cell_files(tmp_path / "out")[0].write_bytes(b"torn")
    assert tables(merge(parts, tmp_path / "out").path) == whole


def test_a_damaged_cell_of_the_first_is_named_and_left_where_it_is(parts):
    victim = cell_files(parts[0])[0]
    victim.write_bytes(b"torn")
    with pytest.warns(DamageWarning) as caught:
        merge(parts)
    assert {warning.message.path for warning in caught} == {victim}
    assert Experiment(parts[0]).status["cells_done"] == 3


def test_the_time_that_was_worked_is_added_up(parts, tmp_path):
    seconds = [Directory(part).read_manifest()["seconds"] for part in parts]
    assert merge(parts, tmp_path / "out").read_manifest()["seconds"] == pytest.approx(sum(seconds))
    assert merge(parts).read_manifest()["seconds"] == pytest.approx(sum(seconds))


def test_a_directory_in_which_somebody_works_is_left_alone(parts, tmp_path):
    with working(tmp_path / "out"), pytest.raises(Held, check=has(path=tmp_path / "out")):
        merge(parts, tmp_path / "out")
