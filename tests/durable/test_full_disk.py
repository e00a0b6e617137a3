"""A full disk is said so, loses nothing, and once there is room the same can be done again."""

from __future__ import annotations

import resource
import signal
import subprocess
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

import everlearn as el
from everlearn.durable import database
from everlearn.durable.repair import repair
from everlearn.errors import Corrupt, LiveError, StoreFull
from tests.durable.worlds import advance, seen, whole
from tests.refusal import has


@pytest.fixture
def small_disk(tmp_path):
    """A file system with little room; where mounting is not allowed these tests say so, and the others go on."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"NO SMALL DISK: mount is refused here ({mounted.stderr.strip()}); see the test with a file limit")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(agent: el.Live, most: int = 100_000) -> str:
    """Go on until the disk is full; return the message."""
    for _ in range(most):
        action = agent.act()
        step = agent.step + 1
        try:
            agent.observe(seen(step, str(action)))
        except StoreFull as error:
            return str(error)
    raise AssertionError("the disk did not fill up")


def refused_again(agent: el.Live) -> None:
    """Go on until the disk is full once more, as a few rows may still fit; the refusal changes nothing."""
    for _ in range(100_000):
        action, before = agent.act(), whole(agent.core)
        try:
            agent.observe(seen(agent.step + 1, str(action)))
        except StoreFull:
            assert whole(agent.core) == before
            return
    raise AssertionError("the disk did not fill up")


def test_a_full_disk_loses_nothing(small_disk, tmp_path):
    with el.live(small_disk / "agent", task="service-station", seed=1) as agent:
        message = fill(agent)
        assert "the disk is full" in message
        assert "nothing was changed: make room, and try the same again" in message
        assert str(small_disk) in message
        assert agent.step > 100
        refused_again(agent)
        stopped = agent.step
        subprocess.run(["mount", "-o", "remount,size=16m", small_disk], check=True)
        advance(agent, stopped + 200)
        found = whole(agent.core)
    with el.live(small_disk / "agent") as agent:
        assert whole(agent.core) == found
    with el.live(tmp_path / "steady", task="service-station", seed=1) as steady:
        advance(steady, stopped + 200)
        assert whole(steady.core) == found


def test_killed_on_a_full_disk_everything_acknowledged_is_there(small_disk, tmp_path, runner):
    code = (
        f"import os, sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "import everlearn as el; from tests.durable.test_full_disk import fill\n"
        f"agent = el.live({str(small_disk / 'agent')!r}, task='service-station', seed=1)\n"
        "fill(agent); print(agent.step, flush=True); os.kill(os.getpid(), 9)"
    )
    done = runner("python filling.py", tmp_path, {"filling.py": code})
    assert done.status == -signal.SIGKILL, done.stderr
    subprocess.run(["mount", "-o", "remount,size=16m", small_disk], check=True)
    with el.live(small_disk / "agent") as agent:
        assert agent.step == int(done.stdout)


@contextmanager
def no_larger_files(size: int):
    """Let no file of this process grow beyond a size, as a quota does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_quota_loses_nothing(tmp_path):
    with el.live(tmp_path / "agent", task="service-station", seed=1) as agent:
        advance(agent, 20)
        size = (tmp_path / "agent" / "everlearn.db-wal").stat().st_size
        with no_larger_files(size + 40_000):
            assert "nothing was changed" in fill(agent)
            stopped = agent.step
            with pytest.raises(StoreFull):
                agent.observe("nothing", executed="slow")
        assert agent.step == stopped
        advance(agent, stopped + 50)
        found = whole(agent.core)
    with el.live(tmp_path / "agent") as agent:
        assert whole(agent.core) == found


def test_a_snapshot_for_which_there_is_no_room_does_not_stop_the_agent(tmp_path, monkeypatch, caplog):
    with el.live(tmp_path, task="service-station", seed=1, snapshot_every=10) as agent:
        append = agent.store.append

        def full(entries, snapshots=()):
            if snapshots:
                raise StoreFull("no room")
            append(entries)

        monkeypatch.setattr(agent.store, "append", full)
        advance(agent, 12)
        assert "no snapshot at step 10: no room" in caplog.text
        monkeypatch.undo()
        advance(agent, 13)
        assert [snapshot["step"] for snapshot in agent.snapshots()] == [0, 13]


def test_the_size_of_a_database_may_be_bounded_too(tmp_path):
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        advance(agent, 5)
        agent.store.connection.execute("PRAGMA max_page_count = 8")
        fill(agent)
        stopped = agent.step
        agent.store.connection.execute("PRAGMA max_page_count = 100000")
        advance(agent, stopped + 5)
    with el.live(tmp_path) as agent:
        assert agent.step == stopped + 5


@pytest.mark.parametrize("room", [1.2, 2.2, 2.8])
def test_a_repair_for_which_there_is_too_little_room_changes_nothing(small_disk, room):
    """It needs room thrice: for a copy with another first page, and for the new file in its log and in itself."""
    place = small_disk / "agent"
    subprocess.run(["mount", "-o", "remount,size=16m", small_disk], check=True)
    with el.live(place, task="service-station", seed=1) as agent:
        advance(agent, 1_000)
        found = whole(agent.core)
    path = place / database.FILE
    with path.open("rb+") as file:
        file.write(bytes(16))
    damaged = {each.name: each.read_bytes() for each in place.iterdir()}
    size = (len(damaged[path.name]) * (1 + room)) // 1024 + 8
    subprocess.run(["mount", "-o", f"remount,size={int(size)}k", small_disk], check=True)
    with pytest.raises(StoreFull, check=has(__class__=StoreFull, path=path)):
        repair(place)
    assert {each.name: each.read_bytes() for each in place.iterdir()} == damaged
    with pytest.raises(Corrupt), el.live(place):
        pass
    subprocess.run(["mount", "-o", "remount,size=16m", small_disk], check=True)
    assert repair(place)["agents"] == [
        {"name": "agent", "step": 1_000, "rows": 1_000, "unsaved_rows": 0, "lost_rows": 0}
    ]
    with el.live(place) as agent:
        assert whole(agent.core) == found


def make_new_file(directory, before_it_is_completed) -> None:
    with database.errors(directory / database.FILE), database.new_file(directory) as connection:
        connection.execute("INSERT INTO meta VALUES ('long', ?)", ("x" * 100_000,))
        before_it_is_completed()


def test_a_new_file_whose_log_cannot_be_copied_to_it_is_not_taken(tmp_path):
    with ExitStack() as limited:
        with pytest.raises(StoreFull, check=has(__class__=StoreFull)):
            make_new_file(tmp_path, lambda: limited.enter_context(no_larger_files(60_000)))
        assert list(tmp_path.iterdir()) == []


def test_a_new_file_that_is_read_while_it_is_completed_is_not_taken(tmp_path, monkeypatch):
    """The reader keeps the log, for which SQLite raises nothing."""
    monkeypatch.setattr(database, "PATIENCE", 0.0)
    with ExitStack() as reading:

        def read() -> None:
            reader = reading.enter_context(closing(database.connect_to_read(tmp_path / f"{database.NEW}.part")))
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM meta").fetchall()

        with pytest.raises(LiveError, check=has(__class__=LiveError, path=tmp_path / f"{database.NEW}.part-wal")):
            make_new_file(tmp_path, read)
        assert list(tmp_path.iterdir()) == []
