"""Every example runs as a script, from anywhere, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import everlearn as el
from everlearn.experiments.execute import execute
from everlearn.experiments.spec import load_spec
from everlearn.experiments.variants import make_variants

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = "100"
"""Steps; each example takes them as its first argument."""
LONG = ["changing", "cliff_walking", "frozen_lake", "random_worlds", "taxi", "tune_cafe"]
"""Examples that do what others or pages do, and take longer; they are left to the soak."""


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES.glob("*.py")} >= {"own_task", "unknown_dynamics", "drive"}


@pytest.fixture
def script(tmp_path, monkeypatch, capsys):
    """Run a script in this process, in an empty directory, and return what it prints; warnings are errors here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])

    def run(example: Path) -> str:
        monkeypatch.setattr(sys, "argv", [str(example), SMALL])
        runpy.run_path(str(example), run_name="__main__")
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.soak] * (path.stem in LONG))
        for path in sorted(EXAMPLES.glob("*.py"))
    ],
)
def test_runs_as_a_script(example, tmp_path, script):
    assert script(example)
    assert not list(tmp_path.iterdir())


def test_a_task_is_found_by_name_where_it_lies():
    """In a process of its own, as a user runs it: nothing of this one helps it to find the module."""
    command = "from everlearn.cli.main import main; main()"
    arguments = [sys.executable, "-c", command, "run", "unknown_dynamics:Machine", "--steps", SMALL]
    environment = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONPATH": str(EXAMPLES.parent / "src")}
    done = subprocess.run(arguments, cwd=EXAMPLES, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "unknown_dynamics:Machine" in done.stdout


SEARCHES = sorted(EXAMPLES.glob("tune_*.toml"))
EXPERIMENTS = sorted(set(EXAMPLES.glob("*.toml")) - set(SEARCHES))


def put(text: str, **values: str) -> str:
    """Return a spec with other values of some keys."""
    for key, value in values.items():
        text = re.sub(rf"^({key}) = .*$", rf"\1 = {value}", text, flags=re.MULTILINE)
    return text


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Writes a smaller spec, beside the modules of the examples."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in EXAMPLES.glob("*.py"):
        shutil.copy(module, tmp_path)
        monkeypatch.delitem(sys.modules, module.stem, raising=False)  # another test may have imported it from elsewhere

    def write(example, text):
        path = tmp_path / example.name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    "example",
    [pytest.param(path, marks=[pytest.mark.soak] * (path.stem != "station"), id=path.stem) for path in EXPERIMENTS],
)
def test_runs_as_an_experiment(example, tmp_path, small):
    text = put(example.read_text(), steps=SMALL, runs="2", **{r"family\.\w+": "2"})
    spec = load_spec(small(example, text))
    assert (spec.name, spec.steps, spec.runs) == (example.stem, int(SMALL), 2)
    assert len(list(make_variants(spec))) >= len(spec.tasks) * len(spec.agents)  # all of them can be made; some are run
    few = replace(spec, tasks=spec.tasks[:2], agents=spec.agents[:3])
    experiment = el.Experiment(execute(few, tmp_path / "out").path)
    assert experiment.status["complete"]
    assert {row["units"] for row in experiment.table()} == {2}
    assert "mean" in str(experiment.table(["final"]))


@pytest.mark.soak
@pytest.mark.parametrize("example", SEARCHES, ids=lambda path: path.stem)
def test_a_search_pays(example, tmp_path, small):
    """A tenth of the steps and of the candidates are enough to lose less than two thirds of what the default loses."""
    text = put(example.read_text(), steps="1e4", candidates="12", final_runs="10")
    tuned = el.tune(small(example, text), out=tmp_path / "out")
    assert (tmp_path / "out" / "tuned.toml").exists()
    assert tuned.improvement.low > 0
    assert tuned.score.mean < 2 / 3 * tuned.default_score.mean


def test_every_example_of_a_search_says_how_to_run_it():
    assert SEARCHES
    for example in SEARCHES:
        assert f"everlearn tune examples/{example.name} --out {example.stem}" in example.read_text()


def test_every_example_of_an_experiment_says_how_to_run_it():
    for example in EXPERIMENTS:
        assert f"everlearn experiment run examples/{example.name} --out {example.stem}" in example.read_text()
