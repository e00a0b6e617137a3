"""The process that forks says what a process that is really started would say."""

from __future__ import annotations

import pytest

from tests.boundary.runner import spawn

SCRIPTS = {
    "fails": "def f():\n    return 1 / 0\n\n\nprint('begun')\nf()\n",
    "leaves": "import sys\nsys.exit(3)\n",
    "says why it leaves": "import sys\nsys.exit('enough')\n",
    "crashes": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "cannot be read": "print('a'\n",
    "has arguments": "import sys\nprint(sys.argv, __name__, sys.path[0], sys.stdin.read())\n",
    "leaves a thread": "import threading\nthreading.Timer(0.05, print, ['late']).start()\n",
    "warns": "import warnings\nwarnings.warn('careful')\n",
    "imports its neighbour": "import other\nprint(other.__name__)\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that(name, tmp_path, runner):
    files = {"mine.py": SCRIPTS[name], "other.py": ""}
    spawned, forked = (make("python mine.py 1 'b c'", tmp_path, files) for make in (spawn, runner))
    assert forked == spawned


def test_a_call_does_not_see_the_one_before(tmp_path, runner):
    for text in ("first", "second"):
        files = {"mine.py": "import other", "other.py": f"print({text!r})"}
        assert runner("python mine.py", tmp_path, files).stdout == f"{text}\n"


def test_what_takes_too_long_is_ended(tmp_path, runner):
    done = runner("python mine.py", tmp_path, {"mine.py": "while True:\n    pass\n"}, seconds=1)
    assert done.signal == "SIGALRM"
