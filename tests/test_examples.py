"""Every example runs as a script, from anywhere, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
