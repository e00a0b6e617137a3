"""Directories that an earlier everlearn wrote are still opened.

``python -m tests.experiments.test_schema`` writes one of the present schema; those that are there stay as they are.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest

import everlearn as el
from everlearn.experiments.directory import CELLS, MANIFEST, Directory
from everlearn.experiments.execute import execute
from everlearn.experiments.spec import Spec, read_spec
from everlearn.results.provenance import arithmetic
from everlearn.results.store import SCHEMA

FIXTURES = Path(__file__).parent / "fixtures"
SCHEMAS = sorted(path.name for path in FIXTURES.iterdir()) if FIXTURES.exists() else []


def spec_of_fixture() -> Spec:
    agents = [
        {"name": "growing-horizon", "schedule": "smooth", "label": "smooth"},
        {"name": "always", "label": "fast", "parameters": {"policy": "fast"}},
    ]
    task = {"name": "service-station"}
    return read_spec(
        {"name": "stored", "steps": 50, "runs": 2, "seed": 1, "engine": "compiled", "task": [task], "agent": agents}
    )


def write_fixture() -> None:
    target = FIXTURES / f"schema-{SCHEMA}"
    with tempfile.TemporaryDirectory() as folder:
        execute(spec_of_fixture(), folder)
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns(".*"))


@pytest.fixture(params=SCHEMAS)
def stored(request, tmp_path) -> Path:
    """A copy of a stored directory, as if it had been computed here."""
    path = tmp_path / "stored"
    shutil.copytree(FIXTURES / request.param, path)
    manifest = json.loads((path / MANIFEST).read_text())
    manifest["provenance"]["arithmetic"] = arithmetic()
    del manifest["sha256"]
    Directory(path).write_manifest(manifest)
    return path


def test_the_present_schema_is_stored():
    assert f"schema-{SCHEMA}" in SCHEMAS


def test_it_is_small():
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*")) < 100_000 * len(SCHEMAS)


def test_it_is_opened(stored):
    experiment = el.Experiment(stored)
    status = experiment.status
    assert (status["name"], status["complete"], status["cells_done"]) == ("stored", True, 2)
    assert status["damaged"] == status["altered_tables"] == []
    assert [arm.agent for arm in experiment.arms] == ["smooth", "fast"]


def test_its_tables_are_as_they_were(stored):
    experiment = el.Experiment(stored)
    final = {row["agent"]: row["mean"] for row in experiment.table(["final"])}
    assert final == {"smooth": pytest.approx(0.095), "fast": pytest.approx(0.51)}
    assert {row["units"] for row in experiment.table()} == {2}
    assert experiment.arms[1].regret[:, -1].tolist() == [-0.5, -0.5]
    assert experiment.results[0].policies.shape[0] == 2
    assert experiment.compare()[0].units == 2


def test_it_is_run_again(stored):
    before = el.Experiment(stored).arms
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        execute(spec_of_fixture(), stored)
    assert caught == []
    experiment = el.Experiment(stored)
    assert experiment.status["complete"]
    assert experiment.manifest["schema"] == SCHEMA
    assert [arm.total_reward.shape for arm in experiment.arms] == [arm.total_reward.shape for arm in before]


def test_every_file_of_it_is_needed(stored):
    assert {path.name for path in stored.iterdir()} == {MANIFEST, CELLS, "runs.parquet", "summary.parquet"}


if __name__ == "__main__":
    write_fixture()
