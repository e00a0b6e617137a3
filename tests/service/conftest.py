"""The service as a process of its own, on loopback, as an operator starts it; forked, so that it starts at once."""

from __future__ import annotations

import http.client
import json
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import pytest

from tests.boundary.runner import RUNNER

SCRIPT = """
import warnings
warnings.simplefilter("error")
{before}
from everlearn.cli.main import main
main()
"""
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

    def __init__(self, directory: Path, *options: str, port: int = 0, before: str = "") -> None:
        self.directory = directory
        self._scratch = Path(mkdtemp(prefix="everlearn-service-"))
        arguments = ["python", "serve.py", "serve", "--data", str(directory), "--port", str(port), *options]
        files = {"serve.py": SCRIPT.format(before=before), ".stderr": ""}
        self.process = RUNNER.start(shlex.join(arguments), self._scratch, files)
        self.port = self._wait_for("serving")["port"]
        self.url = f"http://127.0.0.1:{self.port}"
        for _ in range(1500):
            try:
                if self.call("GET", "/readyz").status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError(self.log)

    @property
    def log(self) -> list[dict[str, Any]]:
        """What it has logged so far."""
        text = (self._scratch / ".stderr").read_text() if self._text is None else self._text
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    _text: str | None = None

    def _wait_for(self, message: str) -> dict[str, Any]:
        for _ in range(3000):
            ended = self.process.poll() is not None
            if found := [entry for entry in self.log if entry["message"] == message]:
                return found[0]
            assert not ended, self.log
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
        code = self.process.wait()
        if self._text is None:
            self._text = (self._scratch / ".stderr").read_text()
            shutil.rmtree(self._scratch)
        return code


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts services; those that still run are ended."""
    begun: list[Service] = []

    def begin(*options: str, directory: Path | None = None, port: int = 0, before: str = "") -> Service:
        begun.append(Service(directory or tmp_path / "data", *options, port=port, before=before))
        return begun[-1]

    yield begin
    for service in begun:
        service.kill()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests of a module; each makes agents of its own."""
    running = Service(tmp_path_factory.mktemp("service") / "data")
    yield running
    running.kill()
