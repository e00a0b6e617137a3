"""Agents are loaded when they are first asked for, outside the committer's thread; nobody else waits for that."""

from __future__ import annotations

import asyncio
import json
import math
import sqlite3
import threading
import time
from contextlib import asynccontextmanager

import pytest

from everlearn.agents.agent import Agent
from everlearn.durable import database
from everlearn.durable.core import Core
from everlearn.durable.reader import Reader
from everlearn.durable.setup import Setup, make_setup
from everlearn.durable.store import Store
from everlearn.errors import Corrupt, Failed, LiveError
from everlearn.service import loading, management, operations
from everlearn.service.agents import Loaded, Missing, Stale
from everlearn.service.committer import Busy
from everlearn.service.identity import CURRENT, Request
from everlearn.service.loading import MOST_MAKING, MOST_SLOW, PLACES, Loader, Loading, LoadingCommitter, load, task_of
from everlearn.service.metrics import Metrics
from everlearn.service.models import ActIn, ObserveIn
from everlearn.service.problems import answer_to
from everlearn.service.settings import Limits
from everlearn.stopping import Stopped, check_stop, stoppable
from tests.durable.failing import observe
from tests.service.conftest import tmp_path

__all__ = ["tmp_path"]

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


def listed(committer):
    async def answer():
        found = await committer.do(None, management.list_agents)
        management.add_standings(found["agents"], committer.keeper.store.path)
        return {agent["name"]: (agent["step"], agent["mode"]) for agent in found["agents"]}

    return answer()


STANDINGS = {"none": (0, "learn"), "one": (1, "learn"), "two": (2, "learn"), "three": (3, "frozen")}


def test_it_is_ready_and_lists_all_agents_while_none_is_loaded(directory, openings):
    async def ask():
        async with running(directory) as committer:
            assert committer.ready
            assert await listed(committer) == STANDINGS
            assert await committer.do(None, management.gauges) == (4, {})
            assert openings.names == []
            for name, (step, _) in STANDINGS.items():
                assert (await act(committer, name))["step"] == step + 1
            assert sorted(openings.names) == sorted(STANDINGS)
            assert openings.threads == {"loader"}
            assert await listed(committer) == STANDINGS
            assert set((await committer.do(None, management.gauges))[1]) == set(STANDINGS)

    asyncio.run(ask())


def test_names_are_listed_even_if_steps_cannot_be_read(directory, caplog):
    found = [{"name": "one", "step": None, "mode": None}, {"name": "two", "step": 7, "mode": "learn"}]
    management.add_standings(found, directory / "no.db")
    assert [agent["step"] for agent in found] == [None, 7]
    assert "the steps of agents cannot be read" in caplog.text


def test_others_continue_while_an_agent_is_loaded(directory, openings):
    gate = openings.hold("one")

    async def ask():
        async with running(directory) as committer:
            waiting = [act(committer, "one") for _ in range(5)]
            await until(lambda: committer.waiting == 5)
            assert (await act(committer, "two"))["step"] == 3
            body = ObserveIn(step=3, observation="arrival")
            await committer.do("two", lambda agents: operations.observe(agents, "two", body))
            assert not any(request.done() for request in waiting)
            gate.set()
            answers = await asyncio.gather(*waiting)
            assert answers == [answers[0]] * 5
            assert answers[0]["step"] == 2
            assert (openings.names.count("one"), committer.waiting) == (1, 0)

    asyncio.run(ask())


def test_few_agents_are_loaded_at_a_time(directory, openings, monkeypatch):
    gate = openings.hold("one", "two", "three")
    monkeypatch.setattr(loading, "SLOW", 1e9)

    async def ask():
        async with running(directory) as committer:
            waiting = [act(committer, name) for name in ("one", "two", "three")]
            await until(lambda: committer.waiting == 3 and len(openings.names) == PLACES)
            await asyncio.sleep(0.01)
            assert len(openings.names) == PLACES
            gate.set()
            assert [answer["step"] for answer in await asyncio.gather(*waiting)] == [2, 3, 4]

    asyncio.run(ask())


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

    async def ask():
        async with running(directory) as committer:
            waiting = [act(committer, name) for name in ("one", "two", "three")]
            await until(lambda: len(openings.names) >= 2)
            await asyncio.sleep(0.05)  # in which the third would begin, if it had a place
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
@pytest.mark.parametrize("given", [{}, {"retain": lambda seed: 100 + seed}, {"parameters": revenue}])
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


def test_nobody_waits_for_ever_for_an_agent(directory, openings, monkeypatch):
    gate = openings.hold("one")
    monkeypatch.setattr(loading, "LONGEST", 0.01)

    async def ask():
        async with running(directory) as committer:
            with pytest.raises(Loading) as refused:
                await act(committer, "one")
            assert committer.waiting == 0
            answer = answer_to({}, refused.value)
            assert (answer.status_code, dict(answer.raw_headers)[b"retry-after"]) == (503, b"1")
            gate.set()
            await until(lambda: not committer._loads)
            assert (await act(committer, "one"))["step"] == 2
            assert openings.names == ["one"]

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("raised", "kind"), [(Corrupt("bad row"), Corrupt), (RecursionError(), RecursionError), (SystemExit(), LiveError)]
)
def test_an_agent_that_cannot_be_loaded_fails_its_own_requests(directory, openings, caplog, raised, kind):
    openings.errors["one"] = raised

    async def ask():
        async with running(directory) as committer:
            failed = await asyncio.gather(*(act(committer, "one") for _ in range(3)), return_exceptions=True)
            assert [type(error) for error in failed] == [kind] * 3
            assert "agent cannot be opened" in caplog.text
            assert (await act(committer, "two"))["step"] == 3
            assert committer.ready
            del openings.errors["one"]
            assert (await act(committer, "one"))["step"] == 2

    asyncio.run(ask())


def test_an_agent_that_is_deleted_while_it_is_loaded_is_gone(directory, openings):
    gate = openings.hold("one")

    async def ask():
        async with running(directory) as committer:
            waiting = act(committer, "one")
            await until(lambda: openings.names)
            await committer.do("one", lambda agents: agents.delete("one"))
            gate.set()
            with pytest.raises(LiveError):
                await waiting
            with pytest.raises(Missing):
                await act(committer, "one")

    asyncio.run(ask())


def test_an_agent_that_is_created_again_while_the_old_one_is_loaded_is_the_new_one(directory):
    async def ask():
        async with running(directory) as committer:
            await act(committer, "one")
            old = await committer.do("one", lambda agents: agents.core("one"))
            record = committer.keeper.store.enrolled("one")
            await committer.do("one", lambda agents: agents.delete("one"))
            await committer.do("one", lambda agents: agents.create("one", setup(seed=9)))
            new = await committer.do("one", lambda agents: agents.cores.pop("one"))
            committer.keeper.loaded["one"] = Loaded(record, old)
            assert (await act(committer, "one"))["step"] == 1
            core = await committer.do("one", lambda agents: agents.core("one"))
            assert core.setup.document == new.setup.document

    asyncio.run(ask())


def test_more_than_may_wait_for_an_agent_are_told_to_come_again(directory, openings):
    gate = openings.hold("one")

    async def ask():
        async with running(directory, waiting=4) as committer:
            waiting = []
            for number in range(1, 5):
                waiting.append(act(committer, "one"))
                await until(lambda number=number: committer.waiting == number)
            with pytest.raises(Busy):
                await act(committer, "one")
            gate.set()
            assert [answer["step"] for answer in await asyncio.gather(*waiting)] == [2] * 4
            assert committer.metrics.refused == 1

    asyncio.run(ask())


def test_whoever_leaves_does_not_undo_the_loading(directory, openings):
    gate = openings.hold("one")

    async def ask():
        async with running(directory) as committer:
            first, second = act(committer, "one"), act(committer, "one")
            await until(lambda: committer.waiting == 2)
            first.cancel()
            await until(first.done)
            gate.set()
            assert (await second)["step"] == 2
            assert openings.names == ["one"]

    asyncio.run(ask())


def test_a_loaded_agent_continues_to_the_last_bit(directory):
    """Loaded, told more, stopped and loaded again: the same as an agent that was never stopped."""

    async def tell(step):
        async with running(directory) as committer:
            body = ObserveIn(step=step, observation="arrival")
            await committer.do("two", lambda agents: operations.observe(agents, "two", body))
            return await committer.do("two", lambda agents: agents.core("two").export_state())

    with Store(directory) as store:
        core = store.open("two")
    for step in (3, 4):
        exported = asyncio.run(tell(step))
        core.act()
        core.apply(core.prepare("arrival"))
        assert exported == core.export_state()


def cannot() -> int:
    raise ZeroDivisionError


@pytest.mark.parametrize("then", ["act", "roll back", "delete"])
def test_an_agent_that_fails_to_act_is_loaded_again_and_stays_quarantined(directory, openings, then):
    """Nothing on disk says that it failed, and it may have drawn from its stream before."""

    async def ask():
        async with running(directory) as committer:
            core = await committer.do("two", lambda agents: agents.core("two"))
            core.agent.choose = cannot
            with pytest.raises(Failed, match="could not act"):
                await act(committer, "two")
            assert committer.keeper.quarantined == {core.number}
            if then == "act":
                with pytest.raises(Failed, match="the agent is quarantined"):
                    await act(committer, "two")
                assert openings.names == ["two", "two"]
                assert committer.keeper.quarantined == {core.number}
                return
            if then == "roll back":
                await committer.do("two", lambda agents: management.roll_back(agents, "two", (0, None)))
                assert (await act(committer, "two"))["step"] == 3
            else:
                await committer.do("two", lambda agents: agents.delete("two"))
            assert committer.keeper.quarantined == set()

    asyncio.run(ask())


def test_the_fingerprint_of_an_agent_of_an_earlier_version_is_recorded(directory):
    with Store(directory) as store:
        face = store.enrolled("one").face
        record = store.enrolled("one")._replace(face=None).sealed()
        values = (record.face, record.sha256, record.number)
        store.connection.execute("UPDATE agents SET face = ?, sha256 = ? WHERE id = ?", values)

    async def ask():
        async with running(directory) as committer:
            assert (await act(committer, "one"))["step"] == 2

    asyncio.run(ask())
    with Store(directory) as store:
        assert json.loads(store.enrolled("one").face) == json.loads(face)


def told(committer, name, step):
    body = ObserveIn(step=step, observation="arrival")
    return committer.do(name, lambda agents: operations.observe(agents, name, body))


def inspected(committer, name):
    return committer.do(name, lambda agents: management.inspect(agents, name))


def test_a_copy_that_is_behind_the_disk_is_not_taken_over(directory):
    """An agent that is loaded twice may be used before the second copy arrives, and be forgotten after."""
    stale = load(directory, "two")

    async def ask():
        async with running(directory) as committer:
            await told(committer, "two", 3)
            committer.keeper.cores.clear()
            committer.keeper.loaded["two"] = stale
            assert (await inspected(committer, "two"))["step"] == 3

    asyncio.run(ask())


def test_a_copy_of_an_agent_that_is_in_use_or_gone_is_not_kept(directory):
    async def ask():
        async with running(directory) as committer:
            await act(committer, "two")
            await committer._bring("two")
            assert not committer.keeper.loaded
            await committer.do("one", lambda agents: agents.names.discard("one"))
            await committer._bring("one")
            assert not committer.keeper.loaded

    asyncio.run(ask())


def no_memory(*_arguments: object) -> None:
    raise MemoryError


def test_a_lack_of_memory_passes(directory, monkeypatch):
    """Neither a load nor an action that had too little memory quarantines an agent."""

    async def ask():
        async with running(directory) as committer:
            with monkeypatch.context() as short:
                short.setattr(Agent, "learn", no_memory)
                with pytest.raises(MemoryError):
                    await act(committer, "two")
            core = await committer.do("two", lambda agents: agents.core("two"))
            core.agent.choose = no_memory
            with pytest.raises(MemoryError):
                await act(committer, "two")
            assert (await act(committer, "two"))["step"] == 3
            assert committer.keeper.quarantined == set()

    asyncio.run(ask())


def test_no_snapshot_makes_a_failure_last(directory, monkeypatch):
    """A failure that has passed at the next start is forgotten, though the agent changed while it was quarantined."""

    async def ask(mode):
        async with running(directory) as committer:
            await committer.do("two", lambda agents: management.change_mode(agents, "two", mode))
            return (await inspected(committer, "two"))["quarantined"]

    with monkeypatch.context() as failing:
        failing.setattr(Agent, "learn", lambda *_arguments: cannot())
        assert "could not learn" in asyncio.run(ask("shadow"))
    assert asyncio.run(ask("learn")) is None


def test_no_snapshot_is_due_of_an_agent_that_failed():
    core = Core(make_setup(task="service-station", schedule="smooth", snapshot_every=1))
    core.act()
    core.apply(core.prepare("arrival"))
    assert core.due
    core.failure = Failed("it failed", 1)
    assert not core.due


def test_a_mode_that_it_has_already_is_changed_only_at_the_version_that_is_expected(directory):
    """A repetition succeeds, and changes nothing, whatever has happened since; at another version it does not."""

    def change(committer, expected):
        return committer.do("two", lambda agents: management.change_mode(agents, "two", "frozen", expected))

    async def ask():
        async with running(directory) as committer:
            before = (await inspected(committer, "two"))["version"]
            after = (await change(committer, before))["version"]
            for expected in (before, after, None, "*"):
                assert (await change(committer, expected))["version"] == after
            await told(committer, "two", 3)
            version = (await change(committer, before))["version"]
            assert version == (await inspected(committer, "two"))["version"] != after
            for expected in (after, "nonsense"):
                with pytest.raises(Stale):
                    await change(committer, expected)

    asyncio.run(ask())


def test_an_agent_that_is_deleted_while_it_is_loaded_is_missing(directory, openings):
    gate = openings.hold("two")
    openings.errors["two"] = Corrupt("its rows are gone")

    async def ask():
        async with running(directory) as committer:
            waiting = act(committer, "two")
            await until(lambda: openings.names == ["two"])
            await committer.do("two", lambda agents: agents.delete("two"))
            gate.set()
            with pytest.raises(Missing):
                await waiting

    asyncio.run(ask())


def test_what_is_loaded_is_of_one_moment(directory, openings):
    gate = openings.hold("two")

    async def ask():
        async with running(directory) as committer:
            loading = committer._loader.load("two").result
            await until(lambda: openings.names == ["two"])
            await committer.do("two", lambda agents: agents.delete("two"))
            gate.set()
            assert (await asyncio.wrap_future(loading)).core.step == 2

    asyncio.run(ask())


def test_an_agent_that_is_behind_the_disk_is_read_again(directory):
    """A row that is there already says so; otherwise the agent would refuse every step until a restart."""

    async def ask():
        async with running(directory) as committer:
            await act(committer, "two")

            def write_behind(agents):
                entry = agents.core("two").prepare("arrival")
                agents.store.append([(agents.core("two").number, entry)])  # and nothing is learned from it

            await committer.do("two", write_behind)
            with pytest.raises(LiveError):
                await told(committer, "two", 3)
            assert (await told(committer, "two", 3))["step"] == 3
            assert (await inspected(committer, "two"))["step"] == 3

    asyncio.run(ask())


def test_a_request_that_waits_for_an_agent_lets_others_work(directory, openings):
    """It enters what the guard gave it to enter meanwhile."""
    gate, events, request = openings.hold("one"), [], Request(b"1")

    @asynccontextmanager
    async def aside():
        events.append("waits")
        yield
        events.append("continues")

    request.aside = aside

    async def ask():
        async with running(directory) as committer:
            CURRENT.set(request)
            waiting = act(committer, "one")
            await until(lambda: events)
            gate.set()
            await waiting
            assert events == ["waits", "continues"]
            await act(committer, "one")
            assert len(events) == 2

    asyncio.run(ask())
