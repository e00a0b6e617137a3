"""Points of a box over HTTP: setups, observations as JSON lists, refusals, the client, and a kill."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

import everlearn as el
from everlearn.client import ServiceError
from everlearn.durable.checking import check
from everlearn.errors import InputError
from tests.refusal import has, refusal

ROOM: dict[str, Any] = {
    "actions": ["off", "on"],
    "observations": {"low": [10, 0], "high": [30, 1]},
    "reward_range": [0, 1],
    "seed": 1,
    "snapshot_every": 7,
}
WIDE = {**ROOM, "observations": {"low": [0] * 40, "high": [1] * 40}}


def test_an_agent_of_the_service_is_the_agent_in_process(start, tmp_path):
    service = start()
    service.create("room", ROOM)
    points = [(20 + step % 9, step % 7 / 7) for step in range(20)]
    with el.live(tmp_path / "here", **ROOM) as agent, closing(el.Client(service.url, "room")) as client:
        for number, point in enumerate(points):
            assert client.act() == agent.act()
            sent = np.array(point) if number % 2 else list(point)
            assert client.observe(sent, reward=0.5) == agent.observe(point, reward=0.5) == 0.5
        assert tuple(client.inspect()["aleatoric_state"]) == agent.aleatoric_state
    before = service.call("GET", "/v1/agents/room").json
    assert (before["step"], before["values"], before["counts"]) == (20, None, None)
    assert "too many for a table" in before["explanation"]
    service.kill()
    again = start()
    after = again.call("GET", "/v1/agents/room").json
    assert {**after, "pending": None} == {**before, "pending": None}
    row = again.call("GET", "/v1/agents/room/journal").body.splitlines()[-1]
    assert b'"observation":[' in row.replace(b" ", b"")


@pytest.mark.parametrize(
    "bad",
    [[31, 0.5], [21], [21, 0.5, 0], ["21", 0.5], [True, 0.5], [None, 0.5], [[21], 0.5], "warm", 21, {"low": 1}, None],
)
def test_a_bad_observation_is_refused_and_nothing_is_written(service, bad):
    service.create("bad", ROOM)
    path = "/v1/agents/bad"
    service.post(f"{path}/act")
    step, version = (service.call("GET", path).json[name] for name in ("step", "version"))
    reply = service.call("POST", f"{path}/observe", {"step": step + 1, "observation": bad, "reward": 0.5})
    assert reply.status == 422
    assert "observation" in reply.json["message"]
    assert service.call("GET", path).json["version"] == version


@pytest.mark.parametrize(
    "wrong",
    [
        {"observations": {"low": [1], "high": [1]}},
        {"observations": {"low": [1], "high": [2, 3]}},
        {"observations": {"low": [1]}},
        {"observations": {"low": [0] * 257, "high": [1] * 257}},
        {"observations": {"low": [0] * 65, "high": [1] * 65}},
        {"aleatoric": "window:2"},
        {"agent": "versatile"},
        {"start": [99, 0]},
        {"promotion": {"gain": 0}},
        {"allowed": [["warm", ["on"]]]},
        {"reward": [["warm", "on", "cold", 1]]},
    ],
)
def test_a_setup_that_cannot_be_is_refused(service, wrong):
    assert service.call("POST", "/v1/agents", {"name": "wrong", "setup": {**ROOM, **wrong}}).status == 422


def test_what_needs_a_table_says_so(service):
    service.create("tables", ROOM)
    for path in ("policy", "report"):
        reply = service.call("GET", f"/v1/agents/tables/{path}")
        assert (reply.status, len(reply.json["message"].splitlines())) == (422, 1)
    with closing(el.Client(service.url, "tables")) as client, pytest.raises(ServiceError, check=has(status=422)):
        client.policy()


def test_a_wide_box_over_http(start):
    service = start()
    service.create("wide", WIDE)
    point = [step / 40 for step in range(40)]
    with closing(el.Client(service.url, "wide")) as client:
        for _ in range(9):
            client.act()
            client.observe(point, reward=0.25)
    before = service.call("GET", "/v1/agents/wide").json
    service.kill()
    assert check(service.directory).sound
    after = start().call("GET", "/v1/agents/wide").json
    assert {**after, "pending": None} == {**before, "pending": None}


@pytest.mark.parametrize("bad", [[float("nan"), 0.5], np.array([21, np.inf]), [21, {0.5}]], ids=repr)
def test_what_cannot_be_sent_is_refused_and_the_client_goes_on(service, bad):
    service.create("sent", ROOM)
    with closing(el.Client(service.url, "sent")) as client:
        action = client.act()
        with pytest.raises(InputError, check=refusal("observation")):
            client.observe(bad, reward=0.5)
        with pytest.raises(InputError, check=refusal("reward")):
            client.observe([21, 0.5], reward=float("nan"))
        assert client.act() == action
        assert client.observe([np.float32(21), np.float64(0.5)], reward=np.float32(0.5)) == 0.5
