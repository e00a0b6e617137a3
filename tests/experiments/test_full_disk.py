"""A full disk is a clear error; nothing that was committed is lost, and with room it goes on to the same tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from everlearn.experiments.execute import execute
from everlearn.experiments.spec import read_spec

COMMAND = "from everlearn.cli.main import main; main()"
SPEC = """
steps = 3e4
runs = 100
[[task]]
name = "service-station"
[[agent]]
name = "growing-horizon"
"""


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 200 kB, where the system lets us make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"NO SMALL DISK CAN BE MOUNTED HERE, a full disk is not tested: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def run(spec: Path, directory: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", COMMAND, "experiment", "run", str(spec), "--out", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_is_said_and_nothing_is_lost(small_disk, tmp_path):
    spec, directory = tmp_path / "spec.toml", small_disk / "out"
    spec.write_text(SPEC)
    full = run(spec, directory)
    assert full.returncode == 2
    assert full.stdout == ""
    assert "No space left on device; nothing that was committed is lost; make room" in full.stderr
    assert "Traceback" not in full.stderr
    committed = {path: path.read_bytes() for path in (directory / "cells").glob("*.npz")}
    assert not [path for path in directory.rglob(".*") if ".lock" not in path.name]
    again = run(spec, directory)
    assert again.returncode == 2
    assert {path: path.read_bytes() for path in committed} == committed
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    room = run(spec, directory)
    assert room.returncode == 0, room.stderr
    whole = {"steps": 3e4, "runs": 100, "task": "service-station", "agent": "growing-horizon"}
    expected = execute(read_spec(whole), tmp_path / "expected").path
    assert (directory / "runs.parquet").read_bytes() == (expected / "runs.parquet").read_bytes()


def test_a_disk_that_cannot_be_written_is_said(tmp_path):
    if os.geteuid() == 0:
        (tmp_path / "out").write_text("a file in the way")
    else:
        (tmp_path / "out").mkdir(mode=0o500)
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    refused = run(spec, tmp_path / "out")
    assert refused.returncode == 2
    assert str(tmp_path / "out") in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
