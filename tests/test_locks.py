"""Who may work in a directory, among processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everlearn.durable.store import Store
from everlearn.errors import Held, StoreError
from everlearn.locks import gathering, is_held, unless_held, working

HOLDER = """
import sys, time
from pathlib import Path
from everlearn.locks import working
with working(Path(sys.argv[1]), sys.argv[2] or None):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def held(directory: Path, shard: str = "") -> Iterator[subprocess.Popen]:
    """Another process holds the directory."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, directory, shard], stdout=subprocess.PIPE, text=True
    ) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            yield holder
        finally:
            holder.kill()


def refused(directory: Path, shard: str | None = None) -> str:
    with pytest.raises(StoreError) as caught, working(directory, shard):
        pass
    return str(caught.value)


def test_a_second_process_is_told_of_the_first(tmp_path):
    with held(tmp_path) as holder:
        message = refused(tmp_path)
        assert message.startswith(f"{tmp_path}: another process works there (process {holder.pid} on ")
        assert message.endswith("); wait for it, or give another directory")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_a_lock_ends_with_its_process(tmp_path, how):
    with held(tmp_path) as holder:
        os.kill(holder.pid, how)
        holder.wait()
        with working(tmp_path):
            pass


def test_shards_work_beside_each_other(tmp_path):
    with held(tmp_path, "1-of-2"), working(tmp_path, "2-of-2"), working(tmp_path, "1-of-3"):
        pass


def test_nobody_does_a_shard_twice(tmp_path):
    with held(tmp_path, "1-of-2") as holder:
        assert f"process {holder.pid} " in refused(tmp_path, "1-of-2")


def test_who_works_alone_keeps_shards_out(tmp_path):
    with working(tmp_path):
        assert "this process has it open already" in refused(tmp_path, "1-of-2")


def test_a_shard_keeps_out_who_would_work_alone(tmp_path):
    with working(tmp_path, "1-of-2"):
        assert "another process works there" in refused(tmp_path)
    with working(tmp_path):
        pass


def test_who_has_gone_is_not_named(tmp_path):
    with held(tmp_path) as gone:
        pass
    with working(tmp_path, "1-of-2"):
        assert f"process {gone.pid} " not in refused(tmp_path)


def test_a_lock_is_free_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), working(tmp_path):
        raise ZeroDivisionError
    with working(tmp_path), gathering(tmp_path):
        pass


def test_a_directory_is_made_where_there_is_none(tmp_path):
    with working(tmp_path / "deep" / "down"):
        assert (tmp_path / "deep" / "down").is_dir()


def test_a_forked_child_does_not_keep_the_lock(tmp_path):
    reading, writing = os.pipe()
    with working(tmp_path):
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until its parent has ended the test
            os._exit(0)
    try:
        with working(tmp_path):
            pass
    finally:
        os.close(writing)
        os.waitpid(child, 0)
        os.close(reading)


def test_a_lock_file_may_have_anything_in_it(tmp_path):
    (tmp_path / ".lock").write_bytes(b"\xff\xfe")
    with working(tmp_path, "1-of-2"):
        assert "another process works there; wait for it" in refused(tmp_path)


def test_readers_know_whether_a_directory_is_held(tmp_path):
    with unless_held(tmp_path) as free:
        assert free
    with working(tmp_path), unless_held(tmp_path) as free:
        assert not free
    with unless_held(tmp_path) as free:
        assert free


def test_a_reader_is_waited_for(tmp_path):
    with working(tmp_path):
        pass
    reading, read = threading.Event(), threading.Event()

    def reader():
        with unless_held(tmp_path) as free:
            assert free
            reading.set()
            read.wait()

    thread = threading.Thread(target=reader)
    thread.start()
    reading.wait()
    with pytest.raises(Held), working(tmp_path, patience=0.0):
        pass
    threading.Timer(0.3, read.set).start()  # longer than is waited by default
    Store(tmp_path).close()
    thread.join()


@pytest.mark.parametrize("shard", ["", "1-of-2"])
def test_one_sees_whether_somebody_works_there(tmp_path, shard):
    """Also if it was killed, and although others look at the same time."""
    assert not is_held(tmp_path)
    with held(tmp_path, shard), unless_held(tmp_path):
        assert is_held(tmp_path)
        assert is_held(tmp_path)
    with unless_held(tmp_path):
        assert not is_held(tmp_path)
