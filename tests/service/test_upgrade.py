"""Upgrade from version 0.1, and return to it: as docs/runbook.md says, with the real 0.1 where git has it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.service.conftest import STATION, until

ROOT = Path(__file__).parents[2]
LAST_OF_0_1 = "f706aef"
"""The commit after which work on 0.2 began."""

OBSERVATIONS = ["arrival", "departure", "arrival", "nothing", "departure", "arrival", "arrival", "nothing", "departure"]


def test_an_agent_state_of_0_1_is_imported(service):
    """It was exported by 0.1 after five arrivals; this version knows the same after them."""
    for name in ("same", "imported"):
        service.create(name)
    for step in range(1, 6):
        service.post("/v1/agents/same/observe", {"step": step, "observation": "arrival"})
    state = Path(__file__).with_name("state-0.1.npz").read_bytes()
    reply = service.call("PUT", "/v1/agents/imported/state", state, Content_Type="application/octet-stream")
    assert reply.status == 200
    same, imported = (service.call("GET", f"/v1/agents/{name}").json for name in ("same", "imported"))
    assert imported["t"] == same["t"] == 5
    assert near(imported["values"], same["values"])


def near(one, other) -> bool:
    """Return whether two documents are equal, up to the last bits of their numbers."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(near(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(near, one, other))
    return one == (pytest.approx(other, rel=1e-9) if isinstance(other, float) else other)


class Version:
    """A version of everlearn: the command, and a service."""

    def __init__(self, sources: Path) -> None:
        self.environment = {**os.environ, "PYTHONPATH": str(sources)}
        self.command = [sys.executable, "-c", "from everlearn.cli.main import main; main()"]

    def call(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *map(str, arguments)], env=self.environment, capture_output=True, text=True, check=False
        )

    @contextmanager
    def serving(self, directory: Path, end: int = signal.SIGTERM) -> Iterator[Asked]:
        command = [*self.command, "serve", "--data", str(directory), "--port", "0"]
        with subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            port = next(line["port"] for line in map(json.loads, running.stderr) if line["message"] == "serving")
            address = f"http://127.0.0.1:{port}"
            until(lambda: is_ready(address))  # 0.1 says that it serves a moment before it does
            try:
                yield Asked(f"{address}/v1/agents")
            finally:
                running.send_signal(end)
                running.communicate(timeout=60)


def is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=60) as response:
            return bool(response.status == 200)
    except OSError:
        return False


class Asked:
    """Requests to one service."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, path: str, body=None, method: str | None = None):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = response.read()
        return answer if path.endswith("/state") and method is None else json.loads(answer)

    def drive(self, first: int, last: int) -> list[str]:
        """Take steps; return the actions that were chosen."""
        actions = []
        for step in range(first, last + 1):
            actions.append(self("/a/act", {})["action"])
            observation = OBSERVATIONS[step % len(OBSERVATIONS)]
            self("/a/observe", {"step": step, "observation": observation})
        return actions


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Version:
    folder = tmp_path_factory.mktemp("old")
    packed = subprocess.run(["git", "archive", LAST_OF_0_1, "src"], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip("THE HISTORY OF 0.1 IS NOT HERE")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    assert '"0.1.0"' in (folder / "src/everlearn/_version.py").read_text()
    return Version(folder / "src")


@pytest.mark.soak
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_drill_with_the_real_0_1(old, tmp_path, end):
    new, data, backup = Version(ROOT / "src"), tmp_path / "data", tmp_path / "backup.db"
    with old.serving(data, end) as ask:
        ask("", {"name": "a", "setup": STATION})
        ask.drive(1, 60)
        assert old.call("backup", data, backup).returncode == 0
    stayed = tmp_path / "stayed"
    shutil.copytree(data, stayed)

    # upgrade: the same agent, the same actions, the same values as if it had stayed with 0.1
    with old.serving(stayed) as ask:
        before = ask.drive(61, 120), ask("/a")["values"]
    with new.serving(data) as ask:
        after = ask.drive(61, 120), ask("/a")["values"]
        state = ask("/a/state")
    assert after[0] == before[0]
    assert near(after[1], before[1])
    assert new.call("check", data).returncode == 0

    # 0.1 refuses the directory, in one line, and leaves it as it is
    content = (data / "everlearn.db").read_bytes()
    for call in (["serve", "--data", data, "--port", "0"], ["policy", data], ["journal", data]):
        done = old.call(*call)
        assert (done.returncode, done.stdout) == (2, "")
        assert "schema version 4, this everlearn reads 2; use a newer everlearn" in done.stderr
        assert done.stderr.count("\n") == 1
    assert old.call("backup", data, tmp_path / "none.db").returncode == 2
    assert "table meta: schema version 4, and 2 is read" in old.call("check", data).stdout  # it calls this damaged
    assert (data / "everlearn.db").read_bytes() == content

    # downgrade: the backup, and what the agent has learned since
    restored = tmp_path / "restored"
    restored.mkdir()
    shutil.copy(backup, restored / "everlearn.db")
    with old.serving(restored) as ask:
        assert ask("/a")["step"] == 60
        assert ask("/a/state", state, "PUT")["t"] == 120
        assert near(ask("/a")["values"], after[1])
        ask.drive(61, 62)  # its steps go on from the backup
