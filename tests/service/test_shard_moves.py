"""Moves of agents between shards: at every moment exactly one of them owns an agent."""

from __future__ import annotations

import http.client
import json
import os
import signal
from contextlib import closing

import pytest

from everlearn.client import Client, ServiceError
from everlearn.durable import layout, moving, notes
from everlearn.durable.layout import shard_directory
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import LiveError, Unsynced
from everlearn.service import moves
from everlearn.service.agents import Agents, Moved
from everlearn.service.placement import Placement, lay_out
from everlearn.service.settings import Limits
from tests.refusal import has
from tests.service.conftest import STATION, until
from tests.service.moving import arrive, assert_moving, begin, drive, interrupted, move, put_into, sound
from tests.service.test_chaos import SETUP, world
from tests.service.test_shards import names_in, processes, shard_of


def test_two_owners_keep_the_shards_from_being_served(tmp_path):
    interrupted(tmp_path)
    with Store(shard_directory(tmp_path, 0)) as store, store.transaction() as run:
        notes.write(run, notes.LEAVING, "a", None)
    with pytest.raises(LiveError, check=has(__class__=LiveError, path=tmp_path)):
        lay_out(tmp_path, 2)


def test_a_move_is_not_cancelled_if_the_other_shard_has_the_agent(tmp_path):
    interrupted(tmp_path)
    with Store(shard_directory(tmp_path, 1)) as store, store.transaction() as run:
        notes.write(run, notes.ARRIVALS, "a", None)
    for _ in range(2):
        assert lay_out(tmp_path, 2).owner("a") == 1


class TestBetweenShards:
    def test_clients_notice_nothing(self, start):
        service = start("--shards", "3")
        service.create("a", SETUP)
        here = shard_of(service, "a")
        others = [shard for shard in range(3) if shard != here]
        station = world(3)
        with Client(service.url, "a", deadline=60) as client:
            for shard in (*others, here, others[0]):
                drive(client, station, 5)
                move(service, "a", shard)
                assert shard_of(service, "a") == shard
                drive(client, station, 5)
                for _ in range(3):  # whichever shard is asked first
                    assert service.call("GET", "/v1/agents/%61").json["name"] == "a"
                    assert [agent["name"] for agent in service.call("GET", "/v1/agents").json["agents"]] == ["a"]
            for process in processes(service):
                os.kill(process, signal.SIGKILL)
            drive(client, station, 5)
        assert service.post("/v1/agents", {"name": "a", "setup": SETUP}) == {"name": "a", "created": False}
        assert service.call("POST", "/v1/agents/a/move", {"shard": 9}).status == 422
        assert service.call("POST", "/v1/agents/nobody/move", {"shard": 1}).status == 404
        assert service.stop() == 0
        assert sound(service)
        service = start("--shards", "3")
        assert service.call("GET", "/v1/agents/a").json["step"] == 45
        assert shard_of(service, "a") == others[0]

    @pytest.mark.parametrize("arrived", [False, True])
    def test_a_start_completes_or_undoes_a_move(self, start, arrived):
        service = start("--shards", "2")
        service.create("a", STATION)
        service.post("/v1/agents/a/step", {"step": 1, "observation": "arrival"})
        here = shard_of(service, "a")
        luggage = begin(service, "a", f"shard-{1 - here}")
        service.stop()
        if arrived:
            put_into(service.directory / f"shard-{1 - here}", luggage)
        service = start("--shards", "2")
        assert shard_of(service, "a") == (1 - here if arrived else here)
        assert service.post("/v1/agents/a/act")["step"] == 2

    def test_a_shard_that_is_killed_during_a_move(self, start):
        service = start("--shards", "2")
        service.create("a", STATION)
        here = shard_of(service, "a")
        begin(service, "a", f"shard-{1 - here}")
        os.kill(processes(service)[here], signal.SIGKILL)
        until(lambda: service.call("POST", "/v1/agents/a/act").json.get("error") == "moving")
        move(service, "a", 1 - here)
        assert service.post("/v1/agents/a/act")["step"] == 1
        assert shard_of(service, "a") == 1 - here

    @pytest.mark.soak
    def test_a_shard_can_be_given_up_after_its_agents_were_moved(self, start):
        """What was in it twice removed, or deleted there, is still noted by the first shard."""
        service = start("--shards", "3")
        first, second = [name for name in map(str, range(100)) if Placement(3).owner(name) == 0][:2]
        for name in (first, second):
            service.create(name, STATION)
            move(service, name, 2)
        move(service, first, 1)
        service.call("DELETE", f"/v1/agents/{second}?confirm={second}")
        service.stop()
        service = start("--shards", "2")
        for _ in range(3):
            assert service.call("GET", f"/v1/agents/{first}").status == 200
            assert service.call("GET", f"/v1/agents/{second}").status == 404
        service.create(second, STATION)

    def test_another_shard_does_not_bring_back_an_agent_that_is_moving(self, start):
        service = start("--shards", "3")
        service.create("a", STATION)
        here = shard_of(service, "a")
        begin(service, "a", f"shard-{(here + 1) % 3}")
        assert service.call("POST", "/v1/agents/a/move", {"shard": (here + 2) % 3}).status == 422
        assert_moving(service, "a")
        assert service.call("POST", "/v1/agents/a/move", {"shard": here}).json["error"] == "moving"
        move(service, "a", (here + 1) % 3)
        assert service.post("/v1/agents/a/act")["step"] == 1

    def test_an_agent_that_another_shard_refuses_is_served_again(self, start):
        service = start("--shards", "2", "--max-agents", "1")
        first, second = (next(n for n in map(str, range(99)) if Placement(2).owner(n) == shard) for shard in (0, 1))
        for name in (first, second):
            service.create(name, STATION)
        for _ in range(2):
            assert service.call("POST", f"/v1/agents/{first}/move", {"shard": 1}).status == 409
            assert service.post(f"/v1/agents/{first}/act")["step"] == 1

    def test_a_shard_that_there_is_not_is_refused(self, start):
        service = start("--shards", "2")
        service.create("a", STATION)
        for shard in ("shard-2", "shard-77", "shard-01"):
            assert service.call("POST", "/v1/agents/a/move", {"to": shard}).status == 422
        refused = service.call("POST", "/v1/agents/a/move", {"to": "shard-77"}).json["message"]
        assert refused == "to: 'shard-77'; there are shard-0 to shard-1"
        assert service.call("POST", "/v1/agents/a/act").status == 200

    def test_an_agent_may_be_called_like_a_part_of_a_path(self, start):
        """A shard that has not heard of the move asks the former one, which passes the request on."""
        service, name = start("--shards", "3"), "arrival"
        service.create(name, STATION)
        move(service, name, (Placement(3).owner(name) + 1) % 3)
        for _ in range(6):  # whichever shard is asked
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
            with closing(connection):
                for path in ("/readyz", f"/v1/agents/{name}", f"/v1/agents/{name}/policy"):
                    connection.request("GET", path)
                    answer = connection.getresponse()
                    assert (answer.status, bool(answer.read())) == (200, True)
        assert service.post(f"/v1/agents/{name}/act")["step"] == 1

    def test_a_repeated_move_that_is_refused_does_not_bring_the_agent_back(self, start):
        """A move has arrived, the answer was lost, and the agent has moved on before the move is repeated."""
        service = start("--shards", "3")
        name = next(name for name in map(str, range(100)) if Placement(3).owner(name) == 0)
        service.create(name, STATION)
        luggage = begin(service, name, "shard-1")
        service.stop()
        put_into(service.directory / "shard-1", luggage)
        with Store(service.directory / "shard-1") as store:  # as if it had moved on
            notes_of_departure(store, name)
        service = start("--shards", "3", before=WITHOUT_FINISHING)
        assert service.call("POST", f"/v1/agents/{name}/move", {"shard": 1}).status == 409
        assert service.call("POST", f"/v1/agents/{name}/act").json["error"] == "moving"


WITHOUT_FINISHING = "import everlearn.service.placement as p; p._finish_moves = lambda stores: None\n"


def notes_of_departure(store: Store, name: str) -> None:
    moving.begin(store, name, "shard-2")
    moving.complete(store, name)


def test_a_repeated_move_that_is_refused_leaves_one_owner(start, tmp_path):
    """A move has arrived, the answer was lost, and the agent has moved on before the move is repeated."""
    first, second, third = (start(directory=tmp_path / name) for name in ("first", "second", "third"))
    first.create("a", STATION)
    assert arrive(second, "a", begin(first, "a", second.url)).json["new"]
    move(second, "a", third.url)
    with pytest.raises(ServiceError):
        move(first, "a", second.url)
    assert first.call("POST", "/v1/agents/a/act").json["error"] == "moving"
    assert third.post("/v1/agents/a/act")["step"] == 1


def test_a_move_that_has_arrived_is_not_refused_though_the_agent_came_again(start, tmp_path):
    """It moved on and came back by another move; if the first were refused now, the agent would have two owners."""
    first, second, third = (start(directory=tmp_path / name) for name in ("first", "second", "third"))
    first.create("a", STATION)
    assert arrive(second, "a", begin(first, "a", second.url)).json["new"]
    move(second, "a", third.url)
    move(third, "a", second.url)
    with pytest.raises(ServiceError):
        move(first, "a", second.url)
    assert first.call("POST", "/v1/agents/a/act").json["error"] == "moving"
    assert second.post("/v1/agents/a/act")["step"] == 1
    refused = first.call("POST", "/v1/agents/a/move", {"to": "shard-0"})
    assert (refused.status, refused.json["message"]) == (422, "to: 'shard-0'; this service has no shards")


def test_a_start_undoes_a_move_that_was_refused(tmp_path):
    """It is as unfinished as one that never arrived: if it counted as complete, the agent would be lost."""
    for number in (0, 1):
        with Store(shard_directory(tmp_path, number)) as store:
            if number == 0:
                store.create("a", make_setup(**STATION))
                note = moving.begin(store, "a", "shard-1")
            else:
                moving.refuse(store, "a", note["move"])
                moving.refuse(store, "a", note["move"])
    layout.record(tmp_path, 2)
    assert lay_out(tmp_path, 2).owner("a") == 0
    assert names_in(shard_directory(tmp_path, 0)) == ["a"]


def test_a_move_that_was_completed_though_the_answer_said_otherwise(tmp_path, monkeypatch):
    """The same request again completes it in memory, too."""
    agents = Agents(tmp_path, Limits())
    agents.create("a", make_setup(**STATION))
    number = json.loads(moves.begin(agents, "a", "http://127.0.0.1:9"))["move"]
    with monkeypatch.context() as patched:
        patched.setattr(Store, "_note", lambda *_: raise_unsynced())
        with pytest.raises(Unsynced):
            moves.complete(agents, "a", number)
    for _ in range(2):
        assert moves.complete(agents, "a", number) == "http://127.0.0.1:9"
    with pytest.raises(Moved):
        agents.core("a")
    with pytest.raises(LiveError, check=has(agent="b")):
        moving.complete(agents.store, "b")
    agents.close()


def raise_unsynced() -> None:
    raise Unsynced("the disk could not be synchronised")


def test_few_moves_are_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(moving, "MOST_SPENT", 3)
    with Store(tmp_path) as store:
        for move in "abcdef":
            moving.refuse(store, "agent", move)
            assert not moving.Arrivals.of(store, "agent").has_taken(move)
        assert moving.Arrivals.of(store, "agent") == (None, ("d", "e", "f"), ("d", "e", "f"))
