"""Moves of agents between services and between shards: at every moment exactly one of them owns an agent."""

from __future__ import annotations

import http.client
import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from everlearn.client import Client, ServiceError
from everlearn.client.operator import Operator
from everlearn.durable import layout, moving, notes
from everlearn.durable.checking import check
from everlearn.durable.layout import shard_directory, stores_of
from everlearn.durable.repair import repair
from everlearn.durable.setup import Setup, make_setup
from everlearn.durable.store import Store
from everlearn.errors import InputError, LiveError, Unsynced
from everlearn.service import moves
from everlearn.service.agents import Agents, Moved
from everlearn.service.placement import Placement, lay_out
from everlearn.service.settings import Limits
from tests.service.conftest import STATION, Service, until
from tests.service.test_chaos import SETUP, assert_same_state, undisturbed, world
from tests.service.test_shards import names_in, processes, shard_of

OCTETS = "application/octet-stream"


def drive(client: Client, station, steps: int) -> None:
    for _ in range(steps):
        assert client.observe(station.step(client.act())) is not None


def move(service: Service, name: str, to: str | int) -> None:
    operator = Operator(service.url, name, deadline=60)
    with closing(operator._connection):
        operator.move(to)


def stay(service: Service, name: str, to: str) -> None:
    operator = Operator(service.url, name, deadline=60)
    with closing(operator._connection):
        operator.stay(to)


def sound(service: Service) -> bool:
    """Whether everything that a service has stored is as it was written, and can be recovered."""
    reports = [check(store) for store in stores_of(service.directory)]
    return all(report.sound and all(a["verdict"] == "sound" for a in report.agents) for report in reports)


@pytest.fixture
def pair(start, tmp_path):
    return start(directory=tmp_path / "first"), start("--shards", "2", directory=tmp_path / "second")


def test_an_agent_moves_and_its_controller_follows(pair, tmp_path, runner):
    first, second = pair
    first.create("a", SETUP)
    station = world(3)
    with Client(first.url, "a", deadline=60) as client:
        drive(client, station, 60)
        pending = client.act()
        done = runner(f"everlearn move {first.url} a --to {second.url} --json", tmp_path)
        assert (done.status, json.loads(done.stdout)) == (0, {"name": "a", "to": second.url}), done
        again = runner(f"everlearn move {first.url} a --to {second.url}", tmp_path)
        assert again.stdout == f"agent a: moved to {second.url}\n"
        assert second.post("/v1/agents/a/act")["action"] == pending  # what was proposed is still proposed
        recorded = json.loads(first_row(second, "a", 60))
        repeated = {"step": 60, "observation": recorded["observation"], "executed": recorded["executed"]}
        assert second.post("/v1/agents/a/observe", repeated)["step"] == 60  # a duplicate is recognised
        drive(client, station, 60)
        assert client._connection.address == second.url
        client.act()
    redirect = first.call("POST", "/v1/agents/a/act?x=1")
    assert (redirect.status, redirect.headers["location"]) == (308, f"{second.url}/v1/agents/a/act?x=1")
    created = first.call("POST", "/v1/agents", {"name": "a", "setup": SETUP})
    assert (created.status, created.headers["location"]) == (308, f"{second.url}/v1/agents")
    state = second.call("GET", "/v1/agents/a/state").body
    assert first.call("GET", "/v1/agents").json["agents"] == []
    assert (first.stop(), second.stop()) == (0, 0)
    assert sound(first)
    assert sound(second)
    with Store(first.directory) as store, pytest.raises(LiveError, match="moved"):
        store.create("a", make_setup(**SETUP))
    assert_same_state(state, undisturbed(tmp_path / "alone", 3, 120))


def first_row(service: Service, name: str, step: int) -> bytes:
    return service.call("GET", f"/v1/agents/{name}/journal?first={step}&last={step}").body.splitlines()[0]


def begin(service: Service, name: str, to: str) -> bytes:
    return service.call("POST", f"/v1/agents/{name}/move", {"to": to}).body


def arrive(service: Service, name: str, luggage: bytes):
    return service.call("PUT", f"/v1/agents/{name}/arrival", luggage, Content_Type=OCTETS)


@pytest.mark.parametrize("killed", range(4))
def test_a_kill_at_any_moment_leaves_one_owner(start, tmp_path, killed):
    """Kill both services after each part of a move; the same call then completes it."""
    first, second = start(directory=tmp_path / "first"), start(directory=tmp_path / "second")
    first.create("a", STATION)
    for step in range(1, 6):
        first.post("/v1/agents/a/step", {"step": step, "observation": "arrival"})
    to = f"http://127.0.0.1:{second.port}"
    if killed >= 1:
        luggage = begin(first, "a", to)
    if killed >= 2:
        assert arrive(second, "a", luggage).json["new"]
    if killed >= 3:
        number = json.loads(luggage)["move"]
        assert first.post("/v1/agents/a/moved", {"move": number}) == {"name": "a", "to": to}
    owners = []
    for service in (first, second):
        service.kill()
    first = start(directory=first.directory, port=first.port)
    second = start(directory=second.directory, port=second.port)
    owners = [service for service in (first, second) if service.call("POST", "/v1/agents/a/act").status == 200]
    assert owners == [[first], [], [second], [second]][killed]  # while it moves, it waits for the call to be repeated
    move(first, "a", to)
    assert first.call("POST", "/v1/agents/a/act").status == 308
    assert second.post("/v1/agents/a/act")["step"] == 6
    assert second.post("/v1/agents/a/step", {"step": 5, "observation": "arrival"})["next"]["step"] == 6
    assert names_in(first.directory) == []


def assert_moving(service: Service, name: str) -> None:
    """Whatever would use an agent is refused: another service may own it already."""
    for path, body in (("act", None), ("observe", {"step": 1, "observation": "arrival"})):
        reply = service.call("POST", f"/v1/agents/{name}/{path}", body)
        assert (reply.status, reply.json["error"]) == (503, "moving"), reply
    assert service.call("GET", "/v1/agents").json["agents"][0]["quarantined"] is None  # it is not even kept


FAILING = """
import everlearn.durable.moving as m
from everlearn.durable.core import Core
from everlearn.errors import LiveError
def fail(*given): raise LiveError("it fails")
"""
FAILURES = {"none": "", "pack": f"{FAILING}m.pack = fail\n", "work": f"{FAILING}Core.require_working = fail\n"}
"""Python with which a repeated move fails at another moment."""


@pytest.mark.parametrize("failure", FAILURES)
def test_no_request_serves_an_agent_again_whose_move_was_interrupted(start, tmp_path, failure):
    first, second = start(directory=tmp_path / "first"), start(directory=tmp_path / "second")
    first.create("a", STATION)
    luggage = begin(first, "a", second.url)
    assert arrive(second, "a", luggage).json["new"]
    if failure != "none":
        first.stop()
        first = start(directory=tmp_path / "first", before=FAILURES[failure])
    others = ["http://127.0.0.1:9", f"{second.url}/", "shard-0", *([] if failure == "none" else [second.url])]
    for to in others:
        assert first.call("POST", "/v1/agents/a/move", {"to": to}).status in (422, 503)
        assert_moving(first, "a")
    for method, path in (("DELETE", "?confirm=a"), ("GET", ""), ("GET", "/state"), ("POST", "/freeze")):
        first.call(method, f"/v1/agents/a{path}")
        assert_moving(first, "a")
    assert first.call("POST", "/v1/agents", {"name": "a", "setup": STATION}).status >= 400
    assert_moving(first, "a")
    first.post("/v1/agents/a/moved", {"move": json.loads(luggage)["move"]})
    assert second.post("/v1/agents/a/act")["step"] == 1


def test_a_move_that_fails_after_it_was_noted_is_begun(start, tmp_path):
    """What is on disk counts: else the agent would be used until the next start, and then no more."""
    first = start(directory=tmp_path / "first", before=FAILURES["pack"])
    first.create("a", STATION)
    assert first.call("POST", "/v1/agents/a/move", {"to": "http://127.0.0.1:9"}).status == 503
    assert_moving(first, "a")
    number = first.call("POST", "/v1/agents/a/act").json["move"]
    without = first.call("DELETE", "/v1/agents/a/move")
    assert (without.status, without.json["message"]) == (
        422,
        f"move: None; the agent is being moved by {number}; name the move to cancel",
    )
    assert first.call("DELETE", f"/v1/agents/a/move?move={number}").status == 200
    assert first.post("/v1/agents/a/act")["step"] == 1


def test_a_late_cancel_does_not_touch_the_next_move(start, tmp_path):
    """It is repeated because its answer was lost; meanwhile somebody else has moved the agent."""
    first, second = start(directory=tmp_path / "first"), start(directory=tmp_path / "second")
    first.create("a", STATION)
    number = json.loads(begin(first, "a", second.url))["move"]
    cancel = f"/v1/agents/a/move?move={number}"
    assert second.call("DELETE", f"/v1/agents/a/arrival?move={number}").status == 200
    assert [first.call("DELETE", cancel).status for _ in range(2)] == [200, 200]
    assert arrive(second, "a", begin(first, "a", second.url)).json["new"]
    late = first.call("DELETE", cancel)
    assert (late.status, late.json["error"]) == (409, "taken")
    assert_moving(first, "a")
    move(first, "a", second.url)
    assert first.call("DELETE", cancel).status == 409
    assert second.post("/v1/agents/a/act")["step"] == 1


def damage_note(service: Service, key: str) -> None:
    """Change one character of a note, in whichever shard it is."""
    for store in stores_of(service.directory):
        with closing(sqlite3.connect(store / "everlearn.db", isolation_level=None)) as connection:
            connection.execute("UPDATE meta SET value = replace(value, 'http', 'hftp') WHERE key = ?", (key,))


@pytest.mark.parametrize("options", [(), ("--shards", "2")])
def test_a_damaged_note_about_one_agent_leaves_the_others_served(start, tmp_path, options):
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


def test_a_late_duplicate_brings_nothing_back(start, tmp_path):
    first, second = start(directory=tmp_path / "first"), start(directory=tmp_path / "second")
    first.create("a", STATION)
    luggage = begin(first, "a", second.url)
    assert first.call("POST", "/v1/agents/a/act").json["error"] == "moving"
    assert first.call("DELETE", "/v1/agents/a?confirm=a").json["error"] == "moving"
    assert first.call("POST", "/v1/agents/a/move", {"to": "http://127.0.0.1:9"}).status == 422
    assert [arrive(second, "a", luggage).json["new"] for _ in range(2)] == [True, False]
    move(first, "a", second.url)
    second.post("/v1/agents/a/step", {"step": 1, "observation": "arrival"})
    assert arrive(second, "a", luggage).json["new"] is False  # it is there, a step further
    move(second, "a", first.url)  # and back
    assert arrive(second, "a", luggage).status == 409
    assert first.post("/v1/agents/a/act")["step"] == 2
    assert second.call("POST", "/v1/agents/a/act").status == 308
    first.call("DELETE", "/v1/agents/a?confirm=a")
    assert arrive(second, "a", luggage).status == 409


def test_a_move_can_be_cancelled(start, tmp_path, runner):
    first, second = start(directory=tmp_path / "first"), start(directory=tmp_path / "second")
    first.create("a", STATION)
    luggage = begin(first, "a", second.url)
    done = runner(f"everlearn move {first.url} a --to {second.url} --cancel", tmp_path)
    assert done.stdout == "agent a: stays\n", done
    assert first.post("/v1/agents/a/act")["step"] == 1
    assert arrive(second, "a", luggage).status == 409  # a request that was on its way comes too late
    move(first, "a", second.url)
    assert second.post("/v1/agents/a/act")["step"] == 1
    with pytest.raises(ServiceError):
        stay(first, "a", second.url)


def test_a_refused_move_leaves_the_agent_where_it_is(start, tmp_path):
    first, second = start(directory=tmp_path / "first"), start(directory=tmp_path / "second")
    for service in (first, second):
        service.create("a", STATION)
    with pytest.raises(ServiceError) as refused:
        move(first, "a", second.url)
    assert refused.value.status == 409
    assert first.post("/v1/agents/a/act")["step"] == 1


def test_crafted_luggage_is_refused_in_one_line(start, tmp_path):
    first, second = start(directory=tmp_path / "first"), start("--max-agents", "1", directory=tmp_path / "second")
    first.create("a", STATION)
    for step in range(1, 4):
        first.post("/v1/agents/a/step", {"step": step, "observation": "arrival"})
    good = json.loads(begin(first, "a", second.url))
    row = good["rows"][-1]
    more = good["checkpoint"]["more"]
    spoiled = [
        [],
        {},
        {**good, "format": 2},
        {**good, "move": "x"},
        {**good, "more": 1},
        {**good, "rows": good["rows"][:-1]},
        {**good, "rows": [*good["rows"][:-1], [*row[:8], True, *row[9:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:10], True, *row[11:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:5], None, *row[6:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:3], -1, *row[4:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:5], 10**6, *row[6:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:5], -1, *row[6:]]]},
        {**good, "rows": [*good["rows"][:-1], [*row[:4], "now", *row[5:]]]},
        {**good, "setup": {**good["setup"], "task": "os:system"}},
        {**good, "setup": {**good["setup"], "parameters": {"task.window": 10**9}}},
        {**good, "face": {}},
        {**good, "checkpoint": {**good["checkpoint"], "state": ""}},
        {**good, "checkpoint": {**good["checkpoint"], "seq": -1}},
        {**good, "checkpoint": {**good["checkpoint"], "more": {**more, "mode": "x"}}},
        {**good, "checkpoint": {**good["checkpoint"], "more": {**more, "gauge": [1]}}},
    ]
    for document in spoiled:
        reply = arrive(second, "a", json.dumps(document).encode())
        assert 400 <= reply.status < 500, (document, reply)
    assert arrive(second, "a", b"[" * 10**6).status == 422
    assert second.call("GET", "/readyz").status == 200
    assert arrive(second, "a", json.dumps(good).encode()).status == 200
    assert second.post("/v1/agents/a/act")["step"] == 4


def luggage_of(directory: Path) -> dict:
    """Return what moves of an agent that has taken three steps."""
    with Store(directory) as store:
        core = store.create("a", make_setup(**STATION))
        for _ in range(3):
            core.act()
            entry = core.prepare("arrival")
            store.append_one(core.number, entry)
            core.apply(entry)
        note = moving.begin(store, "a", "http://127.0.0.1:9")
        return json.loads(moving.pack(store, "a", core, note["move"]).to_bytes())


@pytest.mark.parametrize("written", [int, lambda _: -0.0])
def test_rewards_may_be_written_otherwise(tmp_path, written):
    """Another program writes 1.0 as 1; the check of a row is that of what SQLite returns."""
    luggage = luggage_of(tmp_path / "first")
    for row in luggage["rows"]:
        row[4], row[10] = int(row[4]), written(row[10])
    put_into(tmp_path / "second", json.dumps(luggage).encode())
    assert check(tmp_path / "second").sound


def test_luggage_has_few_rows(tmp_path):
    luggage = luggage_of(tmp_path)
    row = luggage["rows"][-1]
    for count, fine in ((moving.ROWS, True), (moving.ROWS + 1, False)):
        luggage["rows"] = [[number, row[1], 3, *row[3:]] for number in range(1, count + 1)]
        luggage["checkpoint"]["seq"] = count
        data = json.dumps(luggage).encode()
        if fine:
            assert len(moving.Luggage.from_bytes(data).rows) == count
        else:
            with pytest.raises(InputError, match="1,001 rows'; at most the last 1,000 move"):
                moving.Luggage.from_bytes(data)


def interrupted(directory: Path) -> None:
    """Leave a directory with two shards in which agent a has come from shard 0 to shard 1, and is in both."""
    with Store(shard_directory(directory, 0)) as first, Store(shard_directory(directory, 1)) as second:
        for name in ("a", "b"):
            core = first.create(name, make_setup(**STATION))
        core = first.open("a")
        note = moving.begin(first, "a", "shard-1")
        luggage = moving.Luggage.from_bytes(moving.pack(first, "a", core, note["move"]).to_bytes())
        moving.arrive(second, Setup(luggage.setup), luggage)
    layout.record(directory, 2)


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


def test_two_owners_keep_the_shards_from_being_served(tmp_path):
    interrupted(tmp_path)
    with Store(shard_directory(tmp_path, 0)) as store, store.transaction() as run:
        notes.write(run, notes.LEAVING, "a", None)
    with pytest.raises(LiveError, match="the agent a is in shard-0 and in shard-1"):
        lay_out(tmp_path, 2)


def test_a_move_is_not_cancelled_if_the_other_shard_has_the_agent(tmp_path):
    interrupted(tmp_path)
    with Store(shard_directory(tmp_path, 1)) as store, store.transaction() as run:
        notes.write(run, notes.ARRIVALS, "a", None)
    for _ in range(2):
        assert lay_out(tmp_path, 2).owner("a") == 1


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
"""Python that leaves moves as they are, as a start of one shard alone does."""


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
    with pytest.raises(LiveError, match="not being moved"):
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


def test_a_move_without_a_token_for_the_other_service_is_not_begun(start, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.touch(0o600)
    tokens.write_text("0123456789abcdef-reader scope=read\n")
    first, second = (
        start(directory=tmp_path / "first"),
        start("--token-file", str(tokens), directory=tmp_path / "second"),
    )
    first.create("a", STATION)
    operator = Operator(first.url, "a", deadline=60)
    with closing(operator._connection):
        for token, status in ((None, 401), ("0123456789abcdef-reader", 403)):
            with pytest.raises(ServiceError) as refused:
                operator.move(second.url, token=token)
            assert refused.value.status == status
            assert first.call("POST", "/v1/agents/a/act").status == 200


def put_into(directory: Path, luggage: bytes) -> None:
    from everlearn.durable.moving import Luggage, arrive
    from everlearn.durable.setup import Setup

    read = Luggage.from_bytes(luggage)
    with Store(directory) as store:
        arrive(store, Setup(read.setup), read)


def test_a_client_does_not_follow_to_an_unencrypted_address():
    from everlearn.client.connection import Connection

    connection = Connection("https://station.example")
    with pytest.raises(ServiceError):
        connection._follow("http://station.example")
    assert connection.address == "https://station.example"
