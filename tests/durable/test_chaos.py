"""Killed at random moments and restarted, a durable agent is the one that was never disturbed, bit for bit."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

import everlearn as el
from everlearn.durable.checking import check
from tests.boundary.runner import Runner
from tests.durable.worlds import advance, whole

ROOT = Path(__file__).parents[2]
SETUP = {"task": "service-station", "seed": 3, "snapshot_every": 25}


def run_until_killed(runner: Runner, directory: Path, acknowledged: int) -> tuple[int, int]:
    """Let a process go on, kill it once it told of so many steps; return how it began, and the last that it told of."""
    folder = directory.with_name("folder")
    folder.mkdir(exist_ok=True)
    (folder / ".stdout").unlink(missing_ok=True)
    call = f"python {Path(__file__).with_name('killed.py')} {directory} 1000000000"
    process = runner.start(call, folder, f"import sys; sys.path.insert(0, {str(ROOT)!r})")
    while len(told(folder)) < 1 + acknowledged:
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    assert runner.wait(process) == -signal.SIGKILL
    begun, *steps = told(folder)
    return int(begun.split()[1]), int(steps[-1]) if steps else int(begun.split()[1])


def told(folder: Path) -> list[str]:
    """Return the whole lines that a process printed; one that cannot be opened is not waited for."""
    text = (folder / ".stdout").read_text() if (folder / ".stdout").exists() else ""
    assert text or not (folder / ".stderr").exists() or not (folder / ".stderr").read_text()
    return text.split("\n")[:-1]


def chaos(runner: Runner, directory: Path, kills: int, seed: int) -> None:
    moments, acknowledged = random.Random(seed), 0
    for _ in range(kills):
        begun, last = run_until_killed(runner, directory, moments.randrange(60))
        assert begun in (acknowledged, acknowledged + 1)  # what was written and not yet told of may be there too
        acknowledged = max(last, begun)
    with el.live(directory) as agent, el.live(directory.with_name("steady"), **SETUP) as steady:
        assert agent.step in (acknowledged, acknowledged + 1)
        assert agent.step > kills  # a kill comes after thirty steps on average
        advance(steady, agent.step)
        assert whole(agent.core) == whole(steady.core)
    assert check(directory).sound


def test_killed_a_few_times(runner, tmp_path):
    chaos(runner, tmp_path / "killed", 4, seed=1)


@pytest.mark.soak
def test_killed_a_hundred_times(runner, tmp_path):
    chaos(runner, tmp_path / "killed", 100, seed=2)
