"""Notes about agents that come and go: a damaged one concerns its agent alone."""

from __future__ import annotations

import http.client
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from everlearn.durable import moving, notes
from everlearn.durable.checking import check
from everlearn.durable.layout import shard_directory, stores_of
from everlearn.durable.repair import repair
from everlearn.durable.setup import Setup, make_setup
from everlearn.durable.store import Store
from tests.few import few
from tests.service.conftest import STATION, Service
from tests.service.moving import arrive, assert_moving, begin, interrupted, move, sound
from tests.service.test_shards import names_in


def damage_note(service: Service, key: str) -> None:
    """Change one character of a note, in whichever shard it is."""
    for store in stores_of(service.directory):
        with closing(sqlite3.connect(store / "everlearn.db", isolation_level=None)) as connection:
            connection.execute("UPDATE meta SET value = replace(value, 'http', 'hftp') WHERE key = ?", (key,))


@pytest.mark.parametrize("shards", few([1, 2], [2]))
def test_a_damaged_note_about_one_agent_leaves_the_others_served(start, tmp_path, shards):
    options = ("--shards", "2") if shards == 2 else ()
    other = start(directory=tmp_path / "other")
    service = start(*options, directory=tmp_path / "first")
    for name in ("a", "b", "c"):
        service.create(name, STATION)
    begin(service, "a", other.url)
    move(service, "b", other.url)
    service.stop()
    for key in ("leaving agent a", "moved agent b"):
        damage_note(service, key)
    assert [finding.agent for finding in check(service.directory).findings] in (["a", "b"], ["b", "a"])
    for damaged in (2, 0):  # the second time after a repair
        service = start(*options, directory=service.directory)
        assert service.call("GET", "/readyz").json.get("damaged_notes", 0) == damaged
        assert_moving(service, "a")
        assert service.call("POST", "/v1/agents/b/act").json["error"] == "moving"
        assert service.call("POST", "/v1/agents", {"name": "b", "setup": STATION}).json["error"] == "moving"
        assert service.call("POST", "/v1/agents/a/move", {"to": other.url}).status == 422  # a new move might make two
        assert service.post("/v1/agents/c/act")["step"] == 1
        if damaged:
            service.stop()
            for store in stores_of(service.directory):
                repair(store)
            assert sound(service)
    assert service.call("DELETE", f"/v1/agents/a/move?move={'0' * 32}").status == 409  # of a move that is past
    for name in ("a", "b"):
        assert service.call("DELETE", f"/v1/agents/{name}/move").status == 200
    assert service.post("/v1/agents/a/act")["step"] == 1
    service.create("b", STATION)


def test_an_agent_whose_arrivals_are_lost_neither_comes_nor_is_refused(start, tmp_path):
    """Its answer was lost, and then the note of its arrival: if the move were refused now, both would serve it."""
    first, second = start(directory=tmp_path / "first"), start(directory=tmp_path / "second")
    first.create("a", STATION)
    luggage = begin(first, "a", second.url)
    number = json.loads(luggage)["move"]
    assert arrive(second, "a", luggage).json["new"]
    second.stop()
    spoil(second.directory, "arrivals agent a")
    for repaired in (False, True):
        if repaired:
            second.stop()
            assert repair(second.directory)["damaged_notes"] == ["arrivals agent a"]
        second = start(directory=second.directory, port=second.port)
        assert arrive(second, "a", luggage).json["error"] == "corrupt"
        assert second.call("DELETE", f"/v1/agents/a/arrival?move={number}").json["error"] == "corrupt"
        assert second.post("/v1/agents/a/act")["step"] == 1
    first.post("/v1/agents/a/moved", {"move": number})
    assert second.call("DELETE", "/v1/agents/a/arrival").status == 200
    move(second, "a", first.url)
    move(first, "a", second.url)
    assert second.post("/v1/agents/a/act")["step"] == 1


def spoil(directory: Path, key: str) -> None:
    """Change one character of the last part of a note."""
    with closing(sqlite3.connect(directory / "everlearn.db", isolation_level=None)) as connection:
        spoiled = "substr(value, 1, length(value) - 3) || 'x' || substr(value, -2)"
        assert connection.execute(f"UPDATE meta SET value = {spoiled} WHERE key = ?", (key,)).rowcount == 1


@pytest.mark.parametrize(
    ("shard", "key", "repaired"),
    [(0, "leaving agent a", False), (1, "arrivals agent a", False), (1, "arrivals agent a", True)],
)
def test_a_damaged_note_does_not_keep_the_shards_from_being_served(start, tmp_path, shard, key, repaired):
    directory = tmp_path / "agents"
    interrupted(directory)
    spoil(shard_directory(directory, shard), key)
    if repaired:
        repair(shard_directory(directory, shard))
    service = start("--shards", "2", directory=directory)
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    with closing(connection):
        for name in ("b", "a", "b", "a"):  # on one connection, so that each shard is asked about both
            connection.request("POST", f"/v1/agents/{name}/act")
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["step"]) == (200, 1)
    assert service.post("/v1/agents/a/step", {"step": 1, "observation": "arrival"})["next"]["step"] == 2
    assert [(a["name"], a["step"]) for a in service.call("GET", "/v1/agents").json["agents"]] == [("a", 1), ("b", 0)]
    service.stop()
    assert [names_in(shard_directory(directory, number)) for number in (0, 1)] == [["a", "b"], ["a"]]  # nothing is lost


def test_a_lost_record_of_arrivals_is_forgotten_in_every_shard(start, tmp_path):
    """Also in a shard that the agent has left; otherwise it could never come there again."""
    directory = tmp_path / "agents"
    interrupted(directory)
    with Store(shard_directory(directory, 0)) as first, Store(shard_directory(directory, 1)) as second:
        moving.complete(first, "a")
        core = second.open("a")
        note = moving.begin(second, "a", "shard-0")
        luggage = moving.Luggage.from_bytes(moving.pack(second, "a", core, note["move"]).to_bytes())
        moving.arrive(first, Setup(luggage.setup), luggage)
        moving.complete(second, "a")
    spoil(shard_directory(directory, 1), "arrivals agent a")
    repair(shard_directory(directory, 1))
    service = start("--shards", "2", directory=directory)
    refused = service.call("POST", "/v1/agents/a/move", {"shard": 1})
    assert (refused.status, refused.json["error"]) == (503, "corrupt")
    assert service.call("DELETE", "/v1/agents/a/arrival").status == 200
    assert service.call("POST", "/v1/agents/a/move", {"shard": 1}).status == 200
    assert service.post("/v1/agents/a/act")["step"] == 1


def test_a_damaged_note_of_where_an_agent_went_does_not_hide_it_in_another_shard(start, tmp_path):
    directory = tmp_path / "agents"
    interrupted(directory)
    with Store(shard_directory(directory, 0)) as store:
        moving.complete(store, "a")
    spoil(shard_directory(directory, 0), "moved agent a")
    service = start("--shards", "2", directory=directory)
    for _ in range(4):
        for name in ("a", "b"):
            assert service.post(f"/v1/agents/{name}/act")["step"] == 1


def test_the_notes_of_other_kinds_are_not_parsed(tmp_path, monkeypatch):
    """A store may have very many of them, and a move begins in the thread that serves all agents."""
    parsed = []
    with Store(tmp_path) as store:
        store.create("a", make_setup(**STATION))
        with store.transaction() as run:
            for number in range(50):
                notes.write(run, notes.MOVED, f"m{number}", {"to": "http://127.0.0.1:9", "move": "0" * 32})
                notes.write(run, notes.ARRIVALS, f"n{number}", {"origin": None, "spent": [], "refused": []})
        note = notes._note
        monkeypatch.setattr(notes, "_note", lambda *given: parsed.append(given[1]) or note(*given))
        move = moving.begin(store, "a", "http://127.0.0.1:9")["move"]
        assert moving.cancel(store, "a", "0" * 32) is False
        assert moving.cancel(store, "a", move)
        assert set(parsed) == {"leaving agent a"}
        assert len(notes.read(store, notes.MOVED)) == 50
