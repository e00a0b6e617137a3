"""Calls as a user makes them, each in a process of its own: forked by :mod:`tests.boundary.zygote`, or spawned."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

SECONDS = 240
"""How long a call may take; far longer than it does, on any machine."""

LONGEST = 6 * 3600
"""How long a call in the background may last, such as a service in the soak; then it is ended by a signal."""

PROGRAMS = {"everlearn": str(Path(sys.executable).with_name("everlearn")), "python": sys.executable}
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class Done(NamedTuple):
    """What came of a call; the status is negative where a signal ended it."""

    status: int
    stdout: str
    stderr: str

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it; SIGALRM where it took too long."""
        return signal.Signals(-self.status).name if self.status < 0 else None


class Runner:
    """Makes calls by forking a process that has imported everlearn, and that is started for the first of them."""

    def __init__(self) -> None:
        self._zygote: subprocess.Popen[str] | None = None
        self._turn = threading.Lock()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._zygote is not None:
            self._zygote.communicate(timeout=SECONDS)

    def __call__(
        self,
        call: str,
        directory: Path,
        files: Mapping[str, str] | None = None,
        seconds: int = SECONDS,
        **environment: str,
    ) -> Done:
        """Make a call in a directory, with these files in it."""
        write(directory, files or {})
        command = shlex.split(call)
        request = {"directory": str(directory), "call": command, "seconds": seconds, "environment": environment}
        return Done(self._ask(request), read(directory / ".stdout"), read(directory / ".stderr"))

    def start(self, call: str, directory: Path, before: str = "", seconds: int = LONGEST, **environment: str) -> int:
        """Begin a call after some Python was executed, and return the number of its process; see :meth:`wait`."""
        request = {"directory": str(directory), "call": shlex.split(call), "seconds": seconds, "before": before}
        return self._ask({**request, "environment": environment, "background": True})

    def wait(self, process: int) -> int:
        """Return the exit status of a process that was started, once it has ended; ask once."""
        return self._ask({"wait": process})

    def _ask(self, request: Mapping[str, object]) -> int:
        zygote = self._started()
        assert zygote.stdin is not None
        assert zygote.stdout is not None
        with self._turn:
            zygote.stdin.write(json.dumps(request) + "\n")
            zygote.stdin.flush()
            if not (answer := zygote.stdout.readline()):
                raise RuntimeError(f"the process that forks has died: {zygote.wait()}")
        return int(answer)

    def _started(self) -> subprocess.Popen[str]:
        if self._zygote is None:
            script = str(Path(__file__).with_name("zygote.py"))
            environment = {**os.environ, **ENVIRONMENT}
            self._zygote = subprocess.Popen(
                [sys.executable, script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        return self._zygote


def spawn(call: str, directory: Path, files: Mapping[str, str] | None = None, **environment: str) -> Done:
    """Make a call in a process that is really started: what :class:`Runner` is measured by."""
    write(directory, files or {})
    program, *arguments = shlex.split(call)
    done = subprocess.run(
        [PROGRAMS[program], *arguments],
        cwd=directory,
        env={**os.environ, **ENVIRONMENT, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def write(directory: Path, files: Mapping[str, str]) -> None:
    """Put files into a directory."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(path: Path) -> str:
    """Return what a call wrote, were it not UTF-8 either."""
    return path.read_text(errors="backslashreplace")
