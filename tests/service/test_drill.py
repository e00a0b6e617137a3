"""A restore drill: the primary is lost, and its agents continue elsewhere from what ``backup --follow`` has copied."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from everlearn.client import Client, ServiceError
from everlearn.durable.checking import check
from everlearn.durable.layout import stores_of
from tests.service.conftest import STATION, Service, until
from tests.service.test_chaos import world

NAMES = ("a", "d")


class Replica:
    """``everlearn backup --follow`` in a process of its own."""

    def __init__(self, runner, source: Path, target: Path, folder: Path) -> None:
        folder.mkdir()
        self.runner, self.folder, self.killed = runner, folder, False
        self.pid = runner.start(f"everlearn backup {source} {target} --follow --every 0.1 --json", folder)

    @property
    def copies(self) -> list[dict]:
        """What it has copied so far."""
        if not (self.folder / ".stdout").exists():
            return []
        lines = (self.folder / ".stdout").read_text().rpartition("\n")[0].splitlines()
        return [json.loads(line) for line in lines]

    def kill(self) -> None:
        if not self.killed:
            self.killed = True
            os.kill(self.pid, signal.SIGKILL)
            self.runner.wait(self.pid)


@pytest.fixture
def follow(runner, tmp_path) -> Iterator[Callable[[Path, Path], Replica]]:
    """Follows a directory; the process is ended with the test."""
    begun: list[Replica] = []

    def begin(source: Path, target: Path) -> Replica:
        begun.append(Replica(runner, source, target, tmp_path / "following"))
        return begun[-1]

    yield begin
    for replica in begun:
        replica.kill()


def drive(client: Client, station, steps: int, acknowledged: list[tuple[float, object, object]]) -> None:
    """Step, and note when each step was acknowledged."""
    for _ in range(steps):
        action = client.act()
        observation = station.step(action)
        assert client.observe(observation) is not None
        acknowledged.append((time.time(), action, observation))


@pytest.mark.soak
@pytest.mark.parametrize("options", [(), ("--shards", "2")])
def test_the_replica_continues_and_lacks_no_more_than_an_interval(start, follow, tmp_path, options):
    primary = start(*options, directory=tmp_path / "primary")
    for name in NAMES:
        primary.create(name)
    target = tmp_path / "replica" if options else tmp_path / "replica" / "everlearn.db"
    replica = follow(primary.directory, target)
    done = {name: [] for name in NAMES}
    clients = {name: Client(primary.url, name, deadline=60) for name in NAMES}
    worlds = {name: world(number) for number, name in enumerate(NAMES)}
    for _ in range(3):
        copied = until(lambda: replica.copies and len(replica.copies))
        for name in NAMES:
            drive(clients[name], worlds[name], 20, done[name])
        until(lambda count=copied: len(replica.copies) > count, lambda: replica.copies)
    primary.kill()  # the machine is gone
    replica.kill()  # and so is what was copying, be it in the middle of a copy
    last = replica.copies[-1]
    restored = tmp_path / "restored"
    shutil.copytree(tmp_path / "replica", restored, ignore=shutil.ignore_patterns(".*"))
    assert all(check(store).sound for store in stores_of(restored))
    secondary = start(*options, directory=restored)
    for name in NAMES:
        step = secondary.call("GET", f"/v1/agents/{name}").json["step"]
        assert step >= sum(at <= last["at"] for at, *_ in done[name])  # what is lost came after the last copy began
        assert journal(secondary, name) == [(action, seen) for _, action, seen in done[name][:step]]
        resume(secondary, name, worlds[name], len(done[name]) - step)
    assert secondary.stop() == 0
    for client in clients.values():
        client._connection.close()


def resume(service: Service, name: str, station, missing: int) -> None:
    """Let a controller that is ahead of the replica continue there: it sends again what is missing, with its step."""
    with Client(service.url, name, deadline=60) as client:
        before = service.call("GET", f"/v1/agents/{name}").json["step"]
        drive(client, station, 10, [])
        assert service.call("GET", f"/v1/agents/{name}").json["step"] == before + 10
        with pytest.raises(ServiceError) as refused:  # a controller that does not know what was lost is told
            client._post("observe", {"step": before + missing + 100, "observation": "arrival"}, time.monotonic() + 60)
        assert refused.value.document["expected"] == before + 11


def journal(service: Service, name: str) -> list[tuple[object, object]]:
    rows = service.call("GET", f"/v1/agents/{name}/journal").body.splitlines()
    return [(row["executed"], row["observation"]) for row in map(json.loads, rows)]


def test_a_damaged_primary_does_not_replace_a_good_copy(start, follow, tmp_path):
    service = start(directory=tmp_path / "primary")
    service.create("a", STATION)
    target = tmp_path / "kept" / "everlearn.db"
    replica = follow(service.directory, target)
    until(lambda: replica.copies)
    service.stop()
    before = len(replica.copies)
    os.utime(service.directory / "everlearn.db")  # so that what the service wrote when it stopped is copied
    until(lambda: len(replica.copies) > before)
    kept = target.read_bytes()
    database = service.directory / "everlearn.db"
    content = bytearray(database.read_bytes())
    content[content.index(b'"service-station"') + 3] ^= 1
    database.write_bytes(content)
    until(lambda: "the copy before it is kept" in (tmp_path / "following" / ".stderr").read_text())
    assert target.read_bytes() == kept
