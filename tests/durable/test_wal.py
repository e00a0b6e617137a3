"""The write-ahead log is read as SQLite reads it."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from everlearn.durable.wal import Log, _checksum, inspect


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


def test_frames_are_those_that_sqlite_counts(database):
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


def test_without_a_log_there_is_nothing_to_say(tmp_path):
    sqlite3.connect(tmp_path / "some.db").close()
    assert inspect(tmp_path / "some.db") is None
