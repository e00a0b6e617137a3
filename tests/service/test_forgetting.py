"""An operator lets an agent forget faster while it is in use, over HTTP: what it has learned stays."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.client.connection import ServiceError
from everlearn.durable.setup import make_setup
from tests.durable import failing

SETUP = {
    "agent": "growing-horizon",
    "actions": ["slow", "fast"],
    "observations": ["idle", "busy"],
    "reward_range": [0, 1],
    "seed": 1,
}
PATH = "/v1/agents/pump"


def seen(step: int, change: int) -> dict:
    """What a controller reports; after the change, the other action is the better one."""
    action = ("slow", "fast")[step % 2]
    good = "fast" if step <= change else "slow"
    return {"observation": ("idle", "busy")[step % 3 % 2], "executed": action, "reward": float(action == good)}


def drive(service, first: int, last: int, change: int) -> None:
    for step in range(first, last + 1):
        service.post(f"{PATH}/observe", {"step": step, **seen(step, change)})


def values(service) -> list[dict]:
    return service.call("GET", PATH).json["values"]


def test_an_agent_forgets_faster_from_now_on_also_after_a_crash(start, tmp_path):
    service = start()
    service.create("pump", SETUP)
    drive(service, 1, 60, change=60)
    asked = service.post(f"{PATH}/act")
    before, tag = values(service), service.call("GET", PATH).headers["etag"]
    for _ in range(2):  # the answer to the first was lost
        reply = service.call("PUT", f"{PATH}/forgetting", {"forgetting": 0.5}, If_Match=tag)
        assert reply.status == 200
    assert reply.json["changed"] == {"step": 60, "changes": ["schedule.forgetting was 0.0 and is now 0.5"]}
    assert (values(service), service.post(f"{PATH}/act")) == (before, asked)
    drive(service, 61, 80, change=60)
    service.kill()
    service = start()
    drive(service, 81, 90, change=60)
    with el.live(tmp_path / "twin", **SETUP) as twin:
        for step in range(1, 61):
            twin.observe(**seen(step, 60))
    changed = {"parameters": {"schedule.forgetting": 0.5}, "accept_changes": True}
    with el.live(tmp_path / "twin", **SETUP, **changed) as twin:
        for step in range(61, 91):
            twin.observe(**seen(step, 60))
        assert twin.inspect()["values"] == values(service)
    assert service.call("POST", "/v1/agents", {"name": "pump", "setup": SETUP}).status == 200  # as before the change


def test_an_agent_with_another_forgetting_is_another_agent_unless_an_operator_changed_it(start):
    service = start()
    service.create("pump", SETUP)
    other = {"name": "pump", "setup": {**SETUP, "parameters": {"schedule.forgetting": 0.3}}}
    assert service.call("POST", "/v1/agents", other).status == 409
    assert service.call("PUT", f"{PATH}/forgetting", {"forgetting": 0.3}).status == 200
    for document in (other, {"name": "pump", "setup": SETUP}):  # as it is now, and as it was made
        assert service.call("POST", "/v1/agents", document).status == 200


def test_a_repeated_change_needs_the_version_that_it_changed(start):
    service = start()
    service.create("pump", SETUP)
    drive(service, 1, 1, change=60)
    old = service.call("GET", PATH).headers["etag"]
    drive(service, 2, 2, change=60)
    tag = service.call("GET", PATH).headers["etag"]
    for expected, status in ((old, 412), (tag, 200), (tag, 200), (old, 412), ('"7-0123abcd"', 412)):
        assert service.call("PUT", f"{PATH}/forgetting", {"forgetting": 0.3}, If_Match=expected).status == status


def test_what_is_refused(service):
    service.create("pump", SETUP)
    service.create("other", {**SETUP, "agent": "planner"})
    tag = service.call("GET", PATH).headers["etag"]
    with el.Client(service.url, "pump") as client:
        assert client.forgetting(0.1)["changed"]["changes"] == ["schedule.forgetting was 0.0 and is now 0.1"]
    assert service.call("PUT", f"{PATH}/forgetting", {"forgetting": 0.2}, If_Match=tag).status == 412
    for body in ({"forgetting": 1.5}, {"forgetting": "0.1"}, {}):
        assert service.call("PUT", f"{PATH}/forgetting", body).status == 422
    with el.Client(service.url, "other") as client:
        with pytest.raises(ServiceError) as refused:
            client.forgetting(0.1)  # it has no schedule
        assert refused.value.status == 422


def test_the_default_agent_takes_no_schedule_and_keeps_working(service):
    with el.Client(service.url, "default", deadline=60) as client:
        client.create({**SETUP, "agent": None})
        for _ in range(2):
            client.act()
            with pytest.raises(ServiceError) as refused:
                client.forgetting(0.1)
            assert (refused.value.status, refused.value.document["argument"]) == (422, "forgetting")
            client.observe("idle", reward=0.5)
        assert client.inspect()["step"] == 2


def test_a_rollback_to_before_the_change_is_refused_as_a_mistake(start):
    service = start()
    service.create("pump", {**SETUP, "snapshot_every": 20})
    drive(service, 1, 50, change=60)
    assert service.call("PUT", f"{PATH}/forgetting", {"forgetting": 0.5}).status == 200
    drive(service, 51, 60, change=60)
    reply = service.call("POST", f"{PATH}/rollback", {"snapshot": 40})
    assert (reply.status, reply.json["argument"]) == (422, "snapshot")
    assert service.call("POST", f"{PATH}/rollback", {"snapshot": 50}).status == 200


def test_an_agent_that_failed_is_rolled_back_first(start, tmp_path, monkeypatch):
    setup = make_setup(task="service-station", schedule="practical", seed=1)
    monkeypatch.setattr(failing, "make_setup", lambda **_: setup)
    failing.failing_directory(tmp_path / "failing", "pump")
    service = start(directory=tmp_path / "failing")
    refused = service.call("PUT", f"{PATH}/forgetting", {"forgetting": 0.5})
    assert (refused.status, refused.json["error"]) == (503, "quarantined")
    assert service.call("POST", f"{PATH}/rollback", {"snapshot": 3}).status == 200
    assert service.call("PUT", f"{PATH}/forgetting", {"forgetting": 0.5}).status == 200
    assert service.post(f"{PATH}/act")["step"] == 5
