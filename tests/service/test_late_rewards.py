"""Late rewards over HTTP: exactly once, after a restart too, and from the client."""

from __future__ import annotations

from contextlib import closing

import everlearn as el

PUMP = {"actions": ["off", "on"], "observations": ["dry", "full"], "reward_range": [0, 1], "reward_delay": 3, "seed": 1}


def test_a_late_reward_is_taken_once(service):
    service.create("late", PUMP)
    observed = service.post("/v1/agents/late/observe", {"step": 1, "observation": "dry"})
    assert observed["reward"] is None
    for _ in range(2):
        assert service.post("/v1/agents/late/reward", {"step": 1, "reward": 0.5}) == {"step": 1, "reward": 0.5}
    found = service.call("GET", "/v1/agents/late").json
    assert (found["step"], found["t"], found["waiting"], found["average_reward"]) == (1, 1, 0, 0.5)
    assert service.call("POST", "/v1/agents/late/reward", {"step": 1, "reward": 1}).status == 409
    assert service.call("POST", "/v1/agents/late/reward", {"step": 7, "reward": 1}).status == 409
    assert service.call("POST", "/v1/agents/late/reward", {"step": 1, "reward": 9}).status == 422
    assert service.call("POST", "/v1/agents/late/reward", {"step": 1, "reward": True}).status == 422


def test_what_was_asked_for_stands_though_something_is_learned(start):
    service = start()
    service.create("late", PUMP)
    service.post("/v1/agents/late/observe", {"step": 1, "observation": "dry"})
    asked = service.post("/v1/agents/late/act")
    service.kill()
    again = start()
    again.post("/v1/agents/late/reward", {"step": 1, "reward": 1})
    assert again.post("/v1/agents/late/act") == asked
    again.kill()
    third = start()
    assert third.post("/v1/agents/late/reward", {"step": 1, "reward": 1}) == {"step": 1, "reward": 1}
    assert third.post("/v1/agents/late/act") == asked


def test_the_client_sends_it(service):
    with closing(el.Client(service.url, "sent", deadline=30)) as client:
        client.create(PUMP)
        client.act()
        assert client.observe("full") is None
        client.reward(client.last_step, 1.0)
        client.reward(client.last_step, 1.0)
        assert client.inspect()["t"] == 1
