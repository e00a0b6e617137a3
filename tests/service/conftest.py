"""The service as a process of its own, on loopback, as an operator starts it."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.boundary.runner import Runner
from tests.memory import Factory, tmp_path, tmp_path_factory

__all__ = ["Service", "service", "start", "tmp_path", "tmp_path_factory"]

COMMAND = [sys.executable, "-W", "error", "-c", "from everlearn.cli.main import main; main()", "serve"]
STRICT = "import warnings; warnings.simplefilter('error')\n"
STATION = {"task": "service-station", "schedule": "smooth", "seed": 1}
PATIENCE = 120
"""Seconds that are waited for what takes a fraction of one on a machine that is not busy."""

_numbers = itertools.count()


def until(condition: Callable[[], Any], what: Callable[[], object] = str) -> Any:
    """Wait until something is so, and return it; fail only where it is not for a long time."""
    ends = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < ends, what()
        time.sleep(0.005)
    return found


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    """A running service, forked from a process that has imported it.

    ``kill`` ends it as a power cut would, ``stop`` as an operator does.  ``before`` is Python that it executes first.
    """

    def __init__(
        self, runner: Runner, directory: Path, *options: str, port: int = 0, before: str = "", **variables: str
    ) -> None:
        self.directory, self._runner = directory, runner
        self._status: int | None = None
        self._folder = directory.with_name(f"{directory.name}-{next(_numbers)}")
        self._folder.mkdir(parents=True)
        call = shlex.join(["everlearn", "serve", "--data", str(directory), "--port", str(port), *options])
        self.pid = runner.start(call, self._folder, STRICT + before, **variables)
        self.port = self.logged("serving")["port"]
        self.url = f"http://127.0.0.1:{self.port}"
        until(self._is_ready, lambda: self.log)

    def _is_ready(self) -> bool:
        return self.call("GET", "/readyz").status == 200  # it says that it serves once it can be reached

    @property
    def log(self) -> list[dict[str, Any]]:
        """What it has logged."""
        whole_lines = self.written.rpartition("\n")[0]
        return [json.loads(line) for line in whole_lines.splitlines()]

    @property
    def written(self) -> str:
        """What it has written on standard error."""
        path = self._folder / ".stderr"
        return path.read_text() if path.exists() else ""

    @property
    def is_running(self) -> bool:
        if self._status is not None:
            return False
        state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"

    def logged(self, message: str) -> dict[str, Any]:
        """Wait for a message, and return its entry."""

        def found() -> list[dict[str, Any]]:
            entries = [entry for entry in self.log if entry["message"] == message]
            assert entries or self.is_running, self.log
            return entries

        return until(found, lambda: self.log)[0]

    def call(self, method: str, path: str, body: Any = None, *, timeout: float = 30, **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, sent, {"Content-Type": "application/json", **named})
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """Return the document that a request is answered with, which must be a good one."""
        reply = self.call("POST", path, body, **headers)
        assert reply.status in (200, 201), reply
        return reply.json

    def create(self, name: str, setup: dict[str, Any] | None = None) -> None:
        self.post("/v1/agents", {"name": name, "setup": STATION if setup is None else setup})

    def metric(self, name: str) -> float:
        text = self.call("GET", "/metrics").body.decode()
        return float(next(line.split()[-1] for line in text.splitlines() if line.startswith(f"everlearn_{name} ")))

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.ended()

    def stop(self, number: int = signal.SIGTERM) -> int:
        os.kill(self.pid, number)
        return self.ended()

    def ended(self) -> int:
        """Wait for its end, and return its exit status."""
        if self._status is None:
            self._status = self._runner.wait(self.pid)
        return self._status


@pytest.fixture
def start(runner: Runner, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts services; those that still run are ended."""
    begun: list[Service] = []

    def begin(*options: str, directory: Path | None = None, **more: Any) -> Service:
        begun.append(Service(runner, directory or tmp_path / "data", *options, **more))
        return begun[-1]

    yield begin
    for service in begun:
        if service.is_running:
            service.kill()


@pytest.fixture(scope="module")
def service(runner: Runner, tmp_path_factory: Factory) -> Iterator[Service]:
    """One service for all tests of a module; each makes agents of its own."""
    running = Service(runner, tmp_path_factory.mktemp("service") / "data")
    yield running
    running.kill()
