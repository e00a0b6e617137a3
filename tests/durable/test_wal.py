"""The write-ahead log is read as SQLite reads it."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

import everlearn as el
from everlearn.durable.audit import export
from everlearn.durable.backup import backup
from everlearn.durable.checking import check
from everlearn.durable.reader import Reader
from everlearn.durable.repair import repair
from everlearn.durable.wal import Log, _checksum, _index, frames_in_use, inspect
from everlearn.errors import Corrupt
from tests.refusal import has


def literal(words, s0, s1):
    """The checksum as the file format describes it."""
    for x, y in zip(words[0::2], words[1::2], strict=True):
        s0 = (s0 + int(x) + s1) % 2**32
        s1 = (s1 + int(y) + s0) % 2**32
    return s0, s1


@pytest.mark.parametrize("pairs", [1, 2, 3, 514])
def test_the_checksum_is_that_of_the_file_format(pairs):
    words = np.random.default_rng(pairs).integers(0, 2**32, size=(3, 2 * pairs), dtype=np.uint32)
    before = np.array([[0, 0], [1, 2], [2**32 - 1, 2**31]], dtype=np.uint32)
    found = _checksum(words, before)
    expected = [literal(row, *map(int, begun)) for row, begun in zip(words, before, strict=True)]
    assert [tuple(map(int, row)) for row in found] == expected


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "some.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (x)")
    yield path, connection
    connection.close()


@pytest.mark.parametrize("chunk", [7, 1000])
def test_frames_are_those_that_sqlite_counts(database, monkeypatch, chunk):
    monkeypatch.setattr("everlearn.durable.wal.CHUNK", chunk)
    path, connection = database
    for number in range(20):
        connection.execute("INSERT INTO t VALUES (?)", (number,))
    found = inspect(path)
    _, frames, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    assert found == Log(frames, lost=0, missing=0)
    assert frames == copied > 20


def test_a_log_that_begins_again_keeps_what_is_old_apart(database):
    path, connection = database
    for number in range(20):
        connection.execute("INSERT INTO t VALUES (?)", (number,))
    connection.execute("PRAGMA wal_checkpoint(RESTART)")
    connection.execute("INSERT INTO t VALUES (99)")
    assert inspect(path) == Log(frames=1, lost=0, missing=0)


def test_frames_that_the_index_does_not_know_were_never_committed(database):
    path, connection = database
    before, after = path.parent / "before", path.parent / "after"
    for copy in (before, after):
        copy.mkdir()
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(f"{path}{suffix}", copy)
        connection.execute("INSERT INTO t VALUES (1)")
    log = after / "some.db-wal"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    assert inspect(after / "some.db").missing == 1
    shutil.copy(before / "some.db-shm", after)
    assert inspect(after / "some.db") == inspect(before / "some.db")
    (after / "some.db-shm").unlink()
    assert inspect(after / "some.db").torn


def test_without_a_log_there_is_nothing_to_say(tmp_path):
    sqlite3.connect(tmp_path / "some.db").close()
    assert inspect(tmp_path / "some.db") is None


SETUP = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1), "agent": "q-learning", "seed": 1}


@pytest.fixture
def killed(tmp_path):
    """A directory as a killed process leaves it, with 20 rows in the log."""
    with el.live(tmp_path / "working", **SETUP) as agent:
        for _ in range(20):
            agent.act()
            agent.observe("x", reward=0.5)
        shutil.copytree(tmp_path / "working", tmp_path / "killed")
    return tmp_path / "killed"


def cut(path, frames):
    """Cut frames off the end of a log."""
    path.write_bytes(path.read_bytes()[: -frames * (24 + 4096)])


def contents(directory):
    """Return the contents of the files of SQLite."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != ".lock"}


def read_with_reader(directory):
    with Reader(directory) as reader:
        return reader.look("agent")


READERS = {
    "policy": read_with_reader,
    "journal": lambda directory: list(export(directory)),
    "backup": lambda directory: backup(directory, directory.parent / "copy.db"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_reading_does_not_erase_the_evidence(killed, read):
    """SQLite rebuilds the index of a log that was cut off, and then nothing shows that it was longer."""
    log = killed / "everlearn.db-wal"
    cut(log, 5)
    assert inspect(killed / "everlearn.db").missing == 5
    before = contents(killed)
    for attempt in (read, el.live):
        with pytest.raises(Corrupt, check=has(path=log)):
            attempt(killed)
    assert contents(killed) == before


def test_a_check_reports_the_evidence_and_a_repair_acts_on_it(killed):
    cut(killed / "everlearn.db-wal", 5)
    before = contents(killed)
    for _ in range(2):
        (finding,) = check(killed).findings
        assert str(finding) == "everlearn.db-wal: 5 frames at its end cannot be read"
    assert contents(killed) == before
    assert repair(killed)["agents"][0]["step"] == 15
    assert check(killed).sound
    with el.live(killed) as agent:
        assert agent.step == 15


def test_readers_do_not_mind_a_log_that_is_in_use(killed):
    with el.live(killed) as agent:
        agent.observe("x", "a", reward=0.5)
        with (killed / "everlearn.db-wal").open("ab+") as log:  # as while a commit is being written
            log.seek(-2 * (24 + 4096), os.SEEK_END)
            log.write(log.read())
        assert [read(killed) is None for read in READERS.values()] == [False] * 3
        assert check(killed).in_use


@pytest.mark.parametrize("rows", [1, 30])
def test_a_commit_that_was_interrupted_is_reported_with_its_rows(tmp_path, caplog, rows):
    with el.live(tmp_path / "working", **SETUP) as agent:
        agent.warm_start([("x", "a", 0.5)] * 40)
        agent.warm_start([("y", "b", 0.5)] * rows)
        shutil.copytree(tmp_path / "working", tmp_path / "cut")
    (tmp_path / "cut" / "everlearn.db-shm").unlink()
    log = tmp_path / "cut" / "everlearn.db-wal"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    report = check(tmp_path / "cut")
    assert report.sound
    (warning,) = report.warnings
    assert "everlearn.db-wal: the last commit is incomplete: " in str(warning)
    number = int(re.search(r"about (\d+) rows may be missing", str(warning))[1])
    assert rows <= number <= rows + 3  # a snapshot has entries of its own
    with el.live(tmp_path / "cut") as agent:
        assert agent.step == 40
    assert f"about {number} rows may be missing" in caplog.text


def test_heads_know_the_rows_that_a_killed_process_left_in_the_log(killed):
    el.live(killed).close()  # which copies the log to the database
    with closing(sqlite3.connect(killed / "everlearn.db")) as connection:
        assert connection.execute("SELECT seq FROM heads").fetchall() == [(20,)]
        connection.execute("DELETE FROM journal WHERE seq > 15")  # as a damaged page may lack them
        connection.commit()
    assert "rows 16 to 20 are missing" in str(check(killed).findings)
    with pytest.raises(Corrupt, check=has(table="journal", row=16)):
        el.live(killed)


def test_a_damaged_head_is_not_mended_by_opening(killed):
    with el.live(killed):
        pass
    with closing(sqlite3.connect(killed / "everlearn.db")) as connection:
        connection.execute("UPDATE heads SET seq = 3")
        connection.commit()
    for _ in range(2):
        with pytest.raises(Corrupt, check=has(table="heads", number=1)):
            el.live(killed)


LOCKED = """
import fcntl, sys
for file, place in zip(sys.argv[1:], (0x40000002, 128)):  # where SQLite locks a database and the index of its log
    with open(file, "rb+") as opened:
        try:
            fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError:
            continue
        sys.exit(file + " is not locked")
"""


def test_sqlite_keeps_its_locks_while_an_agent_learns(tmp_path):
    """Otherwise a reader in another process cuts off the index of the log, and the next commit ends this process."""
    with el.live(tmp_path, **SETUP) as agent:
        for _ in range(150):
            agent.observe("x", "a", reward=0.5)
        files = [str(tmp_path / f"everlearn.db{suffix}") for suffix in ("", "-shm")]
        subprocess.run([sys.executable, "-c", LOCKED, *files], check=True)


def test_frames_are_counted_as_sqlite_does(tmp_path, monkeypatch):
    """While the log grows, is copied, and begins again."""
    monkeypatch.setattr("everlearn.durable.database.LOG_FRAMES", 100)
    counts = []
    with el.live(tmp_path, **SETUP) as agent:
        for number in range(400):
            agent.observe("xy"[number % 2], "a", reward=0.5)
            counts.append(frames_in_use(agent.store.path))
            assert counts[-1] == _index((tmp_path / "everlearn.db-shm").read_bytes())[0]
    assert counts != sorted(counts)
    assert max(counts) < 200
