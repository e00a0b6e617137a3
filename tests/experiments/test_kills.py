"""Killed at any moment and begun again, an experiment comes to the same tables, to the last byte."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SPEC = """
steps = {steps}
runs = 60
seed = 3
[[task]]
name = "service-station"
[[agent]]
name = "growing-horizon"
schedule = ["smooth", "change-points"]
[[agent]]
name = "gradient"
parameters.phase = 50
"""
TABLES = ("runs.parquet", "summary.parquet")
COMMAND = "from everlearn.cli.main import main; main()"


def start(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-c", COMMAND, "experiment", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(*arguments: str) -> str:
    process = start(*arguments)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out


def tables(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def steps(request) -> int:
    return 2_000_000 if request.config.getoption("markexpr") == "soak" else 500_000


@pytest.fixture(scope="module")
def spec(tmp_path_factory, steps) -> Path:
    path = tmp_path_factory.mktemp("spec") / "spec.toml"
    path.write_text(SPEC.format(steps=steps))
    return path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, spec) -> tuple[dict[str, bytes], float]:
    directory = tmp_path_factory.mktemp("undisturbed")
    began = time.monotonic()
    finish("run", str(spec), "--out", str(directory), "--threads", "1")
    return tables(directory), time.monotonic() - began


def disturbed(spec: Path, directory: Path, kills: int, seconds: float, seed: int) -> int:
    """Kill the run so many times, each at a random moment of an undisturbed one; return how often it was in time."""
    moments, killed = random.Random(seed), 0
    for _ in range(kills):
        process = start("run", str(spec), "--out", str(directory))
        try:
            process.wait(timeout=moments.uniform(0.2, 0.9) * seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
    finish("run", str(spec), "--out", str(directory))
    return killed


def check(spec, undisturbed, directory, kills, seed):
    expected, seconds = undisturbed
    killed = disturbed(spec, directory, kills, seconds, seed)
    assert killed > 0
    assert tables(directory) == expected
    assert not [path for path in directory.rglob(".*") if ".lock" not in path.name]
    status = json.loads(finish("status", str(directory), "--json"))
    assert status["complete"]
    assert status["damaged"] == status["altered_tables"] == []


def test_killed_and_begun_again_is_the_same(spec, undisturbed, tmp_path):
    check(spec, undisturbed, tmp_path, kills=3, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_killed_fifty_times_is_the_same(spec, undisturbed, tmp_path, seed):
    check(spec, undisturbed, tmp_path, kills=5, seed=seed)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM], ids=["interrupted", "terminated"])
def test_asked_to_end_it_commits_says_so_and_goes_on(spec, undisturbed, tmp_path, by):
    process = start("run", str(spec), "--out", str(tmp_path), "--threads", "1")
    while not (tmp_path / "cells").exists():
        time.sleep(0.02)
    process.send_signal(by)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert out == ""
    assert errors == (
        f"everlearn: interrupted; what was done is kept in {tmp_path}, and the same command goes on from there\n"
    )
    status = json.loads(finish("status", str(tmp_path), "--json"))
    assert 0 < status["steps_done"] < status["steps"]
    finish("run", str(spec), "--out", str(tmp_path))
    assert tables(tmp_path) == undisturbed[0]


def test_a_second_process_is_told_and_harms_nothing(spec, undisturbed, tmp_path):
    first = start("run", str(spec), "--out", str(tmp_path), "--threads", "1")
    while not (tmp_path / "cells").exists():
        time.sleep(0.02)
    second = start("run", str(spec), "--out", str(tmp_path))
    _, errors = second.communicate(timeout=60)
    assert second.returncode == 2
    assert errors.startswith(f"everlearn: {tmp_path}: another process works there (process {first.pid} on ")
    _, errors = first.communicate(timeout=120)
    assert first.returncode == 0, errors
    assert tables(tmp_path) == undisturbed[0]


@pytest.mark.soak
def test_extending_may_be_killed_too(spec, undisturbed, tmp_path, steps):
    short = tmp_path / "short.toml"
    short.write_text(SPEC.format(steps=123_457))
    directory = tmp_path / "extended"
    finish("run", str(short), "--out", str(directory))
    for moment in (1.5, 2.0, 2.5, 3.0):
        process = start("extend", str(directory), "--steps", str(steps))
        try:
            process.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    finish("run", str(spec), "--out", str(directory))
    assert tables(directory) == undisturbed[0]
