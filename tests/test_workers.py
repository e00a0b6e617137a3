"""Tests in several workers give what tests in one process give, and no test that was lost counts as passed."""

from __future__ import annotations

import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.workers import Controller

ROOT = Path(__file__).parents[1]
FIRST = """
import os

def test_passes(tmp_path, number):
    tmp_path.joinpath("made").touch()

def test_fails():
    print("what it printed")
    assert 1 == 2

def test_dies():
    if "DIES" in os.environ:
        os._exit(3)

def test_comes_after():
    pass
"""
SECOND = """
import pytest

def test_captures(capfd, number):
    print("captured")
    assert capfd.readouterr().out.startswith("captured")

@pytest.mark.skip(reason="not now")
def test_is_skipped():
    pass

@pytest.mark.xfail(reason="known")
def test_is_known_to_fail():
    assert False
"""
CONFTEST = """
import os, pathlib, pytest

@pytest.fixture(scope="session")
def number():
    yield 1
    pathlib.Path(__file__).with_name(f"torn-down-{os.getpid()}").touch()
"""


@pytest.fixture
def suite(tmp_path: Path):
    """Run a small suite; return its exit status, the last lines of what it printed, and all of it."""
    for name, text in {"test_first.py": FIRST, "test_second.py": SECOND, "conftest.py": CONFTEST}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --disable-plugin-autoload -p no:cacheprovider\n")

    def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "pytest", "-p", "tests.workers", "--rootdir", str(tmp_path), *arguments]
        done = subprocess.run(
            [*command, "-c", str(tmp_path / "pytest.ini"), f"--basetemp={tmp_path / 'temporary'}", str(tmp_path)],
            cwd=ROOT,
            env={"OPENBLAS_NUM_THREADS": "1", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()[-1].partition(" in ")[0].strip("= "), done.stdout

    return run


def test_two_workers_report_what_one_process_reports(suite, tmp_path):
    status, counts, printed = suite("--workers=2")
    assert (status, counts) == (1, "1 failed, 4 passed, 1 skipped, 1 xfailed")
    assert "assert 1 == 2" in printed
    assert "what it printed" in printed
    assert list(tmp_path.glob("torn-down-*"))  # fixtures of a session, once for each worker that had tests
    assert len(list(tmp_path.glob("temporary/worker*/test_passes0/made"))) == 1
    assert suite("--workers=1")[:2] == (status, counts)


def test_what_a_dead_worker_had_to_do_has_failed(suite):
    status, counts, printed = suite("--workers=2", DIES="yes")
    assert (status, counts) == (1, "3 failed, 2 passed, 1 skipped, 1 xfailed")
    assert printed.count("the worker that ran it died") >= 2
    assert "a worker ended with status 3" in printed


def test_the_first_failure_can_be_the_last(suite):
    status, _, printed = suite("--workers=2", "-x")
    assert status == 1
    assert "stopping after 1 failures" in printed


def test_a_failure_ends_the_other_worker_where_interrupts_are_ignored(tmp_path):
    """A shell lets what it runs in the background ignore them."""
    (tmp_path / "test_fails.py").write_text("def test_fails():\n    assert False\n")
    (tmp_path / "test_waits.py").write_text("import time\n\n\ndef test_waits():\n    time.sleep(600)\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --disable-plugin-autoload -p no:cacheprovider\n")
    command = ["-m", "pytest", "-p", "tests.workers", "--workers=2", "-x", "-c", str(tmp_path / "pytest.ini")]
    script = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    )
    arguments = [sys.executable, *command, f"--basetemp={tmp_path / 'temporary'}", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1
    assert "1 failed" in done.stdout


def test_a_file_stays_for_another_worker_if_the_one_that_asked_has_died(monkeypatch):
    ours, theirs = Pipe()
    theirs.send(None)
    theirs.close()
    controller = Controller(SimpleNamespace(config=None), [[]])
    controller.workers[ours], controller.assigned[ours] = 0, []
    monkeypatch.setattr("os.waitpid", lambda process, _options: (process, 0))
    controller.receive(ours)
    assert (controller.workers, controller.next_file, controller.errors) == ({}, 0, [])
