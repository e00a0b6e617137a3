"""Stations against a service of several shards, of which one after another is killed at random moments."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from everlearn.durable.layout import shard_directory
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.service.placement import Placement, lay_out
from tests.boundary.runner import Runner
from tests.service.conftest import Service, until
from tests.service.test_chaos import SETUP, assert_same_state, undisturbed, world


class Controller(threading.Thread):
    """Steps one agent over a connection that it keeps; after an error, it repeats the request over another."""

    def __init__(self, service: Service, name: str, seed: int, shards: int) -> None:
        super().__init__(daemon=True)
        self.shard = Placement(shards).owner(name)
        self.service, self.agent, self.seed = service, name, seed
        self.acknowledged: list[tuple[object, object]] = []
        self.errors: list[str] = []
        self.stopped = threading.Event()
        self.problem: BaseException | None = None
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        try:
            station, combined = world(self.seed), random.Random(self.seed)
            action = self._ask("act", {})["action"]
            while not self.stopped.is_set():
                observation = station.step(action)
                body = {"step": len(self.acknowledged) + 1, "observation": observation}
                if combined.random() < 0.5:
                    following = self._ask("step", body)["next"]["action"]
                else:
                    self._ask("observe", body)
                    following = self._ask("act", {})["action"]
                self.acknowledged.append((action, observation))
                action = following
        except BaseException as error:
            self.problem = error
        finally:
            self._hang_up()

    def _ask(self, operation: str, body: dict) -> dict:
        ends = time.monotonic() + 120
        while True:
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
                headers = {"Content-Type": "application/json"}
                self._connection.request("POST", f"/v1/agents/{self.agent}/{operation}", json.dumps(body), headers)
                response = self._connection.getresponse()
                document = json.loads(response.read())
                if response.status == 200:
                    return document
                assert response.status == 503, document
                self.errors.append(f"{response.status} {document}")
            except (OSError, http.client.HTTPException) as error:
                self.errors.append(repr(error))
            self._hang_up()
            assert time.monotonic() < ends, self.errors
            time.sleep(0.01)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def prepare(directory: Path, shards: int, names: list[str]) -> None:
    """Create agents where the service will look for them; over HTTP each would be tried first, which takes longer."""
    directory.mkdir(parents=True)
    placement = lay_out(directory, shards)
    for shard in range(shards):
        with Store(shard_directory(directory, shard)) as store:
            for name in names:
                if placement.owner(name) == shard:
                    store.create(name, make_setup(**SETUP))


def process_of(service: Service, shard: int) -> int:
    """The process that holds the directory of a shard, once it does."""
    lock = service.directory / f"shard-{shard}" / ".lock"
    holder = until(lambda: re.match(r"process (\d+) on", lock.read_text()))
    return int(holder[1])


def kill(service: Service, shard: int, after: float) -> None:
    """Kill a shard after a while, be it in the middle of its start, and wait for the next process."""
    time.sleep(after)
    victim = process_of(service, shard)
    os.kill(victim, signal.SIGKILL)
    until(lambda: process_of(service, shard) != victim)


def endure(
    runner: Runner, directory: Path, *, shards: int, agents: int, rounds: int, kills: int, seed: int
) -> dict[str, int]:
    """Kill one shard after another; see that nothing is lost or done twice, and that other shards notice nothing."""
    prepare(directory / "data", shards, [f"agent-{number}" for number in range(agents)])
    service = Service(runner, directory / "data", "--shards", str(shards))
    moments = random.Random(seed)
    controllers = [Controller(service, f"agent-{number}", number, shards) for number in range(agents)]
    assert {controller.shard for controller in controllers} == set(range(shards))
    try:
        for controller in controllers:
            controller.start()
        errors = 0
        for number in range(rounds):
            errors += disturb(service, controllers, number % shards, [moments.uniform(0.0, 0.3) for _ in range(kills)])
        finish(service, controllers)
        assert service.stop() == 0
    finally:
        if service.is_running:
            service.kill()
    assert errors > 0  # kills that nobody noticed prove nothing
    for controller in controllers[:: max(1, agents // 4)]:
        state = (directory / f"{controller.agent}.npz").read_bytes()
        steps = len(controller.acknowledged)
        assert_same_state(state, undisturbed(directory / f"alone-{controller.agent}", controller.seed, steps))
    steps = sum(len(controller.acknowledged) for controller in controllers)
    return {"kills": kills * rounds, "errors": errors, "steps": steps}


def disturb(service: Service, controllers: list[Controller], shard: int, pauses: list[float]) -> int:
    """Kill a shard after each pause; return how many errors its controllers saw, and see that the others saw none."""
    before = {controller: len(controller.errors) for controller in controllers}
    for pause in pauses:
        kill(service, shard, pause)
    reached = {controller: len(controller.acknowledged) for controller in controllers}
    for controller in controllers:
        until(lambda c=controller: len(c.acknowledged) > reached[c] or c.problem, lambda c=controller: c.errors[-3:])
        assert controller.problem is None, controller.problem
    seen = {controller: len(controller.errors) - before[controller] for controller in controllers}
    others = [controller for controller in controllers if controller.shard != shard]
    assert not any(seen[controller] for controller in others), [controller.errors[-3:] for controller in others]
    return sum(seen.values())


def finish(service: Service, controllers: list[Controller]) -> None:
    """Stop the controllers; see that the journals are what was acknowledged, and keep the states."""
    for controller in controllers:
        controller.stopped.set()
    for controller in controllers:
        controller.join()
        assert controller.problem is None, controller.problem
        rows = service.call("GET", f"/v1/agents/{controller.agent}/journal").body.splitlines()
        found = [(row["executed"], row["observation"]) for row in map(json.loads, rows)]
        assert found == controller.acknowledged
        service.call("POST", f"/v1/agents/{controller.agent}/act")
        state = service.call("GET", f"/v1/agents/{controller.agent}/state").body
        service.directory.with_name(f"{controller.agent}.npz").write_bytes(state)


@pytest.mark.soak
def test_a_few_kills_of_shards_are_not_seen(runner, tmp_path):
    endure(runner, tmp_path, shards=2, agents=16, rounds=2, kills=2, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 6))
def test_hundreds_of_kills_of_shards_are_not_seen(runner, tmp_path, seed):
    print(endure(runner, tmp_path, shards=3, agents=18, rounds=18, kills=3, seed=seed))
