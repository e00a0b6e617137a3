"""Killed at random moments and restarted, a durable agent is the one that was never disturbed, bit for bit."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import everlearn as el
from everlearn.durable.checking import check
from tests.boundary.runner import Runner
from tests.durable import killed_box, killed_shadow
from tests.durable.worlds import advance, whole

ROOT = Path(__file__).parents[2]
SETUP = {"task": "service-station", "seed": 3, "snapshot_every": 25}


def run_until_killed(runner: Runner, directory: Path, acknowledged: int, script: str = "killed") -> tuple[int, int]:
    """Let a process go on, kill it once it told of so many steps; return how it began, and the last that it told of."""
    folder = directory.with_name("folder")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".stdout").unlink(missing_ok=True)
    call = f"python {Path(__file__).with_name(f'{script}.py')} {directory} 1000000000"
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


def test_killed_while_it_observes_points_of_a_box(runner, tmp_path):
    killed, moments = tmp_path / "killed", random.Random(5)
    for _ in range(4):
        run_until_killed(runner, killed, moments.randrange(60), "killed_box")
    with el.live(killed) as agent, el.live(tmp_path / "steady", **killed_box.SETUP) as steady:
        last = max(agent.step, 100)
        for each in (agent, steady):
            killed_box.advance(each, last)
        assert whole(agent.core) == whole(steady.core)
    assert check(killed).sound


@pytest.mark.soak
def test_killed_hundreds_of_times(runner, tmp_path):
    chaos(runner, tmp_path / "killed", 250, seed=2)


def promoted_in_chaos(runner: Runner, directory: Path, kills: int, seed: int) -> None:
    """The agent is promoted at some moment, and killed before, meanwhile and after: once, and where it would be."""
    moments = random.Random(seed)
    for _ in range(kills):
        run_until_killed(runner, directory, moments.randrange(30), "killed_shadow")
    with el.live(directory) as agent, el.live(directory.with_name("steady"), **killed_shadow.SETUP) as steady:
        last = max(agent.step, 200)
        killed_shadow.advance(agent, last)
        killed_shadow.advance(steady, last)
        first, second = (timeless(each) for each in (agent, steady))
        assert first == second
        assert agent.core.rule_state.promotions == 1
        rows, others = ([row["promotion"] for row in each.journal() if "promotion" in row] for each in (agent, steady))
        assert [row["event"] for row in rows] == [row["event"] for row in others]
        assert [row.get("evidence") for row in rows] == [row.get("evidence") for row in others]
    assert check(directory).sound


def timeless(agent: el.Live) -> dict[str, Any]:
    """Return all that an agent is, but for the moment since when a bound has been exceeded."""
    everything = whole(agent.core)
    since = everything["trial"].pop("since")
    return {**everything, "since": since and since[0]}


def test_killed_while_it_is_promoted(runner, tmp_path):
    promoted_in_chaos(runner, tmp_path / "killed", 6, seed=1)


@pytest.mark.soak
def test_killed_a_hundred_times_while_it_is_promoted(runner, tmp_path):
    for seed in range(10):
        promoted_in_chaos(runner, tmp_path / str(seed) / "killed", 10, seed)
