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


@pytest.fixture
def bare(tmp_path: Path):
    """Make a target with nothing on the path but a shell, and what is put there; return what came of it."""

    def run(target: str, **programs: str) -> subprocess.CompletedProcess[str]:
        for name, script in {"sh": 'exec /bin/sh "$@"', **programs}.items():
            path = tmp_path / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
        program = shutil.which("make")
        assert program is not None
        return subprocess.run(
            [program, target], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
        )

    return run


ANSWERS = {"id": "echo 0", "apt_get": 'echo "apt-get $@"'}
"""A system where everything may be installed."""


def test_a_browser_that_is_missing_is_said_aloud_and_stops_nothing(bare):
    done = bare("chromium", **ANSWERS)
    assert (done.returncode, done.stdout) == (0, "")
    assert "the page will NOT be tested in a browser. Install it with: make browser" in done.stderr


def test_testing_installs_no_system_packages():
    for target in ("test", "soak", "portable", "bench"):
        assert "apt-get" not in make("--dry-run", "--always-make", target).stdout


def test_a_browser_is_installed_where_that_is_asked_for_and_may_be_done(bare):
    done = bare("browser", **ANSWERS)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "apt-get -qq update",
        "apt-get -qq install --no-install-recommends chromium",
    ]


@pytest.mark.parametrize("programs", [{**ANSWERS, "id": "echo 1000"}, {"id": "echo 0"}], ids=["user", "no apt-get"])
def test_elsewhere_it_is_said_what_to_do(bare, programs):
    done = bare("browser", **programs)
    assert done.returncode != 0
    assert "apt-get -qq" not in done.stdout
    assert "Install it with your package manager" in done.stderr


@pytest.mark.parametrize("target", ["browser", "chromium"])
def test_a_browser_that_is_there_is_found(bare, target):
    done = bare(target, chromium="", **ANSWERS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_continuous_integration_has_a_browser():
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if not line.startswith("#")]
    assert commands[-3:] == ["export CI=true", "make browser", "make test"]


def test_parts_can_be_tested():
    assert " -m soak tests/engine" in make("--dry-run", "soak", "TESTS=tests/engine").stdout
    assert "-m tests.portable tests/theory" in make("--dry-run", "portable", "TESTS=tests/theory").stdout
    assert make("--dry-run", "soak").stdout.rstrip().endswith(" -m soak src tests")


def test_this_python_will_do():
    assert make("python", f"PYTHON={sys.executable}").returncode == 0


def test_help_is_what_make_says_by_itself():
    done = make()
    assert all(f"make {target}" in done.stdout for target in ("reproduce", "test", "soak", "portable", "browser"))
