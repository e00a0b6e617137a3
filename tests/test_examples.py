"""Every example runs as a script, from anywhere, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import everlearn as el
from everlearn.experiments.execute import execute
from everlearn.experiments.spec import load_spec

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = "300"
"""Steps; each example takes them as its first argument."""


def run(arguments, cwd):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES.glob("*.py")} >= {"own_task", "unknown_dynamics", "drive"}


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_runs_as_a_script(example, tmp_path):
    done = run([str(example), SMALL], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("task", ["own_task:shop", "unknown_dynamics:Machine"])
def test_is_found_by_name_where_it_lies(task):
    command = "from everlearn.cli.main import main; main()"
    done = run(["-c", command, "run", task, "--steps", SMALL], EXAMPLES)
    assert done.returncode == 0, done.stderr
    assert task in done.stdout


SEARCHES = sorted(EXAMPLES.glob("tune_*.toml"))
EXPERIMENTS = sorted(set(EXAMPLES.glob("*.toml")) - set(SEARCHES))


def shrunk(text: str) -> str:
    """A spec with fewer and shorter runs, on fewer members of a family, and fewer candidates."""
    small = (("steps", SMALL), ("runs", "2"), (r"family\.\w+", "2"), ("candidates", "5"), ("final_runs", "3"))
    for key, value in small:
        text = re.sub(f"^({key}) = .*$", rf"\1 = {value}", text, flags=re.MULTILINE)
    return text


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Writes a smaller spec, beside the modules of the examples."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in EXAMPLES.glob("*.py"):
        shutil.copy(module, tmp_path)

    def write(example, text):
        path = tmp_path / example.name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("example", EXPERIMENTS, ids=lambda path: path.stem)
def test_runs_as_an_experiment(example, tmp_path, small):
    spec = load_spec(small(example, shrunk(example.read_text())))
    assert (spec.name, spec.steps, spec.runs) == (example.stem, int(SMALL), 2)
    experiment = el.Experiment(execute(spec, tmp_path / "out").path)
    assert experiment.status["complete"]
    assert {row["units"] for row in experiment.table()} == {2}
    assert "mean" in str(experiment.table(["final"]))


@pytest.mark.parametrize("example", SEARCHES, ids=lambda path: path.stem)
def test_runs_as_a_search(example, tmp_path, small):
    tuned = el.tune(small(example, shrunk(example.read_text())), out=tmp_path / "out")
    assert tuned.spec.experiment.steps == int(SMALL)
    assert (tmp_path / "out" / "tuned.toml").exists()


def test_tuning_the_cafe_pays(tmp_path, small):
    """A tenth of the steps and of the candidates are enough to lose less than two thirds of what the default loses."""
    text = (EXAMPLES / "tune_cafe.toml").read_text()
    for key, value in (("steps", "1e4"), ("candidates", "12"), ("final_runs", "10")):
        text = re.sub(f"^({key}) = .*$", rf"\1 = {value}", text, flags=re.MULTILINE)
    tuned = el.tune(small(EXAMPLES / "tune_cafe.toml", text), out=tmp_path / "out")
    assert tuned.improvement.low > 0
    assert tuned.score.mean < 2 / 3 * tuned.default_score.mean


def test_every_example_of_a_search_says_how_to_run_it():
    assert SEARCHES
    for example in SEARCHES:
        assert f"everlearn tune examples/{example.name} --out {example.stem}" in example.read_text()


def test_every_example_of_an_experiment_says_how_to_run_it():
    for example in EXPERIMENTS:
        assert f"everlearn experiment run examples/{example.name} --out {example.stem}" in example.read_text()
