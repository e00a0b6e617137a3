"""Killed at any moment and begun again, an experiment comes to the same tables, to the last byte.

Here it is killed as it puts a file in its place, which is the same moment on every machine.  The soak kills commands
that were really started, at random times.
"""

from __future__ import annotations

import json
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from everlearn.cli.main import app
from everlearn.locks import working
from tests.killing import ended, killed

SPEC = """
steps = {steps}
runs = {runs}
seed = 3
[[task]]
name = "service-station"
parameters.window = 2
[[agent]]
name = "growing-horizon"
schedule = ["smooth", "change-points"]
[[agent]]
name = "gradient"
parameters.phase = 50
"""
TABLES = ("runs.parquet", "summary.parquet")
COMMAND = "from everlearn.cli.main import main; main()"


def tables(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in TABLES}


def finish(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["experiment", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def check_whole(directory: Path, expected: dict[str, bytes]) -> None:
    assert tables(directory) == expected
    assert not [path for path in directory.rglob(".*") if ".lock" not in path.name]
    status = json.loads(finish("status", str(directory), "--json"))
    assert status["complete"]
    assert status["damaged"] == status["altered_tables"] == []


class Case:
    """A spec, and the tables of an experiment that nothing disturbed."""

    def __init__(self, folder: Path, steps: int, runs: int) -> None:
        self.spec = folder / "spec.toml"
        self.spec.write_text(SPEC.format(steps=steps, runs=runs))
        began = time.monotonic()
        finish("run", str(self.spec), "--out", str(folder / "undisturbed"), "--threads", "1")
        self.seconds = time.monotonic() - began
        self.tables = tables(folder / "undisturbed")

    def run(self, directory: Path) -> list[str]:
        return ["experiment", "run", str(self.spec), "--out", str(directory)]


@pytest.fixture(scope="module")
def case(tmp_path_factory) -> Case:
    return Case(tmp_path_factory.mktemp("case"), steps=40_000, runs=20)


def test_killed_and_begun_again_is_the_same(case, runner, tmp_path):
    out = tmp_path / "out"
    killed(runner, tmp_path, [1, 3, 8, 13], *case.run(out))
    finish("run", str(case.spec), "--out", str(out))
    check_whole(out, case.tables)


@pytest.mark.soak
@pytest.mark.parametrize("moment", range(1, 25))
def test_killed_at_this_moment_is_the_same(case, runner, tmp_path, moment):
    out = tmp_path / "out"
    ended(runner, tmp_path, moment, signal.SIGKILL, *case.run(out))
    finish("run", str(case.spec), "--out", str(out))
    check_whole(out, case.tables)


@pytest.mark.parametrize(
    "by", [pytest.param(signal.SIGINT, marks=pytest.mark.soak), signal.SIGTERM], ids=["interrupted", "terminated"]
)
def test_asked_to_end_it_commits_says_so_and_goes_on(case, runner, tmp_path, by):
    out = tmp_path / "out"
    done = ended(runner, tmp_path, 3, by, *case.run(out), "--threads", "1")
    assert (done.status, done.stdout) == (130, "")
    assert done.stderr.startswith(f"everlearn: interrupted; what was done is kept in {out}")
    assert len(done.stderr.splitlines()) == 1
    status = json.loads(finish("status", str(out), "--json"))
    assert 0 < status["steps_done"] < status["steps"]
    finish("run", str(case.spec), "--out", str(out))
    assert tables(out) == case.tables


def test_a_second_process_is_told_and_harms_nothing(case, runner, tmp_path):
    out = tmp_path / "out"
    with working(out):
        second = runner(f"everlearn {shlex.join(case.run(out))}", tmp_path)
        assert second.status == 2
        assert second.stderr.startswith(f"everlearn: {out}: another process works there (process ")
    finish("run", str(case.spec), "--out", str(out))
    assert tables(out) == case.tables


def start(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-c", COMMAND, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed_after(seconds: float, *arguments: str) -> bool:
    """Start a command and kill it after so long; return whether it was still at work."""
    process = start(*arguments)
    clock = threading.Timer(seconds, process.kill)
    clock.start()
    process.communicate()
    clock.cancel()
    return process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def long(tmp_path_factory) -> Case:
    return Case(tmp_path_factory.mktemp("long"), steps=2_000_000, runs=60)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_killed_fifty_times_is_the_same(long, tmp_path, seed):
    out, moments = tmp_path / "out", random.Random(seed)
    for _ in range(5):
        killed_after(moments.uniform(0.2, 0.9) * long.seconds, *long.run(out))
    finish("run", str(long.spec), "--out", str(out))
    check_whole(out, long.tables)


@pytest.mark.soak
def test_extending_may_be_killed_too(long, tmp_path):
    short, out = tmp_path / "short.toml", tmp_path / "out"
    short.write_text(SPEC.format(steps=123_457, runs=60))
    finish("run", str(short), "--out", str(out))
    for seconds in (1.5, 2.0, 2.5, 3.0):
        killed_after(seconds, "experiment", "extend", str(out), "--steps", "2000000")
    finish("run", str(long.spec), "--out", str(out))
    assert tables(out) == long.tables
