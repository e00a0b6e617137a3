"""A directory of an older version is brought up to date, bit for bit, whenever that is interrupted."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import everlearn as el
from everlearn.durable.checking import check
from everlearn.durable.reader import Enrolled, Reader
from everlearn.durable.schema import SCHEMA, digest, version
from everlearn.errors import Changed, LiveError
from everlearn.tasks.registry import TASKS
from everlearn.tasks.service_station import service_station
from tests.durable.shops import module

FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FIXTURES / "schema-1" / "expected.json").read_text())


@pytest.fixture
def old(tmp_path) -> Path:
    shutil.copytree(FIXTURES / "schema-1", tmp_path / "old")
    return tmp_path / "old"


@pytest.fixture
def second(tmp_path) -> Path:
    shutil.copytree(FIXTURES / "schema-2", tmp_path / "second")
    return tmp_path / "second"


def is_as_it_was(agent: el.Live) -> bool:
    """See that an agent is what it was, up to the last bits: rows are replayed, and processors differ in these."""
    state, expected = agent.core.agent.snapshot(), json.loads((agent.store.directory / "expected.json").read_text())
    for name, values in expected.pop("epistemic").items():
        np.testing.assert_allclose(state.epistemic[name], values, rtol=1e-9)
    found = {
        "step": agent.step,
        "t": agent.t,
        "mode": agent.mode,
        "aleatoric": json.loads(json.dumps(state.aleatoric)),
        "stream": state.algorithmic["stream"],
        "next action": agent.act(),
    }
    return found == expected


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


def test_version_2_is_read_as_it_is_and_its_task_recorded(second, monkeypatch):
    with Reader(second) as reader:
        assert reader.look("agent").step == 45
        assert reader.enrolled("agent").face is None
    with el.live(second) as agent:
        assert is_as_it_was(agent)
        assert version(agent.store.connection) == SCHEMA
        assert len(json.loads(agent.store.enrolled("agent").face)["rewards"]["values"]) == 16
        agent.observe("arrival")
    assert sorted(path.name for path in second.iterdir()) == [".lock", "everlearn.db", "expected.json"]
    assert check(second).sound
    monkeypatch.setitem(TASKS, "service-station", "tests.durable.test_migration:cheap_station")
    with pytest.raises(Changed, match="reward"):
        el.live(second)


def cheap_station():
    """Return the station with other rewards."""
    station = service_station()
    return replace(station, reward=replace(station.reward, function=lambda s, a, o: 0.5 * station.reward(s, a, o)))


def test_version_2_with_a_task_of_ones_own_knew_its_labels_and_its_range(tmp_path):
    made = module(tmp_path)
    with el.live(tmp_path / "agent", made.shop) as agent:
        agent.act()
        agent.observe("busy")
    as_version_2(tmp_path / "agent")
    for edit in (('"wait", "sell"]', '"rest", "sell"]'), ("(-1, 1)", "(-2, 2)")):
        with pytest.raises(Changed):
            el.live(tmp_path / "agent", module(tmp_path, edit).shop)
    with el.live(tmp_path / "agent", made.shop) as agent:
        assert agent.step == 1
    with pytest.raises(Changed):
        el.live(tmp_path / "agent", module(tmp_path, ("return 1.0 *", "return 0.5 *")).shop)


def as_version_2(directory: Path) -> None:
    """Make of a directory what the version before would have written."""
    connection = sqlite3.connect(directory / "everlearn.db", isolation_level=None)
    row = Enrolled(*connection.execute("SELECT * FROM agents").fetchone())
    face = {key: json.loads(row.face)[key] for key in ("name", "actions", "observations", "states", "start", "reward")}
    row = row._replace(face=json.dumps(face))
    connection.execute("UPDATE agents SET face = ?, sha256 = ?", (row.face, digest(*row[:-1])))
    connection.execute("UPDATE meta SET value = '2' WHERE key = 'schema'")
    connection.close()


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
def test_killed_between_any_two_moves_nothing_is_lost(old, tmp_path, runner, stop):
    done = runner(f"python killed.py {old} {stop}", tmp_path, {"killed.py": KILLED})
    assert done.status in ((-signal.SIGKILL,) if stop <= 3 else (-signal.SIGKILL, 0)), done.stderr
    with el.live(old) as agent:
        assert is_as_it_was(agent)
    assert (old / "everlearn.db.before-1").exists()
    assert check(old).sound
