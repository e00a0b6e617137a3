"""A backup of a directory that is in use is whole, checked, and can be gone back to."""

from __future__ import annotations

import threading

import pytest

import everlearn as el
from everlearn.durable.backup import backup
from everlearn.durable.checking import check_file
from everlearn.errors import Absent, InputError, LiveError
from tests.durable.worlds import advance, whole
from tests.refusal import has, refusal


def test_a_backup_is_the_agent_at_one_moment(tmp_path):
    with el.live(tmp_path / "agent", task="service-station", seed=1) as agent:
        advance(agent, 40)
        expected = whole(agent.core)
        made = backup(tmp_path / "agent", tmp_path / "kept" / "everlearn.db")
        advance(agent, 60)
    assert made["agents"] == [{"name": "agent", "step": 40, "rows": 40, "snapshots": 1}]
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["everlearn.db"]
    with el.live(tmp_path / "kept") as agent:
        assert whole(agent.core) == expected


def test_backups_while_the_agent_goes_on(tmp_path):
    stop = threading.Event()
    with el.live(tmp_path / "agent", task="service-station", seed=1, snapshot_every=50) as agent:
        thread = threading.Thread(target=lambda: [advance(agent, agent.step + 1) for _ in iter(stop.is_set, True)])
        thread.start()
        try:
            steps = [backup(tmp_path / "agent", tmp_path / f"{n}.db")["agents"][0]["step"] for n in range(5)]
        finally:
            stop.set()
            thread.join()
    assert steps == sorted(steps)
    assert steps[-1] > steps[0]
    assert all(check_file(tmp_path / f"{number}.db").sound for number in range(5))


def test_a_backup_replaces_the_one_before_it_only_when_it_is_sound(tmp_path):
    with el.live(tmp_path / "agent", task="service-station", seed=1) as agent:
        advance(agent, 5)
        backup(tmp_path / "agent", tmp_path / "copy.db")
        before = (tmp_path / "copy.db").read_bytes()
        agent.store.connection.execute("UPDATE journal SET reward = 9 WHERE seq = 3")
        with pytest.raises(LiveError, check=has(agent="agent", path=tmp_path / "agent" / "everlearn.db")):
            backup(tmp_path / "agent", tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "copy.db"]


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(Absent, check=has(path=tmp_path / "none" / "everlearn.db")):
        backup(tmp_path / "none", tmp_path / "copy.db")
    with el.live(tmp_path / "agent", task="service-station"):
        for wrong in (tmp_path / "agent" / "everlearn.db", tmp_path / "agent" / "copy.db", tmp_path):
            with pytest.raises(InputError, check=refusal("file")):
                backup(tmp_path / "agent", wrong)
