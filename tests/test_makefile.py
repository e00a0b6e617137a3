"""The Makefile, where it can be tried without building anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    called = ["make", "--no-print-directory", *arguments]  # which it would print where make itself runs the tests
    return subprocess.run(called, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def old_python(tmp_path: Path) -> Path:
    """An interpreter that says it is too old."""
    script = tmp_path / "python-of-old"
    script.write_text('#!/bin/sh\ncase "$1" in --version) echo "Python 3.8.1" ;; *) exit 1 ;; esac\n')
    script.chmod(0o755)
    return script


def test_an_old_python_is_told_what_is_needed(old_python):
    done = make("python", f"PYTHON={old_python}")
    assert done.returncode != 0
    assert "everlearn needs Python 3.11 or later" in done.stderr
    assert "Python 3.8.1" in done.stderr
    assert "PYTHON=/path/to/python3.11" in done.stderr


def test_a_missing_python_is_told_what_is_needed(tmp_path):
    done = make("python", f"PYTHON={tmp_path / 'none'}")
    assert done.returncode != 0
    assert "everlearn needs Python 3.11 or later" in done.stderr


def test_a_browser_that_is_missing_is_said_aloud_and_stops_nothing(tmp_path):
    """With nothing on the path but what the recipe itself needs, and nobody who may install anything."""
    for name, script in (("id", "echo 1000"), ("sh", 'exec /bin/sh "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    program = shutil.which("make")
    assert program is not None
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run(
        [program, "chromium"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert "the page will NOT be tested in a browser" in done.stderr


def test_a_browser_that_is_there_is_found():
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium here")
    done = make("chromium")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_this_python_will_do():
    assert make("python", f"PYTHON={sys.executable}").returncode == 0


def test_help_is_what_make_says_by_itself():
    done = make()
    assert all(f"make {target}" in done.stdout for target in ("reproduce", "test", "soak", "docs"))
