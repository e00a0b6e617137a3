"""The store: many agents, one file, one commit for rows of many."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import everlearn as el
from everlearn.durable import database
from everlearn.durable.audit import export, page
from everlearn.durable.backup import backup
from everlearn.durable.checking import _report
from everlearn.durable.database import connect_to_read, errors
from everlearn.durable.heads import WITHOUT, last_unsaved
from everlearn.durable.reader import Reader
from everlearn.durable.setup import make_setup
from everlearn.durable.store import EVERY, Store, is_kept
from everlearn.errors import Absent, LiveError
from everlearn.service.placement import lay_out
from tests.durable.worlds import whole
from tests.refusal import has


def station(seed: int = 1, **more: object):
    return make_setup(task="service-station", seed=seed, **more)


def test_rows_of_many_agents_in_one_commit(tmp_path):
    with Store(tmp_path) as store:
        cores = [store.create(f"agent {number}", station(number)) for number in range(8)]
        commits = []
        store.connection.set_trace_callback(lambda text: commits.append(text) if text == "COMMIT" else None)
        for _ in range(5):
            entries = []
            for core in cores:
                core.act()
                entries.append(core.prepare("arrival"))
            store.append([(core.number, entry) for core, entry in zip(cores, entries, strict=True)])
            for core, entry in zip(cores, entries, strict=True):
                core.apply(entry)
        assert len(commits) == 5
        expected = [whole(core) for core in cores]
    with Store(tmp_path) as store:
        assert [whole(store.open(f"agent {number}")) for number in range(8)] == expected


def test_a_row_that_cannot_be_written_takes_none_of_the_others_along(tmp_path):
    with Store(tmp_path) as store:
        core = store.create("one", station())
        core.act()
        entry = core.prepare("arrival")
        with pytest.raises(LiveError):
            store.append([(core.number, entry), (core.number, entry)])
        assert store.recorded(core.number, 1) is None
        store.append([(core.number, entry)])
        assert store.recorded(core.number, 1) == entry
        assert store.recorded(core.number, 2) is None


def test_names(tmp_path):
    with Store(tmp_path) as store:
        store.create("b", station())
        store.create("a", station())
        assert store.names() == ["a", "b"]
        with pytest.raises(LiveError, check=has(__class__=LiveError, agent="a")):
            store.create("a", station())
        with pytest.raises(Absent, check=has(agent="c")):
            store.open("c")
        store.delete("a")
        assert store.names() == ["b"]
        with pytest.raises(Absent, check=has(agent="a")):
            store.delete("a")
        assert store.create("a", station(2)).step == 0


def test_a_deleted_agent_leaves_nothing(tmp_path):
    with Store(tmp_path) as store:
        core = store.create("a", station(snapshot_every=1))
        core.act()
        entry = core.prepare("arrival")
        store.append([(core.number, entry)])
        core.apply(entry)
        store.append([], [core])
        store.connection.execute("INSERT INTO meta VALUES (?, '9')", (f"{WITHOUT}{core.number}",))  # as after a repair
        store.delete("a")
        assert last_unsaved(store.connection, core.number) == 0
        for table in ("agents", "journal", "snapshots"):
            assert store.connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def create_many(store):
    for number in range(20):
        store.create(f"agent {number}", station())
        yield


def delete_many(store):
    list(create_many(store))
    for number in range(20):
        store.delete(f"agent {number}")
        yield


def import_often(store):
    core = store.create("a", station())
    for _ in range(40):
        entry = core.import_state(core.export_state())
        store.append([(core.number, entry)])
        core.apply(entry)
        yield


def observe_often(store):
    core = store.create("a", station())
    for _ in range(5 * EVERY):
        entry = core.prepare("arrival", "slow")
        store.append([(core.number, entry)])
        core.apply(entry)
        yield


def observe_together(store):
    cores = [store.create(name, station()) for name in "abcd"]
    for _ in range(EVERY):
        record_together(store, cores, [core.prepare("arrival", "slow") for core in cores])
        yield


def import_together(store):
    cores = [store.create(name, station()) for name in "ab"]
    for _ in range(20):
        record_together(store, cores, [core.import_state(core.export_state()) for core in cores])
        yield


def record_together(store, cores, entries):
    store.append([(core.number, entry) for core, entry in zip(cores, entries, strict=True)])
    for core, entry in zip(cores, entries, strict=True):
        core.apply(entry)


@pytest.mark.parametrize(
    "write_much", [create_many, delete_many, import_often, observe_often, observe_together, import_together]
)
def test_the_log_does_not_grow_for_ever(tmp_path, monkeypatch, write_much):
    monkeypatch.setattr("everlearn.durable.database.LOG_FRAMES", 10)
    with Store(tmp_path) as store:
        sizes = [(tmp_path / "everlearn.db-wal").stat().st_size for _ in write_much(store)]
    assert max(sizes) < (3 * EVERY if write_much in (observe_often, observe_together) else 40) * 4096


def test_the_log_is_not_measured_at_every_commit(tmp_path, monkeypatch):
    measured = []
    with Store(tmp_path) as store:
        cores = [store.create(name, station()) for name in "abcd"]
        monkeypatch.setattr("everlearn.durable.store.frames_in_use", lambda path: measured.append(path) or 0)
        for _ in range(EVERY):
            record_together(store, cores, [core.prepare("arrival", "slow") for core in cores])
    assert len(measured) == len(cores)


def test_a_reader_does_not_make_every_commit_try_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("everlearn.durable.database.LOG_FRAMES", 10)
    monkeypatch.setattr("everlearn.durable.store.EVERY", 1)
    tried = []
    with Store(tmp_path) as store, Reader(tmp_path) as reader:
        store.connection.set_trace_callback(lambda text: tried.append(text) if "wal_checkpoint" in text else None)
        with reader.at_one_moment():
            reader.names()
            cores = [store.create(name, station()) for name in "ab"]
            for _ in range(50):
                record_together(store, cores, [core.prepare("arrival", "slow") for core in cores])
            frames = (tmp_path / "everlearn.db-wal").stat().st_size / 4096
        assert 2 < len(tried) <= frames / 10
        list(create_many(store))
        assert (tmp_path / "everlearn.db-wal").stat().st_size < 40 * 4096


def test_the_log_of_a_killed_process_is_copied_at_once(tmp_path, monkeypatch):
    with Store(tmp_path / "working") as store:
        for number in range(5):
            store.create(f"agent {number}", station())
        shutil.copytree(tmp_path / "working", tmp_path / "killed")
    monkeypatch.setattr("everlearn.durable.database.LOG_FRAMES", 10)
    size = (tmp_path / "killed" / "everlearn.db").stat().st_size
    with Store(tmp_path / "killed"):
        assert (tmp_path / "killed" / "everlearn.db").stat().st_size > size


def test_a_commit_is_synchronised_in_full(tmp_path):
    with Store(tmp_path) as store:
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store.connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_others_read_while_it_is_held_and_cannot_write(tmp_path):
    with Store(tmp_path) as store, Reader(tmp_path) as reader:
        core = store.create("a", station())
        core.act()
        entry = core.prepare("arrival")
        store.append([(core.number, entry)])
        core.apply(entry)
        assert whole(reader.look("a")) == whole(core)
        with pytest.raises(sqlite3.OperationalError, check=has(sqlite_errorname="SQLITE_READONLY")):
            reader.connection.execute("DELETE FROM journal")


def test_pages_of_a_journal(tmp_path):
    with Store(tmp_path) as store:
        core = store.create("a", station())
        task = core.agent.task
        for number in range(25):
            mode = ("shadow", "learn")[number // 5 % 2]
            entry = core.change_mode(mode) if number % 5 == 4 else core.prepare("arrival", "slow")
            store.append([(core.number, entry)])
            core.apply(entry)
        everything = page(store, (core.number, task), (0, None), -1, 1000)
        found, after = [], -1
        while rows := page(store, (core.number, task), (0, None), after, 4):
            found += rows
            after = rows[-1]["seq"]
        assert found == everything == list(export(tmp_path, "a"))
        assert [row["seq"] for row in everything] == list(range(1, len(everything) + 1))
        middle = page(store, (core.number, task), (8, 12), -1, 1000)
        assert middle == [row for row in everything if 8 <= row["step"] <= 12]
        for step in range(1, core.step + 1):
            assert store.recorded(core.number, step).step == step


@pytest.mark.parametrize("newest", [0, 1, 5, 100, 1000])
def test_ever_fewer_snapshots_are_kept_and_one_removed_never_comes_back(newest):
    kept = [number for number in range(newest + 1) if is_kept(number, newest)]
    assert kept[-4:] == list(range(newest + 1))[-4:]
    assert len(kept) <= 5 + 3 * (newest + 1).bit_length()
    later = [number for number in range(newest + 1) if is_kept(number, newest + 1)]
    assert set(later) <= set(kept)


def test_only_its_owner_may_read_a_directory(tmp_path):
    before = os.umask(0o022)
    try:
        with Store(tmp_path / "agents") as store:
            store.create("a", station())
            assert (tmp_path / "agents").stat().st_mode & 0o777 == 0o700
            for name in ("everlearn.db", "everlearn.db-wal", "everlearn.db-shm"):
                assert (tmp_path / "agents" / name).stat().st_mode & 0o777 == 0o600
            backup(tmp_path / "agents", tmp_path / "copy.db")
            assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


def test_who_may_only_read_a_directory_is_told_what_to_do(tmp_path):
    with Store(tmp_path) as store:
        store.create("a", station())
    with (
        closing(connect_to_read(store.path)) as connection,
        pytest.raises(LiveError, check=has(path=store.path)) as writing,
        errors(store.path),
    ):
        connection.execute("DELETE FROM agents")
    lock = tmp_path / ".lock"
    with pytest.raises(LiveError, check=has(path=lock)) as opening, errors(store.path):
        raise PermissionError(errno.EACCES, "Permission denied", str(lock))
    assert writing.value.problem.endswith(database.NOT_YOURS)
    assert opening.value.problem.endswith(database.NOT_YOURS)


def test_what_a_killed_process_left_is_removed(tmp_path):
    left = [tmp_path / f".everlearn.db.{'0' * 16}{suffix}" for suffix in ("", "-wal", "-shm")]
    left += [tmp_path / f"everlearn.db.new.{name}" for name in ("part", "part-wal", "work", "work-shm")]
    for path in left:
        path.write_bytes(b"unfinished")
    with Store(tmp_path):
        assert not any(path.exists() for path in left)


def test_a_forked_child_writes_nothing(tmp_path):
    with Store(tmp_path) as store:
        core = store.create("a", station())
        child = os.fork()
        if child == 0:
            try:
                store.append_one(core.number, core.prepare("arrival", "slow"))
            except LiveError as error:
                store.close()
                os._exit(0 if (error.path, error.agent) == (tmp_path, None) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        entry = core.prepare("arrival", "slow")
        store.append([(core.number, entry)])
    with Store(tmp_path) as store:
        assert store.open("a").step == 1


USED = """
import sys, tempfile, everlearn as el
with el.live(tempfile.mkdtemp(), task="service-station", snapshot_every=2) as agent:
    for _ in range(5):
        agent.act(); agent.observe("arrival")
    agent.freeze(); agent.learn(); agent.rollback(2); agent.warm_start([("arrival", "slow")])
    agent.policy(), agent.inspect(), list(agent.journal())
    from everlearn.durable.checking import check
    assert check(agent.store.directory).sound
heavy = {"scipy", "numba", "pyarrow", "matplotlib", "typer", "rich", "fastapi", "uvicorn", "pydantic"}
print(sorted(heavy & set(sys.modules)))
"""


def test_nothing_heavy_is_loaded_even_when_it_is_used():
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


class TestStandings:
    """Step and mode of every agent, by one query."""

    @pytest.fixture
    def store(self, tmp_path):
        """Agents that were told something, set to modes, and told more; the last of them was saved."""

        def write(entry):
            store.append([(core.number, entry)])
            core.apply(entry)

        with Store(tmp_path) as store:
            for name, steps, modes, more in (
                ("new", 0, [], 0),
                ("told", 2, [], 0),
                ("frozen", 1, ["frozen"], 0),
                ("watching", 1, ["frozen", "shadow"], 1),
                ("saved", 3, ["shadow"], 0),
            ):
                core = store.create(name, station())
                for _ in range(steps):
                    write(core.prepare("arrival", "slow"))
                for mode in modes:
                    write(core.change_mode(mode))
                for _ in range(more):
                    write(core.prepare("arrival", "slow"))
            store.append([], [core])
            yield store

    def test_they_are_those_of_agents_that_are_replayed(self, store):
        replayed = {name: (core.step, core.mode) for name in store.names() for core in [store.look(name)]}
        assert store.standings() == replayed
        assert replayed["frozen"] == (1, "frozen")
        assert replayed["watching"] == (2, "shadow")

    def test_a_snapshot_that_is_later_than_the_journal_counts(self, store):
        store.connection.execute("DELETE FROM journal")
        assert store.standings()["saved"] == (3, "shadow")
        assert store.standings()["told"] == (0, "learn")

    @pytest.mark.parametrize(
        "damage", ["UPDATE journal SET mode = 9, payload = x'ff'", "DELETE FROM journal", "DELETE FROM snapshots"]
    )
    def test_what_cannot_be_read_is_none_and_others_are_listed(self, store, damage):
        before = store.standings()
        number = store.enrolled("saved").number
        store.connection.execute(f"{damage} WHERE agent = {number}")
        store.connection.execute("UPDATE snapshots SET more = '{' WHERE agent = ?", (number,))
        after = store.standings()
        assert after["saved"][1] in (None, "shadow")
        assert {**after, "saved": before["saved"]} == before


class TestOneMoment:
    """What is read while another process writes is as of one moment."""

    @pytest.fixture
    def store(self, tmp_path):
        with Store(tmp_path) as store:
            core = store.create("a", station(retain=1))
            self.write = lambda: write(store, core)
            self.write()
            yield store

    def write_meanwhile(self, connection):
        """Whenever a connection is about to read a head, let another one write rows and remove old ones."""
        connection.set_trace_callback(lambda text: self.write() if "FROM heads WHERE" in text else None)

    def test_a_check_finds_no_damage(self, store):
        with closing(connect_to_read(store.path)) as connection:
            self.write_meanwhile(connection)
            report = _report(store.path, connection, in_use=True, replay=True)
        assert report.findings == []
        assert [(agent["step"], agent["verdict"]) for agent in report.agents] == [(5, "sound")]
        assert store.look("a").step > 5

    def test_an_agent_is_recovered(self, store, tmp_path):
        with Reader(tmp_path) as reader:
            self.write_meanwhile(reader.connection)
            assert reader.look("a").step == 5
            reader.connection.set_trace_callback(None)
            assert reader.look("a").step == 10


def write(store, core):
    """Write five steps and a snapshot after each, and copy all of it to the database."""
    for _ in range(5):
        entry = core.prepare("arrival", "slow")
        store.append([(core.number, entry)])
        core.apply(entry)
        store.append([], [core])
    store._checkpoint()


def test_a_log_that_cannot_be_measured_spoils_no_commit(tmp_path, monkeypatch, caplog):
    """The rows are on disk by then: whoever is told otherwise would refuse every later step."""

    def denied(_path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("everlearn.durable.store.EVERY", 1)
    with Store(tmp_path) as store:
        cores = [store.create(name, station()) for name in "ab"]
        for core in cores:
            core.act()
        entries = [(core.number, core.prepare("arrival")) for core in cores]
        monkeypatch.setattr("everlearn.durable.store.frames_in_use", denied)
        store.append(entries)
        assert [store.last_row(core.number) for core in cores] == [1, 1]
    assert "cannot be measured" in caplog.text


def test_a_new_file_is_complete_on_disk_before_it_replaces_another(tmp_path, monkeypatch):
    """A power cut must not leave the old file moved away and the new one without its name."""
    events, replace, sync = [], Path.replace, database.sync_directory
    monkeypatch.setattr(Path, "replace", lambda path, to: events.append(Path(to).name) or replace(path, to))
    monkeypatch.setattr(database, "sync_directory", lambda directory: events.append("sync") or sync(directory))
    with database.new_file(tmp_path):
        pass
    assert events[-2:] == [database.NEW, "sync"]


def test_a_directory_with_an_experiment_is_refused(tmp_path):
    el.experiment("riverswim", ["always"], steps=10, runs=1, out=tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(LiveError, check=has(__class__=LiveError, path=tmp_path)):
        el.live(tmp_path, task="service-station")
    with pytest.raises(LiveError, check=has(__class__=LiveError, path=tmp_path)):
        lay_out(tmp_path, 2)
    assert sorted(tmp_path.rglob("*")) == before
