"""A directory of an older version is brought up to date, bit for bit, whenever that is interrupted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import everlearn as el
from everlearn.errors import LiveError
from everlearn.live.checking import check
from everlearn.live.reader import Reader

FIXTURE = Path(__file__).parent / "fixtures" / "schema-1"
EXPECTED = json.loads((FIXTURE / "expected.json").read_text())


@pytest.fixture
def old(tmp_path) -> Path:
    shutil.copytree(FIXTURE, tmp_path / "old")
    return tmp_path / "old"


def is_as_it_was(agent: el.Live) -> bool:
    state = agent.core.agent.take()
    found = {
        "step": agent.step,
        "t": agent.t,
        "mode": agent.mode,
        "aleatoric": list(state.aleatoric),
        "epistemic": {name: array.tolist() for name, array in state.epistemic.items()},
        "stream": state.algorithmic["stream"],
        "next action": agent.act(),
    }
    return found == EXPECTED


def test_version_1_is_brought_up_to_date(old, caplog):
    before = (old / "everlearn.db").read_bytes()
    with el.live(old) as agent:
        assert is_as_it_was(agent)
        agent.observe("warm", reward=0.5)
    assert "brought from schema version 1 up to date; the old file is kept as" in caplog.text
    assert (old / "everlearn.db.before-1").read_bytes() == before
    assert check(old).sound
    with el.live(old) as agent:
        assert agent.step == EXPECTED["step"] + 1
    assert not (old / "everlearn.db.before-2").exists()


def test_reading_alone_does_not_change_it(old):
    with pytest.raises(LiveError, match="schema version 1, this everlearn reads 3; open it once to write"):
        Reader(old)


def test_every_row_of_the_old_file_is_in_the_new_one(old):
    with el.live(old) as agent:
        rows = list(agent.journal())
    assert len(rows) == 133
    assert [row["kind"] for row in rows if row["kind"] != "observed"] == ["mode"] * 3
    assert [row["step"] for row in rows if row["kind"] == "observed"] == list(range(1, 131))


KILLED = """
import os, sys
from pathlib import Path
import everlearn as el
count, stop = 0, int(sys.argv[2])
move = Path.replace
def killing(self, target):
    global count
    count += 1
    if count == stop:
        os.kill(os.getpid(), 9)
    return move(self, target)
Path.replace = killing
el.live(sys.argv[1]).close()
"""


@pytest.mark.parametrize("stop", range(1, 7))
def test_killed_between_any_two_moves_nothing_is_lost(old, stop):
    command = [sys.executable, "-c", KILLED, str(old), str(stop)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode in ((-signal.SIGKILL,) if stop <= 3 else (-signal.SIGKILL, 0)), done.stderr
    with el.live(old) as agent:
        assert is_as_it_was(agent)
    assert (old / "everlearn.db.before-1").exists()
    assert check(old).sound
