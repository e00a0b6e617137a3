"""Moves of agents between services: at every moment exactly one of them owns an agent."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from everlearn.client import Client, ServiceError
from everlearn.client.operator import Operator
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import LiveError
from tests.few import few
from tests.refusal import has
from tests.service.conftest import STATION, Service
from tests.service.moving import arrive, assert_moving, begin, drive, move, sound
from tests.service.test_chaos import SETUP, assert_same_state, undisturbed, world
from tests.service.test_shards import names_in


def stay(service: Service, name: str, to: str) -> None:
    operator = Operator(service.url, name, deadline=60)
    with closing(operator._connection):
        operator.stay(to)


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
    with Store(first.directory) as store, pytest.raises(LiveError, check=has(__class__=LiveError, agent="a")):
        store.create("a", make_setup(**SETUP))
    assert_same_state(state, undisturbed(tmp_path / "alone", 3, 120))


def first_row(service: Service, name: str, step: int) -> bytes:
    return service.call("GET", f"/v1/agents/{name}/journal?first={step}&last={step}").body.splitlines()[0]


@pytest.mark.parametrize("killed", few(range(4), (0, 3)))
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


FAILING = """
import everlearn.durable.moving as m
from everlearn.durable.core import Core
from everlearn.errors import LiveError
def fail(*given): raise LiveError("it fails")
"""


FAILURES = {"none": "", "pack": f"{FAILING}m.pack = fail\n", "work": f"{FAILING}Core.require_working = fail\n"}


@pytest.mark.parametrize("failure", few(FAILURES, ["work"]))
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


def test_a_client_does_not_follow_to_an_unencrypted_address():
    from everlearn.client.connection import Connection

    connection = Connection("https://station.example")
    with pytest.raises(ServiceError):
        connection._follow("http://station.example")
    assert connection.address == "https://station.example"
