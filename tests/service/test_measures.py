"""Durations and costs over HTTP: with each observation, exactly once, after a restart too, and from the client."""

from __future__ import annotations

from contextlib import closing

import pytest

import everlearn as el
from everlearn.errors import EverlearnError

MACHINE = {
    "actions": ["take", "skip"],
    "observations": ["short", "long"],
    "reward_range": [0, 5],
    "durations": [0.5, 12],
    "cost_range": [0, 1],
    "limit": 0.25,
    "seed": 1,
}
DONE = {"observation": "short", "reward": 2, "duration": 4, "cost": 0.5}


def test_the_averages_are_per_unit_of_time_after_a_restart_too(start):
    service = start()
    service.create("machine", MACHINE)
    for step in (1, 2, 2):
        service.post("/v1/agents/machine/step", {"step": step, **DONE})
    before = service.call("GET", "/v1/agents/machine").json
    assert (before["step"], before["average_reward"]) == (2, 0.5)
    prices = {"price_of_time": 0.5, "multiplier": 0.0, "limit": 0.25, "average_cost": 0.125}
    assert before["prices"] == prices
    metrics = service.call("GET", "/metrics").body.decode()
    for name in (*prices, "average_reward"):
        assert f'everlearn_agent_{name}{{agent="machine"}}' in metrics
    service.kill()
    after = start().call("GET", "/v1/agents/machine").json
    assert {**after, "pending": None} == {**before, "pending": None}


def test_measures_are_checked(service):
    service.create("checked", MACHINE)
    path = "/v1/agents/checked/observe"
    for wrong in (
        {"duration": None},
        {"cost": None},
        {"duration": 13},
        {"cost": -1},
        {"cost": True},
        {"duration": "4"},
    ):
        body = {key: value for key, value in {"step": 1, **DONE, **wrong}.items() if value is not None}
        assert service.call("POST", path, body).status == 422
    service.post(path, {"step": 1, **DONE})
    assert service.call("POST", path, {"step": 1, **DONE, "cost": 0.25}).status == 409
    service.create("plain", {key: MACHINE[key] for key in ("actions", "observations", "reward_range")})
    assert service.call("POST", "/v1/agents/plain/observe", {"step": 1, **DONE}).status == 422


def test_setups_are_checked(service):
    for number, wrong in enumerate(
        ({"durations": [0, 1]}, {"limit": None}, {"limit": -1}, {"cost_range": [1, 1]}, {"raw": True})
    ):
        setup = {key: value for key, value in {**MACHINE, **wrong}.items() if value is not None}
        assert service.call("POST", "/v1/agents", {"name": f"wrong{number}", "setup": setup}).status == 422


def test_the_client_sends_them(service):
    with closing(el.Client(service.url, "sent", deadline=30)) as client:
        client.create(MACHINE)
        client.act()
        assert client.observe("short", reward=2, duration=4, cost=0.5) == 2
        client.act()
        assert client.step("short", reward=2, duration=4, cost=0.5) in ("take", "skip")
        assert client.inspect()["average_reward"] == 0.5
        with pytest.raises(EverlearnError):
            client.observe("short", reward=2)
