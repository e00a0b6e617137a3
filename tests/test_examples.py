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


def shrunk(text: str) -> str:
    """A spec with fewer and shorter runs, on fewer members of a family."""
    for key, value in (("steps", SMALL), ("runs", "2"), (r"family\.\w+", "2")):
        text = re.sub(f"^({key}) = .*$", rf"\1 = {value}", text, flags=re.MULTILINE)
    return text


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_runs_as_an_experiment(example, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in EXAMPLES.glob("*.py"):
        shutil.copy(module, tmp_path)
    path = tmp_path / example.name
    path.write_text(shrunk(example.read_text()))
    spec = load_spec(path)
    assert (spec.name, spec.steps, spec.runs) == (example.stem, int(SMALL), 2)
    experiment = el.Experiment(execute(spec, tmp_path / "out").path)
    assert experiment.status["complete"]
    assert {row["units"] for row in experiment.table()} == {2}
    assert "mean" in str(experiment.table(["final"]))


def test_every_example_of_an_experiment_says_how_to_run_it():
    for example in EXAMPLES.glob("*.toml"):
        assert f"everlearn experiment run examples/{example.name} --out {example.stem}" in example.read_text()
