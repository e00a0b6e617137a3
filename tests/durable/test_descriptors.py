"""SQLite keeps its locks whatever else this process opens and closes, and no forked process writes."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import everlearn as el
from everlearn.durable import descriptors
from everlearn.durable.reader import Reader
from everlearn.errors import LiveError
from tests.durable.test_wal import LOCKED, SETUP


@pytest.fixture
def learned(tmp_path) -> Path:
    with el.live(tmp_path, **SETUP) as agent:
        _learn(agent)
    return tmp_path


def _learn(agent: el.Live) -> None:
    for _ in range(20):
        agent.observe("x", "a", reward=0.5)


def check_locks(directory: Path) -> None:
    """Check from another process that the database and the index of its log are locked."""
    files = [str(directory / f"everlearn.db{suffix}") for suffix in ("", "-shm")]
    subprocess.run([sys.executable, "-c", LOCKED, *files], check=True)


def _handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_an_agent_that_is_opened_beside_an_unfinished_journal_keeps_its_locks(learned):
    """It lost them, since opening reads the files; another process then removed a log with acknowledged steps."""
    before = _handles()
    with el.live(learned, **SETUP) as agent:
        journal = agent.journal()
        next(journal)
    with el.live(learned, **SETUP) as agent:
        _learn(agent)
        check_locks(learned)
    journal.close()
    assert _handles() == before


def test_a_reader_keeps_its_locks_when_another_is_closed(learned):
    before = _handles()
    with Reader(learned) as reader, reader.at_one_moment():
        reader.names()
        for _ in range(3):
            Reader(learned).close()
        check_locks(learned)
    assert _handles() == before


def test_files_of_other_databases_are_closed_at_once(learned, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    el.live(other, **SETUP).close()
    with el.live(learned, **SETUP):
        before = _handles()
        for _ in range(3):
            el.live(other, **SETUP).close()
        assert _handles() == before


def test_a_connection_that_is_forgotten_keeps_nothing_open(learned):
    gc.collect()  # what other tests forgot
    before = _handles()
    reader = Reader(learned)
    Reader(learned).close()
    del reader
    gc.collect()
    Reader(learned).close()
    assert _handles() == before


@pytest.mark.parametrize("by_python", [True, False])
def test_a_forked_process_is_refused_whoever_forked_it(learned, by_python):
    with el.live(learned, **SETUP) as agent:
        process = os.fork() if by_python else ctypes.PyDLL(None).fork()
        if process == 0:
            try:
                agent.observe("x", "a", reward=0.5)
            except LiveError as error:
                os._exit(0 if error.path == Path(learned) else 2)
            finally:
                os._exit(1)
        assert os.waitpid(process, 0)[1] == 0
        _learn(agent)
        assert agent.step == 40


def test_python_wipes_the_mark_where_linux_does_not(monkeypatch):
    monkeypatch.setattr(descriptors, "WIPE_ON_FORK", -1)
    mark = descriptors.fork_mark()
    process = os.fork()
    if process == 0:
        os._exit(mark[0])
    assert os.waitpid(process, 0)[1] == 0
    assert mark[0] == 1
