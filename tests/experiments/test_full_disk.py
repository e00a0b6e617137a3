"""A full disk is a clear error; nothing that was committed is lost, and with room it goes on to the same tables."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from everlearn.experiments.execute import execute
from everlearn.experiments.spec import load_spec

SPEC = """
steps = 1e4
runs = 100
[[task]]
name = "service-station"
parameters.window = 2
[[agent]]
name = "growing-horizon"
"""


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 100 kB, where the system lets us make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"NO SMALL DISK CAN BE MOUNTED HERE, a full disk is not tested: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def run(runner, tmp_path):
    """Run the experiment in a directory, with the command."""
    (tmp_path / "spec.toml").write_text(SPEC)
    return lambda directory: runner(f"everlearn experiment run spec.toml --out {directory}", tmp_path)


def test_it_is_said_and_nothing_is_lost(small_disk, tmp_path, run):
    directory: Path = small_disk / "out"
    full = run(directory)
    assert (full.status, full.stdout) == (2, "")
    assert "No space left on device; nothing that was committed is lost; make room" in full.stderr
    assert "Traceback" not in full.stderr
    committed = {path: path.read_bytes() for path in (directory / "cells").glob("*.npz")}
    assert not [path for path in directory.rglob(".*") if ".lock" not in path.name]
    again = run(directory)
    assert again.status == 2
    assert {path: path.read_bytes() for path in committed} == committed
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    room = run(directory)
    assert room.status == 0, room.stderr
    expected = execute(load_spec(tmp_path / "spec.toml"), tmp_path / "expected").path
    assert (directory / "runs.parquet").read_bytes() == (expected / "runs.parquet").read_bytes()


def test_a_disk_that_cannot_be_written_is_said(tmp_path, run):
    if os.geteuid() == 0:
        (tmp_path / "out").write_text("a file in the way")
    else:
        (tmp_path / "out").mkdir(mode=0o500)
    refused = run(tmp_path / "out")
    assert refused.status == 2
    assert str(tmp_path / "out") in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
