"""What an agent, its setup or its state contains harms that agent alone."""

from __future__ import annotations

import os
import signal

import pytest

from everlearn.service.sandbox import Refused, Sandbox
from everlearn.service.settings import Limits
from tests.durable.failing import failing_directory, spoilt


@pytest.fixture
def failing(start, tmp_path):
    failing_directory(tmp_path / "failing", "bad", "good")
    return start(directory=tmp_path / "failing")


def test_one_agent_is_quarantined_and_others_continue(failing):
    reply = failing.call("POST", "/v1/agents/bad/act")
    assert (reply.status, reply.json["error"]) == (503, "quarantined")
    assert "could not learn (ValueError: math domain error)" in reply.json["message"]
    assert failing.post("/v1/agents/good/act")["step"] == 4
    assert failing.call("GET", "/readyz").json == {"status": "ready", "quarantined": 1}
    assert failing.metric("quarantined") == 1
    listed = failing.call("GET", "/v1/agents").json["agents"]
    assert {agent["name"]: agent["quarantined"] for agent in listed} == {"bad": True, "good": False}


def test_what_was_recorded_is_still_answered(failing):
    row = failing.call("GET", "/v1/agents/bad/journal?first=4").body
    assert row.count(b"\n") == 1
    said = failing.call("POST", "/v1/agents/bad/observe", {"step": 4, "observation": "made up"})
    assert said.status in (409, 422)


@pytest.mark.parametrize("restart", [False, True])
def test_an_operator_rolls_it_back(failing, start, restart):
    if restart:
        failing.stop()
        failing = start(directory=failing.directory)
    assert failing.post("/v1/agents/bad/rollback", {"snapshot": 3})["quarantined"] is None
    assert failing.post("/v1/agents/bad/act")["step"] == 5
    assert failing.call("GET", "/readyz").json["quarantined"] == 0


def test_an_operator_deletes_it(failing):
    failing.call("POST", "/v1/agents/bad/act")
    assert failing.call("DELETE", "/v1/agents/bad?confirm=bad").status == 200
    assert failing.call("GET", "/readyz").json["quarantined"] == 0


def test_a_state_that_cannot_be_used_is_refused(service):
    service.create("importing")
    service.post("/v1/agents/importing/observe", {"step": 1, "observation": "arrival"})
    state = service.call("GET", "/v1/agents/importing/state").body
    octets = {"Content_Type": "application/octet-stream"}
    reply = service.call("PUT", "/v1/agents/importing/state", spoilt(state), **octets)
    assert (reply.status, reply.json["error"]) == (422, "input")
    assert "it cannot be used" in reply.json["message"]
    assert service.call("GET", "/v1/agents/importing/state").body == state
    assert service.call("PUT", "/v1/agents/importing/state", state, **octets).status == 200


def test_without_its_committer_the_process_ends(start):
    before = "from everlearn.service import management\nmanagement.list_agents = lambda agents: exit(3)\n"
    service = start(before=before)
    service.call("GET", "/v1/agents")
    assert service.ended() == 2
    assert "the service ended because its committer did" in service.written


def test_an_error_in_one_group_of_requests_is_theirs_alone(start):
    before = "from everlearn.service.committer import Committer\nserve = Committer._serve\n"
    before += "def fails(self, *batch):\n    Committer._serve = serve\n    raise ValueError\nCommitter._serve = fails\n"
    service = start(before=before)
    assert service.call("GET", "/v1/agents").status == 500
    assert service.call("GET", "/v1/agents").status == 200


@pytest.fixture
def sandbox():
    made = Sandbox(Limits(trial_seconds=1, trial_megabytes=64), processes=1)
    yield made
    made.close()


def hang(*_arguments: object) -> None:
    while True:
        pass


def take_memory(*_arguments: object) -> None:
    bytearray(1 << 30)


def crash(*_arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("job", "answer"),
    [
        (hang, "making and trying it takes more than 1 s; make it smaller"),
        (take_memory, "making and trying it takes more than 64 MB; make it smaller"),
        (crash, "trying it ended with SIGTERM; it cannot be accepted"),
    ],
)
def test_a_trial_ends_alone(sandbox, job, answer):
    with pytest.raises(Refused) as caught:
        sandbox._run(job)
    assert str(caught.value) == answer
    sandbox.try_setup({"task": "service-station"})


def test_a_task_that_takes_long_to_make_is_refused(sandbox):
    with pytest.raises(Refused, match="takes more than"):
        sandbox.try_setup({"task": "aggregation", "parameters": {"task.aleatoric": "window:2+actions"}})


def test_planning_is_bounded(sandbox):
    with pytest.raises(Refused, match=r"agent.sweeps: 1000000000000; at most 10,000 are taken here"):
        sandbox.try_setup({"task": "riverswim", "agent": "tsde", "parameters": {"agent.sweeps": 10**12}})


def test_nothing_is_left_of_a_sandbox():
    sandbox = Sandbox(Limits(), processes=2)
    numbers = [process.number for process in sandbox._processes]
    sandbox.close()
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)
