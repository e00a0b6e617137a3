"""Killed after some steps, whatever it is doing, a durable agent is the one that was never disturbed, bit for bit."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import everlearn as el
from everlearn.live.checking import check
from tests.live.worlds import advance, whole

ROOT = Path(__file__).parents[2]
SETUP = {"task": "service-station", "seed": 3, "snapshot_every": 25}


def run_until_killed(directory: Path, steps: int, after: int) -> tuple[int, int]:
    """Let a process go on, kill it after some steps; return with how many steps it began, and the last it told of."""
    paths = os.pathsep.join([str(ROOT), *sys.path])
    command = [sys.executable, "-m", "tests.live.killed", str(directory), str(steps)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}, cwd=ROOT
    ) as process:
        begun = process.stdout.readline().split()
        seen = b"".join(process.stdout.readline() for _ in range(after))
        process.kill()
        told = (seen + process.stdout.read()).split(b"\n")
    whole_lines = [int(line) for line in told[:-1]]
    return int(begun[1]), whole_lines[-1] if whole_lines else int(begun[1])


def chaos(directory: Path, kills: int, seed: int) -> None:
    moments, acknowledged = random.Random(seed), 0
    for _ in range(kills):
        begun, last = run_until_killed(directory, 10**9, moments.randint(0, 60))
        assert begun in (acknowledged, acknowledged + 1)  # what was written and not yet told of may be there too
        acknowledged = max(last, begun)
    with el.live(directory) as agent, el.live(directory.with_name("steady"), **SETUP) as steady:
        assert agent.step in (acknowledged, acknowledged + 1)
        assert agent.step >= acknowledged > kills
        advance(steady, agent.step)
        assert whole(agent.core) == whole(steady.core)
    assert check(directory).sound


def test_killed_a_few_times(tmp_path):
    chaos(tmp_path / "killed", 4, seed=1)


@pytest.mark.soak
def test_killed_a_hundred_times(tmp_path):
    chaos(tmp_path / "killed", 100, seed=2)
