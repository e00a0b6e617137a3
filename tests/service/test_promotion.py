"""Shadow reports and promotion rules over HTTP: outside the committer, exactly once, and undone."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import everlearn as el
from everlearn.analysis.promotion import Question, answer
from everlearn.cli.main import main
from everlearn.client.connection import ServiceError
from everlearn.durable.setup import make_setup
from everlearn.service import management
from everlearn.service import promotion as looks
from everlearn.service.agents import Agents
from everlearn.service.promotion import Promoter, _due, _record
from everlearn.service.sandbox import Refused, Sandbox, Untried
from everlearn.service.settings import Limits
from tests.refusal import has
from tests.service.conftest import until

SETUP = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": [0, 1], "seed": 1}
RULE = {"every": 60, "error": 0.5}


def shadow(service, name: str, first: int, last: int) -> None:
    """Let a controller decide from one step to another: fast earns more."""
    for step in range(first, last + 1):
        draw = random.Random(step)
        action = draw.choice(["slow", "fast"])
        body = {"step": step, "observation": draw.choice(["idle", "busy"]), "executed": action}
        service.post(f"/v1/agents/{name}/observe", {**body, "reward": 0.75 if action == "fast" else 0.25})


def promotion(service, name: str) -> dict:
    return service.call("GET", f"/v1/agents/{name}").json["promotion"]


def promoted(service, name: str, step: int) -> int:
    """Let the controller decide until the rule promotes the agent; return the next step."""
    while not promotion(service, name)["in_control"]:
        due = promotion(service, name)["next_look"]
        shadow(service, name, step, max(step, due))
        step = max(step, due) + 1
        until(lambda due=due: promotion(service, name)["next_look"] != due)
        assert step < 2000
    return step


def events(service, name: str) -> list[str]:
    rows = map(json.loads, service.call("GET", f"/v1/agents/{name}/journal").body.splitlines())
    return [row["promotion"]["event"] for row in rows if "promotion" in row]


def put(service, path: str, body: dict) -> dict:
    reply = service.call("PUT", path, body)
    assert reply.status == 200, reply
    return reply.json


def test_an_agent_is_promoted_once_and_demoted(start):
    service = start()
    service.create("north", {**SETUP, "promotion": RULE})
    put(service, "/v1/agents/north/mode", {"mode": "shadow"})
    step = promoted(service, "north", 1)
    found = service.call("GET", "/v1/agents/north").json
    assert (found["mode"], found["promotion"]["promotions"]) == ("frozen", 1)
    assert found["promotion"]["promoted"]["lower"] > 0
    (listed,) = service.call("GET", "/v1/agents").json["agents"]
    assert (listed["mode"], listed["promoted"]) == ("frozen", True)
    metrics = service.call("GET", "/metrics").body.decode()
    assert 'everlearn_agent_promotions{agent="north"} 1\n' in metrics
    assert 'everlearn_agent_shadow{agent="north"} 0\n' in metrics
    assert any(line["message"] == "agent promoted" and line["agent"] == "north" for line in service.log)
    before = service.call("GET", "/v1/agents/north").json
    service.kill()
    service = start()
    assert service.call("GET", "/v1/agents/north").json == before
    (listed,) = service.call("GET", "/v1/agents").json["agents"]
    for _ in range(2):  # the second one changes nothing
        demoted = service.post("/v1/agents/north/demote")
    assert events(service, "north").count("demoted") == 1
    assert (demoted["mode"], demoted["promotion"]["armed"], demoted["promotion"]["next_look"]) == (
        "shadow",
        False,
        None,
    )
    shadow(service, "north", step, step + 60)
    assert events(service, "north").count("promoted") == 1
    armed = put(service, "/v1/agents/north/promotion", {"rule": {**RULE, "to": "learn"}})
    assert armed["promotion"]["armed"]
    promoted(service, "north", step + 61)
    assert service.call("GET", "/v1/agents/north").json["mode"] == "learn"
    assert events(service, "north").count("promoted") == 2


def test_the_report_is_that_of_the_directory(start):
    service = start()
    service.create("north", SETUP)
    assert service.call("GET", "/v1/agents/north/report").status == 422  # it never was a shadow
    put(service, "/v1/agents/north/mode", {"mode": "shadow"})
    shadow(service, "north", 1, 120)
    report = service.call("GET", "/v1/agents/north/report?confidence=0.9").json
    assert report["gain"]["supported"]
    assert report["agreement"]["steps"] == report["agreement"]["proposals"] == 120
    assert report == el.shadow_report(service.directory, agent="north", confidence=0.9).to_dict()
    assert service.call("GET", "/v1/agents/north/report?confidence=0.9&last=60").json["last"] == 60
    assert service.call("GET", "/v1/agents/north/report?confidence=2").status == 422
    assert service.call("GET", "/v1/agents/south/report").status == 404


def test_a_rule_that_is_set_late_or_twice(service):
    service.create("late", SETUP)
    tag = service.call("GET", "/v1/agents/late").headers["etag"]
    for _ in range(2):  # the answer to the first was lost
        reply = service.call("PUT", "/v1/agents/late/promotion", {"rule": RULE}, If_Match=tag)
        assert reply.status == 200
    assert events(service, "late") == ["armed"]
    other = service.call("PUT", "/v1/agents/late/promotion", {"rule": None}, If_Match=tag)
    assert other.status == 412
    assert service.call("PUT", "/v1/agents/late/promotion", {"rule": {"every": 1}}).status == 422
    assert service.call("PUT", "/v1/agents/late/promotion", {"rule": {"day": 1}}).status == 422
    assert service.call("PUT", "/v1/agents/late/promotion", {}).status == 422
    assert service.call("POST", "/v1/agents", {"name": "late", "setup": SETUP}).status == 200  # its rule has changed
    assert service.call("GET", "/v1/agents/late").json["promotion"]["rule"]["every"] == 60


def test_a_look_that_cannot_be_computed_is_no_evidence_and_the_others_do_not_wait(start):
    """A sandbox that refuses everything that is computed: the rule waits, and goes on with the next look."""
    before = (
        "from everlearn.service import promotion\n"
        "def refuse(*_): raise ValueError('too much')\n"
        "promotion.answer = refuse\n"
    )
    service = start(before=before)
    service.create("north", {**SETUP, "promotion": RULE})
    put(service, "/v1/agents/north/mode", {"mode": "shadow"})
    for step in (60, 120, 180):
        shadow(service, "north", step - 59, step)
        until(lambda step=step: promotion(service, "north")["next_look"] == step + 60)
    found = promotion(service, "north")
    assert (found["looks"], found["last_look"]["supported"]) == (2, False)
    assert "too much" in found["last_look"]["reasons"][0]


def test_the_client_reports_sets_and_demotes(service):
    with closing(el.Client(service.url, "told", deadline=60)) as client:
        client.create(SETUP)
        client.shadow()
        shadow(service, "told", 1, 40)
        assert client.report()["agreement"]["steps"] == 40
        assert client.promotion(RULE)["promotion"]["armed"]
        with pytest.raises(ServiceError, check=has(status=422)) as caught:
            client.demote()
        assert caught.value.document["argument"] == "mode"
        assert client.mode == "shadow"
        assert client.promotion(None)["promotion"] is None


def test_the_sandbox_returns_what_was_computed():
    with closing(Sandbox(Limits(), processes=1)) as sandbox:
        assert sandbox.compute(divmod, 7, 2) == [3, 1]
        assert sandbox.compute(str.upper, "x" * 200_000) == "X" * 200_000  # more than a pipe holds
        with pytest.raises(Refused, check=has(ended_by="")):
            sandbox.compute(divmod, 7, 0)


def test_a_look_of_a_rule_that_was_set_again_meanwhile_is_not_recorded(tmp_path):
    agents = Agents(tmp_path, Limits())
    agents.create("north", make_setup(**SETUP, promotion=RULE))
    core = agents.core("north")
    agents.write(core, core.change_mode("shadow"))
    for _ in range(120):
        agents.write(core, core.prepare("busy", "fast", 0.5))
        if core.step == 60:
            (first,) = _due(agents)
            prepared = _record(agents, *first, None)
            agents.append([prepared.entry])
            prepared.then()
    ((_, asked),) = _due(agents)
    look = answer(agents.store, core.agent.task, asked)
    management.arm(agents, "north", RULE)
    assert _record(agents, "north", asked, look) is None
    assert core.rule_state.looks == 0
    agents.close()


def test_an_agent_whose_rule_cannot_look_does_not_stop_the_others(tmp_path):
    """What its rule knows is not what it should be, however that came about."""
    agents = Agents(tmp_path, Limits())
    for name in ("bad", "good"):
        agents.create(name, make_setup(**SETUP, promotion={"every": 10}))
        core = agents.core(name)
        agents.write(core, core.change_mode("shadow"))
        for _ in range(10):
            agents.write(core, core.prepare("busy", "fast", 0.5))
    bad = agents.core("bad")
    bad.rule_state = replace(bad.rule_state, policy=(0, 0), candidates="x")
    due = dict(_due(agents))
    assert isinstance(due.pop("bad"), TypeError)
    assert due == {"good": None}
    agents.close()


def test_an_agent_does_not_arrive_whose_rule_could_not_look(start, tmp_path):
    first, second = start(directory=tmp_path / "first"), start(directory=tmp_path / "second")
    first.create("a", {**SETUP, "promotion": {"every": 10}})
    put(first, "/v1/agents/a/mode", {"mode": "shadow"})
    luggage = json.loads(first.call("POST", "/v1/agents/a/move", {"to": second.url}).body)
    good = luggage["checkpoint"]["more"]["trial"]
    promoted = {"controller": 0.5, "controller_error": 0.1}
    for spoiled in (
        {"candidates": "x", "policy": [0, 0, 0]},
        {"looks": 10**6},
        {"since": [1]},
        {"began": ""},
        {"policy": [True]},
        {"last": []},
        {"in_control": True},
        {"in_control": True, "promoted": promoted},
        {"more": 1},
    ):
        luggage["checkpoint"]["more"]["trial"] = {**good, **spoiled}
        body = json.dumps(luggage).encode()
        reply = second.call("PUT", "/v1/agents/a/arrival", body, Content_Type="application/octet-stream")
        assert (reply.status, reply.json["message"]) == (
            422,
            "snapshot: what the promotion rule knows cannot be read",
        )


def test_a_controller_that_does_not_look_at_the_mode_is_noticed(start):
    """It decides by itself though the agent is in control."""
    service = start()
    service.create("north", {**SETUP, "promotion": {**RULE, "demote": True}})
    put(service, "/v1/agents/north/mode", {"mode": "shadow"})
    step = promoted(service, "north", 1)
    due = promotion(service, "north")["next_look"]
    shadow(service, "north", step, due)
    until(lambda: promotion(service, "north")["next_look"] != due)
    assert any("does the controller look at the mode?" in line["message"] for line in service.log)


@pytest.mark.parametrize(("rest", "tries"), [(1e9, 1), (0.0, 19)])
def test_a_look_that_fails_is_tried_seldom_and_reported_once(caplog, monkeypatch, rest, tries):
    tried = []

    class Broken:
        """A committer whose rule is due at twenty glances, and a sandbox that cannot look."""

        keeper = SimpleNamespace(looking={1}, names={"a"}, store=SimpleNamespace(path=Path()))
        glances = 0

        async def do(self, _agent, _work):
            self.glances += 1
            if self.glances > 20:
                raise asyncio.CancelledError
            if self.glances == 10:
                raise EOFError("one glance failed")
            return [("a", Question(1, 0, 10, 1, 1, (0,), 0.05))]

        def compute(self, *arguments):
            tried.append(arguments)
            raise Untried("a process of the sandbox has ended")

    monkeypatch.setattr(looks, "PERIOD", 0.0)
    monkeypatch.setattr(looks, "REST", rest)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(Promoter(Broken(), Broken()).run())
    assert len(tried) == tries
    assert [record.fields["agent"] for record in caplog.records] == ["a", ""]


def test_the_commands_set_a_rule_and_undo_a_promotion(service, capsys, monkeypatch):
    service.create("pump", {**SETUP, "reward": "given"})

    def call(*arguments: str) -> dict:
        monkeypatch.setattr(sys, "argv", ["everlearn", *arguments, "--agent", "pump", "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return json.loads(capsys.readouterr().out)

    url = service.url
    assert call("mode", url, "shadow")["mode"] == "shadow"
    assert call("promotion", url, "--set", "every=60", "--set", "error=0.5")["promotion"]["rule"]["every"] == 60
    promoted(service, "pump", 1)
    report = call("shadow", url, "--confidence", "0.9", "--to", "50")
    assert report == el.shadow_report(service.directory, agent="pump", confidence=0.9, last=50).to_dict()
    assert call("mode", str(service.directory))["mode"] == "frozen"  # the directory may be read meanwhile
    after = call("promotion", url, "--demote")
    assert (after["mode"], after["promotion"]["armed"]) == ("shadow", False)
    assert call("promotion", url, "--remove")["promotion"]["rule"] is None


def test_an_agent_that_was_deleted_is_forgotten():
    keeper = SimpleNamespace(names={"a", "b"})
    promoter = Promoter(SimpleNamespace(keeper=keeper), None)
    for name in ("a", "b", ""):
        promoter._rest(name, ValueError(name))
    keeper.names = {"b"}
    promoter._rest("b", ValueError("again"))
    assert set(promoter._rests) == {"", "b"}
