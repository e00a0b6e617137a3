"""A station against the service over real HTTP, while the service is killed at random moments and started again."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.snapshot import unpack
from everlearn.client import Client
from everlearn.tasks.registry import make_task
from tests.boundary.runner import Runner
from tests.service.conftest import STATION, Service

SETUP = {**STATION, "snapshot_every": 37}


def world(seed: int):
    """The station itself, which knows nothing of agents; the same seed and actions give the same observations."""
    return make_task("service-station").start(np.random.default_rng(seed))


class Killer(threading.Thread):
    """Kills a service so many times, each time starting it again on the same port."""

    def __init__(self, runner: Runner, directory: Path, port: int, kills: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.runner, self.service = runner, Service(runner, directory, port=port)
        self.kills, self.port, self.random = kills, port, random.Random(seed)
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            for _ in range(self.kills):
                time.sleep(self.random.uniform(0.0, 0.4))
                self.service.kill()
                self.service = Service(self.runner, self.service.directory, port=self.port)
        except BaseException as error:
            self.problem = error


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def endure(runner: Runner, directory: Path, kills: int, seed: int) -> None:
    """Step through kills; then see that all that was acknowledged is there, and that the agent is as if nothing was."""
    killer = Killer(runner, directory / "served", free_port(), kills, seed)
    try:
        state, steps = _endure(killer, seed)
    finally:
        if killer.service.is_running:
            killer.service.kill()
    assert_same_state(state, undisturbed(directory / "alone", seed, steps))


def _endure(killer: Killer, seed: int) -> tuple[bytes, int]:
    station, combined, acknowledged = world(seed), random.Random(seed), []
    with Client(killer.service.url, "station", deadline=60) as client:
        client.create(SETUP)
        killer.start()
        while killer.is_alive() or len(acknowledged) % 50:
            action = client.act()
            observation = station.step(action)
            if combined.random() < 0.5:
                client.step(observation)
            else:
                assert client.observe(observation) is not None
            acknowledged.append((action, observation))
        client.act()
        assert client.waiting == client.lost == 0
    assert killer.problem is None
    service = killer.service
    state = service.call("GET", "/v1/agents/station/state").body
    journal = service.call("GET", "/v1/agents/station/journal").body.splitlines()
    found = [(row["executed"], row["observation"]) for row in map(json.loads, journal)]
    assert found == acknowledged
    assert service.stop() == 0
    return state, len(acknowledged)


def undisturbed(directory: Path, seed: int, steps: int) -> bytes:
    """The same in process, in peace."""
    station = world(seed)
    with el.live(directory, **SETUP) as agent:
        for _ in range(steps):
            agent.observe(station.step(agent.act()))
        agent.act()
        agent.save(directory / "state.npz")
    return (directory / "state.npz").read_bytes()


def assert_same_state(one: bytes, other: bytes) -> None:
    """See that two agent states are the same to the last bit."""
    (first, identity), (second, of_other) = unpack(one, "one"), unpack(other, "other")
    assert identity == of_other
    assert first.aleatoric == second.aleatoric
    assert first.epistemic.keys() == second.epistemic.keys()
    for name, array in first.epistemic.items():
        assert array.tobytes() == second.epistemic[name].tobytes(), name
    assert first.algorithmic == second.algorithmic


def test_a_few_kills_are_not_seen(runner, tmp_path):
    endure(runner, tmp_path, kills=3, seed=1)


@pytest.mark.soak
def test_a_hundred_kills_are_not_seen(runner, tmp_path):
    endure(runner, tmp_path, kills=100, seed=2)
