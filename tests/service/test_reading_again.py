"""What is loaded is what is on disk: copies that are behind it, and agents that failed, are read again."""

from __future__ import annotations

import asyncio
import json

import pytest

from everlearn.agents.agent import Agent
from everlearn.durable.core import Core
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import Failed, LiveError
from everlearn.service import management, operations
from everlearn.service.agents import Stale
from everlearn.service.loading import load
from everlearn.service.models import ObserveIn
from tests.refusal import has
from tests.service.conftest import tmp_path
from tests.service.loads import act, directory, openings, running

__all__ = ["directory", "openings", "tmp_path"]


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
            with pytest.raises(Failed, check=has(step=3, quarantined=False)):
                await act(committer, "two")
            assert committer.keeper.quarantined == {core.number}
            if then == "act":
                with pytest.raises(Failed, check=has(quarantined=True)):
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
