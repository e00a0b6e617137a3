"""Agents that are loaded while others are served: a directory of a few, and loads that wait until they are told."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest

from everlearn.durable.reader import Reader
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.service import operations
from everlearn.service.loading import LoadingCommitter
from everlearn.service.metrics import Metrics
from everlearn.service.models import ActIn
from everlearn.service.settings import Limits
from tests.durable.failing import observe

ANY = ActIn(allowed=None)


def setup(seed: int = 1):
    return make_setup(task="service-station", schedule="smooth", seed=seed)


@pytest.fixture
def directory(tmp_path):
    """Agents of 0, 1, 2 and 3 steps; the mode of the last was changed after them."""
    with Store(tmp_path) as store:
        for steps, name in enumerate(("none", "one", "two", "three")):
            core = store.create(name, setup(seed=steps))
            for _ in range(steps):
                observe(store, core)
        store.append([(core.number, core.change_mode("frozen"))])
    return tmp_path


@asynccontextmanager
async def running(directory, **limits):
    committer = LoadingCommitter(directory, Limits(**limits), Metrics())
    committer.start()
    try:
        yield committer
    finally:
        await asyncio.to_thread(committer.close)


def act(committer, name):
    return asyncio.ensure_future(committer.do(name, lambda agents: operations.act(agents, name, ANY)))


async def until(condition) -> None:
    """Wait until something is so; a test that waits for ever is ended by whoever runs it."""
    while not condition():
        await asyncio.sleep(0.001)


class Openings:
    """Replays: the name and the thread of each are noted, and it waits or raises where it is told to."""

    def __init__(self, monkeypatch) -> None:
        self.names, self.threads, self.errors = [], set(), {}
        self.gates: dict[str, threading.Event] = {}
        replayed = Reader.replayed

        def replaying(reader, setup, record, *options):
            self.names.append(record.name)
            self.threads.add(threading.current_thread().name)
            if record.name in self.gates:
                self.gates[record.name].wait()
            if record.name in self.errors:
                raise self.errors[record.name]
            return replayed(reader, setup, record, *options)

        monkeypatch.setattr(Reader, "replayed", replaying)

    def hold(self, *names: str) -> threading.Event:
        gate = threading.Event()
        self.gates |= dict.fromkeys(names, gate)
        return gate


@pytest.fixture
def openings(monkeypatch):
    return Openings(monkeypatch)
