"""Calls as a user makes them, each in a process of its own: forked by :mod:`tests.boundary.zygote`, or spawned."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

SECONDS = 240
"""How long a call may take; far longer than it does, on any machine."""

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
        status = self._begun(call, directory, files or {}, seconds, environment, background=False)
        return Done(status, read(directory / ".stdout"), read(directory / ".stderr"))

    def start(
        self, call: str, directory: Path, files: Mapping[str, str] | None = None, **environment: str
    ) -> Background:
        """Make a call that is left in the background, for as long as it takes."""
        return Background(self, self._begun(call, directory, files or {}, 0, environment, background=True))

    def ask(self, **request: Any) -> Any:
        """Send the process that forks a request, and return its answer."""
        zygote = self._started()
        assert zygote.stdin is not None
        assert zygote.stdout is not None
        zygote.stdin.write(json.dumps(request) + "\n")
        zygote.stdin.flush()
        if not (answer := zygote.stdout.readline()):
            raise RuntimeError(f"the process that forks has died: {zygote.wait()}")
        return json.loads(answer)

    def _begun(
        self,
        call: str,
        directory: Path,
        files: Mapping[str, str],
        seconds: int,
        environment: Mapping[str, str],
        background: bool,
    ) -> int:
        write(directory, files)
        return self.ask(
            directory=str(directory),
            call=shlex.split(call),
            seconds=seconds,
            environment=environment,
            background=background,
        )

    def _started(self) -> subprocess.Popen[str]:
        if self._zygote is None:
            script = str(Path(__file__).with_name("zygote.py"))
            environment = {**os.environ, **ENVIRONMENT}
            self._zygote = subprocess.Popen(
                [sys.executable, script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        return self._zygote


RUNNER = Runner()
"""One for all tests of a worker; it ends with them."""


class Background:
    """A call that is left in the background, with the methods of :class:`subprocess.Popen` that tests need."""

    def __init__(self, runner: Runner, pid: int) -> None:
        self.runner, self.pid = runner, pid
        self.status: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, or None while it is at work."""
        return self._watched(wait=False)

    def wait(self) -> int:
        """Wait for its end, and return its exit status."""
        return self._watched(wait=True)

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)

    def _watched(self, wait: bool) -> Any:
        if self.status is None:
            self.status = self.runner.ask(process=self.pid, wait=wait)
        return self.status


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
