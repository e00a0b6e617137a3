"""Killed at any moment and begun again, a search finds the same, to the last byte."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SPEC = """
steps = 100_000
runs = 8
seed = 3
candidates = 8
final_runs = 20
[[task]]
name = "service-station"
parameters.window = 2
[agent]
name = "growing-horizon"
[search.schedule]
horizon_scale = { low = 1, high = 9, scale = "log" }
optimism_scale = { low = 0.05, high = 0.5, scale = "log" }
"""
FILES = ("tried.parquet", "tuned.toml", "tried.png", "tried.svg")
COMMAND = "from everlearn.cli.main import main; main()"


def start(spec: Path, out: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-c", COMMAND, "tune", str(spec), "--out", str(out), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(spec: Path, out: Path, *options: str) -> str:
    process = start(spec, out, *options)
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return printed


def files(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    spec = folder / "spec.toml"
    spec.write_text(SPEC)
    began = time.monotonic()
    printed = finish(spec, folder / "out", "--threads", "1")
    return spec, files(folder / "out"), printed.partition("the agent:")[0], time.monotonic() - began


def check(undisturbed, out, kills, seed):
    spec, expected, printed, seconds = undisturbed
    moments, killed = random.Random(seed), 0
    for _ in range(kills):
        process = start(spec, out)
        try:
            process.wait(timeout=moments.uniform(0.3, 0.9) * seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
    assert finish(spec, out).partition("the agent:")[0] == printed
    assert killed > 0
    assert files(out) == expected


def test_killed_and_begun_again_it_finds_the_same(undisturbed, tmp_path):
    check(undisturbed, tmp_path, kills=2, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_killed_again_and_again_it_finds_the_same(undisturbed, tmp_path, seed):
    check(undisturbed, tmp_path, kills=5, seed=seed)


def test_interrupted_it_says_how_to_go_on(undisturbed, tmp_path):
    spec, expected, *_ = undisturbed
    process = start(spec, tmp_path)
    while not (tmp_path / "rungs" / "1" / "cells").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.startswith(f"everlearn: interrupted; what was done is kept in {tmp_path}")
    finish(spec, tmp_path)
    assert files(tmp_path) == expected
