"""The service as a process of its own, on loopback, as an operator starts it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

COMMAND = [sys.executable, "-W", "error", "-c", "from everlearn.cli.main import main; main()", "serve"]
STATION = {"task": "service-station", "schedule": "smooth", "seed": 1}


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    """A running service; ``kill`` ends it as a power cut would, ``stop`` as an operator does."""

    def __init__(self, directory: Path, *options: str, port: int = 0, **variables: str) -> None:
        self.directory = directory
        arguments = [*COMMAND, "--data", str(directory), "--port", str(port), *options]
        self.process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables})
        self.log: list[dict[str, Any]] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.port = self._wait_for("serving")["port"]
        self.url = f"http://127.0.0.1:{self.port}"
        for _ in range(200):
            if self.call("GET", "/readyz").status == 200:  # it says that it serves once it can be reached
                return
            time.sleep(0.02)
        raise AssertionError(self.log)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(json.loads(line))

    def _wait_for(self, message: str) -> dict[str, Any]:
        for _ in range(1500):
            found = [entry for entry in self.log if entry["message"] == message]
            if found:
                return found[0]
            assert self.process.poll() is None, self.log
            time.sleep(0.02)
        raise AssertionError(self.log)

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
        self.process.kill()
        self._ended()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(timeout=60)
        self._reading.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts services; those that still run are ended."""
    begun: list[Service] = []

    def begin(*options: str, directory: Path | None = None, port: int = 0, **variables: str) -> Service:
        begun.append(Service(directory or tmp_path / "data", *options, port=port, **variables))
        return begun[-1]

    yield begin
    for service in begun:
        if service.process.poll() is None:
            service.kill()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests of a module; each makes agents of its own."""
    running = Service(tmp_path_factory.mktemp("service") / "data")
    yield running
    running.kill()
