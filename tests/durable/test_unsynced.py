"""If the disk fails to synchronise a row, the error says that nobody knows whether it was recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import everlearn as el
from everlearn.durable.checking import check
from everlearn.durable.wal import Log, inspect
from everlearn.errors import StoreFull, Unsynced

SHIM = r"""
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
static int fails(void) { const char *flag = getenv("FAILING"); return flag && access(flag, F_OK) == 0; }
int fsync(int file) { if (fails()) { errno = EIO; return -1; } return syscall(SYS_fsync, file); }
int fdatasync(int file) { if (fails()) { errno = EIO; return -1; } return syscall(SYS_fdatasync, file); }
"""

CONTROLLER = """
import os, shutil, sys
from pathlib import Path
import everlearn as el
place, flag = Path(sys.argv[1]), Path(os.environ["FAILING"])
setup = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1), "agent": "q-learning", "seed": 1}
with el.live(place / "working", **setup) as agent:
    for _ in range(5):
        agent.act(); agent.observe("x", reward=0.5)
    action = agent.act()
    flag.touch()
    for copy in ("killed", "killed later"):
        try:
            agent.observe("y", reward=1.0)
        except el.errors.EverlearnError as error:
            print(type(error).__name__, agent.step, agent.act() == action, error)
        shutil.copytree(place / "working", place / copy)
    flag.unlink()
    agent.observe("y", reward=1.0)
    print(agent.step)
    for rows in (400, 3):
        flag.touch()
        try:
            agent.warm_start([("x", "a", 0.5)] * rows)
        except el.errors.Unsynced as error:
            print(error)
    try:
        agent.freeze()
    except el.errors.Unsynced as error:
        print(error)
    flag.unlink()
    agent.observe("x", "a", reward=0.5)
    shutil.copytree(place / "working", place / "later")
"""


@pytest.fixture(scope="module")
def failed(tmp_path_factory) -> tuple[Path, list[str]]:
    """A directory whose sixth row was written and not synchronised, and what its controller printed."""
    if shutil.which("gcc") is None:
        pytest.skip("NO COMPILER: gcc is not here, so that no disk can be made to fail")
    place = tmp_path_factory.mktemp("failed")
    (place / "shim.c").write_text(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", place / "shim.so", place / "shim.c"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(place / "shim.so"), "FAILING": str(place / "flag")}
    command = [sys.executable, "-c", CONTROLLER, str(place)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place, done.stdout.splitlines()


def test_it_is_said_that_nobody_knows(failed):
    for line in failed[1][:2]:
        assert line.startswith("Unsynced 5 True ")
        assert line.endswith("repeat it with its step number, observe(..., step=N), to be safe")
        assert "nothing was changed" not in line
    assert issubclass(Unsynced, StoreFull)


def test_what_has_no_step_number_is_not_to_be_repeated_by_one(failed):
    for line in failed[1][3:]:
        assert line.endswith("; whether this was recorded is unknown: look at the journal before you repeat it")


def test_repeated_in_the_same_process_it_is_applied_once(failed):
    place, printed = failed
    assert printed[2] == "6"
    with el.live(place / "working") as agent:
        assert agent.step == 7
    assert check(place / "working").sound


def test_repeated_after_a_kill_with_its_step_it_is_applied_once(failed):
    place, _ = failed
    with el.live(place / "killed") as agent:
        assert agent.step == 6  # the row was written, and came to the disk later
        assert agent.observe("y", reward=1.0, step=6) == 1.0
        assert agent.step == 6
    with el.live(place / "killed later") as agent:
        assert agent.step == 5  # the head that is written before another attempt took the place of the row
        agent.observe("y", "a", reward=1.0, step=6)
        assert agent.step == 6


def test_commits_that_failed_leave_nothing_that_looks_like_lost_ones(failed):
    place, printed = failed
    assert len(printed[3:]) == 3
    (place / "later" / "everlearn.db-shm").unlink()  # as after a power cut
    log = inspect(place / "later" / "everlearn.db")
    assert log == Log(log.frames)
    with el.live(place / "later") as agent:
        assert agent.step == 7
