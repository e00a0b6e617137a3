"""What ``make portable`` does: which ways it finds, that it is bounded, and that its busy loops end."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests import portable
from tests.portable import LOOP, Way, busy, processor_flags, run, ways

OLD = "processor\t: 0\nflags\t\t: fpu sse4_2 avx\n\nprocessor\t: 1\nflags\t\t: avx512f\n"


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_way_is_skipped_for_what_the_processor_cannot_do():
    flags = processor_flags(OLD)
    assert flags == {"fpu", "sse4_2", "avx"}
    missing = {way.title: way.missing(flags) for way in ways()}
    assert missing["OPENBLAS_CORETYPE=Nehalem"] == []
    assert missing["OPENBLAS_CORETYPE=Haswell"] == ["avx2", "fma"]
    assert "avx512f" in missing["OPENBLAS_CORETYPE=SkylakeX"]
    assert [way.missing(frozenset()) for way in ways() if not way.title.startswith("OPENBLAS")] == [[], []]


def test_there_is_one_way_for_each_thing_that_differs():
    variables = [name for way in ways() for name in way.environment]
    assert variables.count("OPENBLAS_CORETYPE") == 3
    assert variables.count("NUMBA_CPU_NAME") == variables.count("NPY_DISABLE_CPU_FEATURES") == 1
    assert [way.loops for way in ways()] == [0, 0, 0, 0, 4]


def test_what_came_of_each_way_is_said(monkeypatch, capsys):
    seen = []

    def called(command, **options):
        seen.append((command[-1], options["env"].get("OPENBLAS_CORETYPE")))
        return subprocess.CompletedProcess(command, int(len(seen) == 2))

    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setattr(subprocess, "run", called)
    monkeypatch.setattr(portable, "processor_flags", lambda _text: frozenset({"sse4_2", "avx2", "fma"}))
    assert portable.main(["tests/theory"]) == 1
    assert seen == [("tests/theory", core) for core in ("Nehalem", "Haswell", None, None)]
    told = capsys.readouterr().out.splitlines()[-5:]
    outcomes = [line.rpartition(": ")[2] if "FAILED" in line else line.partition(": ")[2] for line in told]
    assert outcomes[0].startswith("passed (")
    assert outcomes[1].startswith("exit code 1 (")
    assert outcomes[2].startswith("skipped: this processor has no avx512bw")


def test_it_is_bounded(monkeypatch):
    def late(command, timeout, **_options):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", late)
    assert run(Way("slow"), [], seconds=5) == "FAILED: not done after 5 s"


def test_busy_loops_end_with_the_tests(monkeypatch):
    started = []
    start = subprocess.Popen

    def noted(*arguments):
        started.append(start(*arguments))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    with busy(2):
        assert [loop.poll() for loop in started] == [None, None]
    assert all(loop.poll() is not None for loop in started)


@pytest.mark.soak
def test_busy_loops_end_with_whoever_started_them():
    begin = """
import os, subprocess, sys
print(subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid())]).pid)
"""
    done = subprocess.run([sys.executable, "-c", begin, LOOP], stdout=subprocess.PIPE, text=True, check=True)
    while is_there(int(done.stdout)):
        time.sleep(0.01)
