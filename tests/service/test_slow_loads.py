"""An agent that can be loaded quickly never waits for one that cannot."""

from __future__ import annotations

import asyncio
import json
import math
import sqlite3
import threading
import time

import pytest

from everlearn.durable import database
from everlearn.durable.core import Core
from everlearn.durable.setup import Setup, make_setup
from everlearn.durable.store import Store
from everlearn.service import loading
from everlearn.service.loading import MOST_MAKING, MOST_SLOW, PLACES, Loader, task_of
from everlearn.stopping import Stopped, check_stop, stoppable
from tests.service.conftest import tmp_path
from tests.service.loads import act, directory, openings, running, until

__all__ = ["directory", "openings", "tmp_path"]


@pytest.mark.parametrize("most", [2, 3])
def test_agents_that_load_slowly_do_not_keep_others_from_being_loaded(directory, monkeypatch, most):
    """They lose their places, up to a number of them; however many there are, all are loaded in the end."""
    gate, learn = threading.Event(), Core.apply  # which the agent without rows does not need
    monkeypatch.setattr(Core, "apply", lambda *arguments: (gate.wait(), learn(*arguments))[1])
    monkeypatch.setattr(loading, "SLOW", 0.001)
    monkeypatch.setattr(loading, "MOST_SLOW", most)

    async def ask():
        async with running(directory) as committer:
            waiting = [act(committer, name) for name in ("one", "two", "three")]
            assert (await act(committer, "none"))["step"] == 1
            assert not any(request.done() for request in waiting)
            gate.set()
            assert [answer["step"] for answer in await asyncio.gather(*waiting)] == [2, 3, 4]
            await until(lambda: not committer._loads)
            assert committer._slow._value == most

    asyncio.run(ask())


def test_not_any_number_of_agents_waits_for_the_disk_at_a_time(directory, openings, monkeypatch):
    """They cannot be stopped, so when too many have lost their places, the next keep theirs."""
    gate = openings.hold("one", "two", "three")
    monkeypatch.setattr(loading, "SLOW", 0.001)
    monkeypatch.setattr(loading, "QUICK", math.inf)
    monkeypatch.setattr(loading, "MOST_SLOW", 0)
    monkeypatch.setattr(loading, "MOST_IDLE", 1)
    monkeypatch.setattr(loading, "PLACES", 1)
    begun, wait = [], asyncio.wait

    async def waiting_again(*arguments, **options):
        begun.append(len(openings.names))  # at each look of the second whether it may give up its place
        return await wait(*arguments, **options)

    monkeypatch.setattr(asyncio, "wait", waiting_again)

    async def ask():
        async with running(directory) as committer:
            waiting = [act(committer, name) for name in ("one", "two", "three")]
            await until(lambda: begun.count(2) > 9 or len(openings.names) == 3)
            assert (len(openings.names), committer._idle.locked()) == (2, True)
            gate.set()
            assert [answer["step"] for answer in await asyncio.gather(*waiting)] == [2, 3, 4]

    asyncio.run(ask())


def test_rows_of_agents_that_load_slowly_are_replayed_one_at_a_time(directory, openings, monkeypatch):
    gate = openings.hold("one", "two", "three")
    monkeypatch.setattr(loading, "SLOW", 0.0)
    at_once, most, learn = [], [], Core.apply

    def apply(core, entry):
        at_once.append(core)
        time.sleep(0.005)  # so that another thread would come between
        most.append(len(at_once))
        at_once.remove(core)
        return learn(core, entry)

    async def ask():
        async with running(directory) as committer:
            waiting = [act(committer, name) for name in ("one", "two", "three")]
            await until(lambda: len(openings.names) == 3 and committer._places._value == PLACES)
            gate.set()
            await asyncio.gather(*waiting)

    monkeypatch.setattr(Core, "apply", apply)
    asyncio.run(ask())
    assert most == [1] * 7


class Making:
    """Tasks that are made until the gate is set, except those of agents with seed 0, which are made at once.

    ``stoppable`` says whether they can be stopped meanwhile.
    """

    def __init__(self, monkeypatch) -> None:
        self.seeds, self.gate, self.stoppable, self.spent = [], threading.Event(), True, {}
        self.needs = 1.0  # seconds of the processor
        self._reopen = loading.reopen
        monkeypatch.setattr(loading, "reopen", self.reopen)
        monkeypatch.setattr(loading, "own_clock", threading.current_thread)
        monkeypatch.setattr(loading, "clock_gettime", lambda thread: self.spent.get(thread, 0.0))
        monkeypatch.setattr(loading, "SLOW", 0.001)

    def reopen(self, stored, *arguments):
        seed = json.loads(stored)["seed"]
        if seed:
            self.spent[threading.current_thread()] = self.needs
            self.seeds.append(seed)
            try:
                while not self.gate.wait(0.001):
                    if self.stoppable:
                        check_stop()
            finally:
                self.seeds.remove(seed)
        return self._reopen(stored, *arguments)


@pytest.fixture
def making(monkeypatch):
    return Making(monkeypatch)


@pytest.fixture
def slow_ones(tmp_path):
    """A directory with an agent that is loaded quickly, and a function that adds others to it."""

    def add(number, **given):
        with Store(tmp_path) as store:
            for seed in range(1, number + 1):
                more = {key: value(seed) for key, value in given.items()}
                store.create(f"slow-{seed}", make_setup(task="service-station", seed=seed, **more))
        return [f"slow-{seed}" for seed in range(1, number + 1)]

    with Store(tmp_path) as store:
        store.create("quick", make_setup(task="service-station", schedule="smooth", seed=0))
    return add


def revenue(seed):
    return {"task.revenue": float(seed)}


def is_open(connection) -> bool:
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


@pytest.mark.parametrize("stoppable", [True, False])
@pytest.mark.parametrize(
    "given", [{}, pytest.param({"retain": lambda seed: 100 + seed}, marks=pytest.mark.soak), {"parameters": revenue}]
)
def test_an_agent_that_loads_quickly_never_waits_for_slow_ones(tmp_path, slow_ones, making, stoppable, given):
    """However many there are, of the same task or of others, and whether or not they can be stopped."""
    names, making.stoppable = slow_ones(9, **given), stoppable

    async def ask():
        async with running(tmp_path) as committer:
            waiting = [act(committer, name) for name in names]
            await until(lambda: committer.waiting == len(names))
            assert (await act(committer, "quick"))["step"] == 1
            assert not any(request.done() for request in waiting)
            if stoppable:
                await until(lambda: committer._places._value == PLACES)
                await until(lambda: len(making.seeds) == MOST_MAKING)
            making.gate.set()
            assert [answer["step"] for answer in await asyncio.gather(*waiting)] == [1 for _ in names]
            assert (committer._slow._value, committer._makers._value) == (MOST_SLOW, MOST_MAKING)

    asyncio.run(ask())


@pytest.mark.parametrize("key", ["seed", "retain", "explore", "snapshot_every"])
def test_a_task_that_takes_long_is_known_whatever_else_the_setup_has(key):
    one = make_setup(task="service-station", seed=1).document
    other = {**one, key: 0.5 if key == "explore" else 17}
    assert task_of(json.dumps(one)) == task_of(json.dumps(other))
    assert task_of(json.dumps(one)) != task_of(json.dumps({**one, "agent": "q-learning"}))


def test_an_agent_whose_task_is_known_to_take_long_keeps_no_place(tmp_path, slow_ones, making, monkeypatch):
    """It waits for a maker without a place, a thread or a connection, though nothing makes it lose its place."""
    names, connections, connect = slow_ones(9), [], database.connect_to_read
    opening = lambda path: connections.append(connect(path)) or connections[-1]  # noqa: E731 - patched in
    monkeypatch.setattr(database, "connect_to_read", opening)

    async def ask():
        async with running(tmp_path) as committer:
            waiting = [act(committer, name) for name in names[:MOST_MAKING]]
            await until(lambda: committer._makers.locked() and len(making.seeds) == MOST_MAKING)
            monkeypatch.setattr(loading, "SLOW", 1e9)
            waiting += [act(committer, name) for name in names[MOST_MAKING:]]
            await until(lambda: committer.waiting == len(names) and committer._places._value == PLACES)
            assert (await act(committer, "quick"))["step"] == 1
            await until(lambda: sum(thread.name == "loader" for thread in threading.enumerate()) == MOST_MAKING)
            assert len(making.seeds) == MOST_MAKING
            assert connections
            await until(lambda: not any(map(is_open, connections)))
            making.gate.set()
            await asyncio.gather(*waiting)

    asyncio.run(ask())


def test_an_agent_that_needs_little_of_the_processor_is_not_stopped(tmp_path, slow_ones, making):
    """On a busy machine it may take long all the same, and would then wait for those that do."""
    (name,), making.needs = slow_ones(1), 0.0

    async def ask():
        async with running(tmp_path) as committer:
            waiting = act(committer, name)
            await until(lambda: making.seeds and committer._places._value == PLACES)
            assert committer._makers._value == MOST_MAKING
            making.gate.set()
            assert (await waiting)["step"] == 1
            assert not committer._loader._shared._long

    asyncio.run(ask())


@pytest.mark.parametrize("needs", [1.0, 0.0])
def test_a_task_that_cannot_be_stopped_is_known_while_it_is_made(tmp_path, slow_ones, making, needs):
    """So that others with the same task wait, and not all are made at once; one that idles is not."""
    (name,), making.stoppable, making.needs = slow_ones(1), False, needs

    async def ask():
        async with running(tmp_path) as committer:
            waiting = act(committer, name)
            await until(lambda: making.seeds and committer._places._value == PLACES)
            assert bool(committer._loader._shared._long) == bool(needs)
            making.gate.set()
            assert (await waiting)["step"] == 1

    asyncio.run(ask())


def test_the_processor_time_of_a_thread_can_be_asked_for_by_others():
    clocks, ended = [], threading.Event()

    def spin():
        clocks.append(loading.own_clock())
        while not ended.is_set():
            pass

    thread = threading.Thread(target=spin)
    thread.start()
    while not clocks or loading.clock_gettime(clocks[0]) < 0.01:
        time.sleep(0.001)
    ended.set()
    thread.join()


def test_few_tasks_are_remembered(monkeypatch):
    monkeypatch.setattr(loading, "MOST_KNOWN", 2)
    shared = loading._Shared()
    for task in (b"1", b"2", b"1", b"3"):
        shared.note(task, is_long=True)
    assert [task for task in (b"1", b"2", b"3") if shared.is_long(task)] == [b"1", b"3"]
    shared.note(b"1", is_long=False)
    assert not shared.is_long(b"1")


def test_a_real_task_that_takes_long_can_be_stopped():
    """Every evaluation of one of its functions asks whether to continue."""
    document, asked = make_setup(task="service-station").document, []

    def check():
        asked.append(1)
        if len(asked) == 100:
            raise Stopped

    with pytest.raises(Stopped), stoppable(check):
        Setup({**document, "parameters": {"task.aleatoric": "window:4"}})


def test_a_load_that_is_under_way_is_not_cancelled(directory, openings):
    """It would otherwise end its thread with an error, as when a service stops."""
    gate, loader = openings.hold("one"), Loader(directory)
    future = loader.load("one").result
    asyncio.run(until(lambda: openings.names))
    assert not future.cancel()
    gate.set()
    assert future.result().core.step == 1


def test_a_load_that_is_cancelled_before_it_begins_does_nothing(directory, openings, monkeypatch):
    begin = []
    with monkeypatch.context() as late:
        late.setattr(threading.Thread, "start", lambda thread: begin.append(thread))
        future = Loader(directory).load("one").result
    assert future.cancel()
    begin[0].run()
    assert openings.names == []
