"""Agents are loaded when they are first asked for, outside the committer's thread; nobody else waits for that."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from everlearn.errors import Corrupt, LiveError
from everlearn.service import loading, management, operations
from everlearn.service.agents import Loaded, Missing
from everlearn.service.committer import Busy
from everlearn.service.identity import CURRENT, Request
from everlearn.service.loading import PLACES, Loading
from everlearn.service.models import ObserveIn
from everlearn.service.problems import answer_to
from tests.service.conftest import tmp_path
from tests.service.loads import act, directory, openings, running, setup, until

__all__ = ["directory", "openings", "tmp_path"]


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
