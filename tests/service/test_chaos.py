"""A station against the service over real HTTP, while the service is killed at random moments and started again."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import repeat
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


def endure(runner: Runner, directory: Path, kills: int, seed: int, agents: int = 1) -> None:
    """Step through kills; then see that all that was acknowledged is there, and that agents are as if nothing was."""
    killer = Killer(runner, directory / "served", free_port(), kills, seed)
    seeds = {f"station-{number}": seed + number for number in range(agents)}
    try:
        states = _endure(killer, seeds)
    finally:
        if killer.service.is_running:
            killer.service.kill()
    for name, (state, steps) in states.items():
        assert_same_state(state, undisturbed(directory / name, seeds[name], steps))


def _endure(killer: Killer, seeds: dict[str, int]) -> dict[str, tuple[bytes, int]]:
    """Return the state of each agent after the kills, and its number of steps."""
    with ExitStack() as opened, ThreadPoolExecutor(len(seeds)) as pool:
        clients = [opened.enter_context(Client(killer.service.url, name, deadline=600)) for name in seeds]
        for client in clients:
            client.create(SETUP)
        killer.start()
        acknowledged = dict(zip(seeds, pool.map(_drive, clients, seeds.values(), repeat(killer)), strict=True))
    assert killer.problem is None
    service = killer.service
    states = {}
    for name, steps in acknowledged.items():
        journal = service.call("GET", f"/v1/agents/{name}/journal").body.splitlines()
        assert [(row["executed"], row["observation"]) for row in map(json.loads, journal)] == steps
        states[name] = service.call("GET", f"/v1/agents/{name}/state").body, len(steps)
    assert service.stop() == 0
    return states


def _drive(client: Client, seed: int, killer: Killer) -> list[tuple[str, str]]:
    """Let an agent act as long as the service is killed, and return the steps that were acknowledged."""
    station, combined, acknowledged = world(seed), random.Random(seed), []
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
    return acknowledged


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
@pytest.mark.parametrize("agents", [1, 16])
def test_hundreds_of_kills_are_not_seen(runner, tmp_path, agents):
    endure(runner, tmp_path, kills=250, seed=2, agents=agents)
